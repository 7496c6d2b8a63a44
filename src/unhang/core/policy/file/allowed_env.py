"""Which variables a project's own policy may set, and to what.

Such a file may have come with something that was only downloaded. A name alone does not make a variable harmless:
debconf runs the value of DEBIAN_FRONTEND as Perl, a pager is a command line, and TERM and TZ may be paths. So each
variable has the values that are known, and all others are refused.
"""

from __future__ import annotations

_SWITCH = "0 1 true false"
_PAGER = "cat"

# The values of each, apart by blanks. Each may be empty, too.
_VALUES = {
    "CI": _SWITCH,
    "DEBIAN_FRONTEND": "noninteractive readline teletype text dialog",
    "NO_COLOR": _SWITCH,
    "FORCE_COLOR": f"{_SWITCH} 2 3",
    "CLICOLOR": _SWITCH,
    "TERM": "dumb ansi linux vt100 xterm xterm-color xterm-256color screen screen-256color tmux tmux-256color",
    "PYTHONUNBUFFERED": _SWITCH,
    "PYTHONDONTWRITEBYTECODE": _SWITCH,
    "PIP_NO_INPUT": _SWITCH,
    "PIP_DISABLE_PIP_VERSION_CHECK": _SWITCH,
    "GIT_TERMINAL_PROMPT": _SWITCH,
    "GH_PROMPT_DISABLED": _SWITCH,
    "COMPOSER_NO_INTERACTION": _SWITCH,
    "HOMEBREW_NO_AUTO_UPDATE": _SWITCH,
    "NEXT_TELEMETRY_DISABLED": _SWITCH,
    "DOTNET_CLI_TELEMETRY_OPTOUT": _SWITCH,
    "CARGO_TERM_PROGRESS_WHEN": "auto always never",
    "NPM_CONFIG_YES": _SWITCH,
    "NPM_CONFIG_AUDIT": _SWITCH,
    "NPM_CONFIG_FUND": _SWITCH,
    "RUST_BACKTRACE": "0 1 full",
    "TF_INPUT": _SWITCH,
    "TF_IN_AUTOMATION": _SWITCH,
    "NODE_ENV": "development production test",
    "RAILS_ENV": "development production test",
    "DJANGO_DEBUG": _SWITCH,
    "PAGER": _PAGER,
    "GIT_PAGER": _PAGER,
    "MANPAGER": _PAGER,
    "GH_PAGER": _PAGER,
    "SYSTEMD_PAGER": _PAGER,
    "AWS_PAGER": _PAGER,
    "DELTA_PAGER": _PAGER,
    "BAT_PAGER": _PAGER,
}
VALUES = {name: ("", *values.split()) for name, values in _VALUES.items()}

# Of these there are too many to name. What they may not be is a path, or anything that a program would expand.
SHAPES = {
    "LANG": "a locale such as C.UTF-8 or en_US.UTF-8",
    "LC_ALL": "a locale such as C.UTF-8 or en_US.UTF-8",
    "TZ": "a time zone such as UTC or Europe/Berlin",
    "COLUMNS": "a number up to 9999",
    "LINES": "a number up to 9999",
    "WATCHPACK_POLLING": "true, false or a number up to 9999",
}
_LONGEST = 40
_IN_ZONES = {ord(char): None for char in "_+-"}


def objection(name: str, value: str) -> str | None:
    """Return why a project's own policy may not set this; None: it may."""
    if name in SHAPES:
        allowed = not value or (value.isascii() and len(value) <= _LONGEST and _is_shaped(name, value))
        return None if allowed else f"it may only be {SHAPES[name]}, or empty"
    values = VALUES.get(name)
    if values is None:
        return "it is not one of the variables that are known to be harmless"
    return None if value in values else f"it may only be {', '.join(values[1:])}, or empty"


def _is_shaped(name: str, value: str) -> bool:
    if name in ("LANG", "LC_ALL"):
        language, _, coding = value.partition(".")
        return language.replace("_", "").isalpha() and coding.lower() in ("", "utf-8", "utf8")
    if name == "TZ":  # no dot, so neither a path upward nor one of a file; no colon, which begins a path
        parts = value.split("/")
        return len(parts) <= 3 and all(part and part.translate(_IN_ZONES).isalnum() for part in parts)
    return (value.isdigit() and len(value) <= 4) or (name == "WATCHPACK_POLLING" and value in ("true", "false"))
