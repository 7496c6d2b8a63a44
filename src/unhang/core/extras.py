"""What only an extra of the package installs, and what to say where it is missing."""

from __future__ import annotations

from unhang.errors import UnhangError


class Extra:
    """For `with`, around an import: a package that is missing is an UnhangError that says what to install.

    `needs`: what needs which package; `extra`: the extra that brings it; `hint`: what to do without it. An error of
    unhang's own imports is not hidden.
    """

    def __init__(self, needs: str, extra: str, hint: str = "") -> None:
        self._needs, self._extra, self._hint = needs, extra, hint

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "unhang").partition(".")[0] != "unhang":
            hint = f"; {self._hint}" if self._hint else ""
            raise UnhangError(f"{self._needs}: pip install 'unhang[{self._extra}]'{hint} ({error})") from None
