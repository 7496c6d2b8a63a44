"""Frozen value objects whose classes cost next to nothing to create.

A NamedTuple class takes 0.2-0.4 ms to build, a dataclass more, and the engine has some forty of them: that alone
would be the start-up time of the interpreter again. A Record is built in 10 µs: the type checker sees a dataclass
(`dataclass_transform`), the interpreter sees a plain class with its annotations' names.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Record:
    """A frozen value with the fields that the subclass annotates; equal if its class and all fields are equal."""

    __match_args__: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls.__match_args__ = tuple(cls.__annotations__)  # type: ignore[misc]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self.__match_args__
        values = self.__dict__
        if args:
            if len(args) > len(names):
                raise TypeError(f"{type(self).__name__} takes {len(names)} values, not {len(args)}")
            values.update(zip(names, args))  # noqa: B905 - the rest has defaults
        if kwargs:
            given = kwargs.keys()
            if not (given <= type(self).__annotations__.keys() and values.keys().isdisjoint(given)):
                wrong = ", ".join(repr(name) for name in kwargs if name not in names or name in values)
                raise TypeError(f"{type(self).__name__} got {wrong} twice or does not have it")
            values.update(kwargs)
        if len(values) < len(names):
            for name in names:
                if name not in values:
                    # a default of the class; without one this raises what Python raises for a missing value
                    values[name] = getattr(type(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self.__match_args__))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({shown})"

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        copy = object.__new__(type(self))
        values = copy.__dict__
        values.update(self.__dict__)
        values.update(changes)
        if len(values) > len(self.__match_args__):
            raise TypeError(f"{type(self).__name__} does not have all of {', '.join(changes)}")
        return copy

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; changing the dictionary does not change the record."""
        return dict(self.__dict__)
