"""Secrets in command lines, masked wherever a command line is shown.

What is taken for a secret: the value of an option or a variable whose name says so (`--token=…`, `--password …`,
`API_KEY=…`, `password=…` in a URL or a connection string, `"token": "…"` in JSON), a header (`Authorization: …`), the
password in a URL (`postgres://u:…@h/`) or its signature (`?sig=…`), a token that is known by its form (`ghp_…`), a
private key, the short options by which some programs take a password (`mysql -p…`), and whatever stands in the
environment under such a name.

This is care and no wall: a secret that nothing names cannot be known. A command that is masked too much is still
recognised; job.json, which only this user can read, has what is executed. Most lines hold no word that could name a
secret and are returned as they are; the patterns are compiled for the others, when the first one comes.
"""

from __future__ import annotations

from unhang.core import plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

MASK = "***"

# one of these is in every line that holds a secret we know
_HINTS = (
    *("token", "secret", "pass", "pwd", "key", "auth", "cred", "cookie", "bearer", "@", "://", "eyj", "akia", "aiza"),
    *("mysql", "mariadb", "redis-cli", "curl", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-"),
    *("xox", "npm_", "hf_", "pypi-", "sk_", "rk_", "xapp-", "asia", "ya29.", "sg.", "_v1_", "dckr_", "shpat_"),
    *("shpca_", "shppa_", "shpss_", "glptt-", "glrt-", "gldt-", "gocspx-", "/bot", "hooks.", "webhooks/", "sig="),
    *("signature", "x-amz", "x-goog"),
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LAST = _set(
    "passphrase passcode passwort pass pwd secrets accesskey secretkey privatekey credential credentials bearer"
)
_ENDINGS = ("password", "passwd", "secret", "token", "apikey")  # PGPASSWORD, authtoken
_BY_NAME = _set("sshpass rediscli_auth")
# what makes a key a secret: `sort --key=2` and `--key-file` have none
_KEYS = _set(
    "api access secret private auth account encryption signing master session client app application shared storage "
    "license deploy service subscription admin"
)
# the last word of a name that speaks of a secret without holding one
_ABOUT = _set(
    "file path dir folder id ids name names url uri type limit limits max min count size length len ttl expiry expires "
    "timeout algorithm alg version format prefix suffix policy mode bits stdin env helper command cmd sock agent "
    "location endpoint host port user username index ring rotation age usage budget"
)
_PLAIN_VALUES = frozenset(("", "true", "false", "yes", "no", "on", "off", "none", "null", "auto"))
# programs that take a password by a short option: glued to it, or as the next word
_MYSQL = _set("mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mariadb mariadb-dump mariadb-admin")
_GLUED = dict.fromkeys(_MYSQL | {"sshpass", "7z"}, "-p") | {"redis-cli": "-a"}
_NEXT = {"sshpass": "-p", "redis-cli": "-a", "unzip": "-P", "zip": "-P", "ldapsearch": "-w", "ldapmodify": "-w"}
_SHELLS = _set("sh bash dash zsh ksh fish su")
_LOGIN = _set("docker podman helm oras skopeo buildah")  # their `login` has -p
# ... and those with user:password in one word
_USER = {"curl": ("-u", "--user", "-U", "--proxy-user"), "http": ("-a", "--auth"), "https": ("-a", "--auth")}
# ... and those that take cookies, or the name of a file that has them
_COOKIES = {"curl": ("-b", "--cookie")}
# A shorter value of a variable is as likely a word of the command as a secret.
_SHORTEST = 8
_DEEPEST = 3
_LONGEST = 1 << 16


def secrets_of(environ: Mapping[str, str]) -> list[str]:
    """Return the values in an environment whose names say that they are secrets; the longest first."""
    found = {value for name, value in environ.items() if len(value) >= _SHORTEST and _names_secret_variable(name)}
    return sorted((value for value in found if not value.startswith(("/", "~", "."))), key=len, reverse=True)


def secrets_in(text: str, environ: Mapping[str, str]) -> list[str]:
    """Return those of them that stand in a text. It is searched first: to take every name apart costs far more."""
    return secrets_of({name: value for name, value in environ.items() if len(value) >= _SHORTEST and value in text})


def line(text: str, secrets: Iterable[str] = (), *, depth: int = 0) -> str:
    """Mask the secrets in a shell line, or in words that were joined with blanks."""
    text = _without(text, secrets)
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    if len(text) > _LONGEST:  # the text of a program, given as an argument: no list shows it whole
        return line(text[:_LONGEST], depth=depth) + "…"
    parts = [found.group() for found in _compiled("words").finditer(text)]
    places = [i for i, part in enumerate(parts) if not part.isspace()]
    for i, word in zip(places, _masked([parts[i] for i in places], depth), strict=True):
        parts[i] = word
    return _in_text("".join(parts))


def one_line(text: str, most: int) -> str:
    """Return a sentence that may hold words of a job with its secrets masked, harmless, on one line and cut."""
    return plain_text.one_line(line(text), most)


def arguments(argv: Sequence[str], secrets: Iterable[str] = ()) -> list[str]:
    """Mask the secrets in the words of a command."""
    known = list(secrets)
    given = [_without(word, known) for word in argv]
    lowered = " ".join(given).lower()
    if not any(hint in lowered for hint in _HINTS):
        return given
    return [_in_text(word) for word in _masked(given, 0)]


def within(value: Any, name: str = "") -> Any:
    """Mask the secrets in every text of a JSON value; `name`: what it is called in what it is a part of."""
    secret = _names_secret(name)
    if isinstance(value, dict):
        return {key: within(entry, name if secret else key) for key, entry in value.items()}
    if isinstance(value, list):
        return [within(entry, name) for entry in value]
    if value is None or isinstance(value, bool) or str(value).lower() in _PLAIN_VALUES:
        return value
    if secret:
        return MASK
    if not isinstance(value, str):
        return value
    before = f"{name}: " if name else ""  # what names a header may be the key
    found = line(before + value)
    return found.removeprefix(before) if found.startswith(before) else MASK


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


# --- names ------------------------------------------------------------------------------------------------------


def _parts(name: str) -> list[str]:
    """api-key, API_KEY, apiKey → api, key"""
    spaced = "".join(
        f" {c}" if c.isupper() and before.islower() else c for before, c in zip(" " + name, name, strict=False)
    )
    return [part for part in _compiled("separators").split(spaced.lower()) if part]


def _names_secret(name: str) -> bool:
    """Of an option, a parameter, a header: its last word decides."""
    parts = _parts(name)
    if not parts:
        return False
    return _is_secret(parts[-1]) or (parts[-1] == "key" and len(parts) > 1 and parts[-2] in _KEYS)


def _names_secret_variable(name: str) -> bool:
    """Of a variable in the environment: any word of it may, if the last one does not say that it is about one."""
    parts = _parts(name)
    if not parts or parts[-1] in _ABOUT:
        return False
    return name.lower() in _BY_NAME or any(_is_secret(part) or part == "key" for part in parts)


def _is_secret(part: str) -> bool:
    return part in _LAST or part.endswith(_ENDINGS)


# --- words ------------------------------------------------------------------------------------------------------


def _masked(given: list[str], depth: int) -> list[str]:
    out: list[str] = []
    programs: set[str] = set()
    wanted = ""  # how the word before says what this one is
    for word in given:
        bare = word.strip("\"'")
        if wanted == "secret" and not bare.startswith(("-", "$")):
            out.append(MASK)
        elif wanted == "line" and depth < _DEEPEST and word == bare:
            out.append(line(word, depth=depth + 1))
        elif wanted == "user" and ":" in bare:
            out.append(f"{bare.partition(':')[0]}:{MASK}")
        elif wanted == "cookies" and "=" in bare:
            out.append(MASK)
        else:
            out.append(_word(word, bare, programs, depth))
        wanted = _wants(bare, programs) if out[-1] == word else ""
        programs.add(bare.rpartition("/")[2])
        if bare in (";", "&&", "||", "|", "&") or bare.endswith(";"):
            programs.clear()
    return out


def _wants(bare: str, programs: set[str]) -> str:
    """What the word behind this one is: "secret", "user" (with a password), "cookies", "line" (of a shell) or ""."""
    if programs & _SHELLS and bare.startswith("-") and bare.endswith("c") and len(bare) <= 4:
        return "line"
    last = f"-{bare[-1:]}" if bare[:1] == "-" and bare[1:].isalpha() else bare  # -sSu me:…
    if any({bare, last}.intersection(_USER[name]) for name in programs & _USER.keys()):
        return "user"
    if any({bare, last}.intersection(_COOKIES[name]) for name in programs & _COOKIES.keys()):
        return "cookies"
    if any(bare == _NEXT[name] for name in programs & _NEXT.keys()):
        return "secret"
    if bare == "-p" and "login" in programs and programs & _LOGIN:
        return "secret"
    if any(c.isspace() for c in bare):  # a text, and no option
        return ""
    names = bare.startswith("-") or programs & {"config", "configure"}  # `aws configure set aws_secret_access_key …`
    return "secret" if names and "=" not in bare and _names_secret(bare) else ""


def _word(word: str, bare: str, programs: set[str], depth: int) -> str:
    name, equals, value = bare.partition("=")
    if equals and _compiled("name").fullmatch(name) and value.lower().strip("\"'") not in _PLAIN_VALUES:
        secret = _names_secret(name)
        if not name.startswith("-") and name.upper() == name:
            secret = _names_secret_variable(name) and not value.isdigit()
        if secret and not value.strip("\"'").startswith("$"):  # a variable is named, and not shown
            return f"{name}={MASK}" + (";" if bare.endswith(";") else "")
    for program in programs & _USER.keys():
        for option in _USER[program]:  # -ume:… and --user=me:…
            user, colon, password = bare.removeprefix(option).partition(":")
            glued = bare.startswith(option) and (user.startswith("=") if option.startswith("--") else user[:1] != "-")
            if glued and colon and password and user.strip("="):
                return f"{option}{user}:{MASK}"
    for program in programs & _COOKIES.keys():
        for option in (_COOKIES[program][0], f"{_COOKIES[program][1]}="):  # -ba=… and --cookie=a=…
            if bare.startswith(option) and "=" in bare.removeprefix(option):
                return option + MASK
    for program in programs & _GLUED.keys():
        option = _GLUED[program]
        if bare.startswith(option) and len(bare) > len(option) and not bare.startswith("--"):
            return option + MASK
    if depth < _DEEPEST and len(bare) > 2 and any(c.isspace() or c in "\"'" for c in bare):
        quote = word[0] if word[0] in "\"'" and word[-1] == word[0] else ""
        inner = word[1:-1] if quote else word
        if quote and quote not in inner:
            return quote + line(inner, depth=depth + 1) + quote
        if _is_one_word(word):  # quoted parts with what touches them: 'a b'; or ('a b')
            return _compiled("quoted").sub(lambda part: _quoted(part.group(), depth + 1), word)
        return line(word, depth=depth + 1)
    return word


def _is_one_word(text: str) -> bool:
    """Whether no blank in it stands outside of quotation marks, read from the left.

    To ask for a full match would try each quotation mark as the beginning and as the end of a part.
    """
    first = _compiled("words").match(text)
    return first is not None and first.end() == len(text)


def _quoted(part: str, depth: int) -> str:
    return part[0] + line(part[1:-1], depth=depth) + part[-1]


# --- inside a text ------------------------------------------------------------------------------------------------


def _in_text(text: str) -> str:
    text = _compiled("private key").sub(rf"\1{MASK}", text)
    text = _compiled("whole header").sub(rf"\1{MASK}", text)
    text = _compiled("signature").sub(rf"\1{MASK}", text)
    text = _compiled("url").sub(rf"\1{MASK}@", text)
    text = _compiled("cut url").sub(rf"\1{MASK}", text)
    text = _compiled("header").sub(rf"\1{MASK}", text)
    text = _compiled("named header").sub(_named, text)
    text = _compiled("json").sub(_named, text)
    text = _compiled("pair").sub(_named, text)
    return _compiled("form").sub(MASK, text)


def _named(found: re.Match[str]) -> str:
    """(all before the value)(its name)…: the value goes if the name says that it is a secret."""
    value = found.group("value")
    if value.lower() in _PLAIN_VALUES or value.startswith(("$", MASK)) or not _names_secret(found.group("name")):
        return found.group()
    return found.group()[: -len(value)] + MASK


def _compiled(name: str) -> re.Pattern[str]:
    """`re` keeps what it has compiled."""
    import re

    return re.compile(_PATTERNS[name])


_SCHEME = r"\b[A-Za-z][A-Za-z0-9+.-]{0,30}://"
_HOW = r"(?:bearer|basic|token|digest|negotiate|ntlm|oauth|apikey|aws4-[a-z0-9-]{1,20})\s"
_FORMS = (
    *(r"gh[pousr]_[A-Za-z0-9]{16,}", r"github_pat_\w{16,}", r"glpat-[\w-]{16,}", r"sk-[A-Za-z0-9_-]{20,}"),
    *(r"xox[abprs]-[\w-]{10,}", r"AKIA[0-9A-Z]{16}", r"AIza[\w-]{30,}", r"npm_[A-Za-z0-9]{30,}"),
    *(r"hf_[A-Za-z0-9]{20,}", r"pypi-[\w-]{20,}", r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
    *(r"ASIA[0-9A-Z]{16}", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}", r"xapp-[\w-]{10,}", r"ya29\.[\w-]{20,}"),
    *(r"SG\.[\w-]{16,}\.[\w-]{16,}", r"do[opr]_v1_[0-9a-f]{32,}", r"dckr_[op]at_[\w-]{20,}", r"GOCSPX-[\w-]{20,}"),
    *(r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", r"gl(?:ptt|rt|dt)-[\w-]{16,}", r"bot\d{8,12}:[\w-]{30,}"),
    *(r"hooks\.slack\.com/services/\w+/\w+/\w+", r"discord(?:app)?\.com/api/webhooks/\d+/[\w-]+"),
)
# each looks at a character a bounded number of times, whatever the text
_PATTERNS = {
    # quoted parts stay together with what they touch; an open quotation mark is a character like any other
    "words": r"""(?:"[^"]*"|'[^']*'|[^\s"']|["'])+|\s+""",
    "quoted": r"""(?:"[^"]*"|'[^']*')""",
    "separators": r"[^a-z0-9]+",
    "name": r"-{0,2}[A-Za-z_][\w.-]*",
    # user:password@ up to the last @ of the word, since a password may hold one (a port is none); a long user alone
    # is a token
    "url": rf"({_SCHEME}(?:[^\s/?#\"'@:\[]*:(?!\d+(?:[/?#\s\"']|$))(?=[^\s\"']{{0,300}}@)"
    r"|(?=[^\s/?#\"'@:]{20,300}@)))[^\s\"']{0,300}@",
    # the line was cut before the @
    "cut url": rf"({_SCHEME}[^\s/?#\"'@:\[]+:)(?!\d+…?$|\*)[^\s\"'/?#@]+$",
    # a text of its own, such as a quoted word: all behind the name is the value, blanks included
    "whole header": rf"(?i)^(\s*(?:(?:proxy-)?authorization\s*:\s*(?:{_HOW}+)?|(?:set-)?cookie\s*:\s*))\S.*",
    "signature": r"(?i)([?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token))=)[^\s&\"'…]+",
    "private key": r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)(?!\*)[\s\S]*?(?=-----END|\Z)",
    "header": rf"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:{_HOW}+)?|\b(?:set-)?cookie\s*:\s*"
    rf"|(?<![\w-])pass:)(?!\*|{_HOW})[^\s\"']+",
    "named header": r"(?<![\w-])(?P<name>[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+)\s*:\s*(?P<value>[^\s\"']+)",
    "json": r"""\\?["'](?P<name>[A-Za-z_][\w.-]*)\\?["']\s*:\s*\\?["'](?P<value>[^"'\\]+)""",
    "pair": r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]*)=[\"']?(?P<value>[^\s&;\"']+)",
    "form": rf"\b(?:{'|'.join(_FORMS)})",
}
