"""Looking through the commands that only run another one.

`cd x && FOO=1 sudo nice -n 5 npm ci` is judged by `npm ci`. Each wrapper is one line of data: which of its
options take a value, how many operands stand before the command. One step takes one wrapper off;
`resolve.py` goes on until nothing changes. A wrapper that takes a shell line (`bash -c`, `ssh host '…'`,
`nix-shell --run`) gives that line back instead of words.
"""

from __future__ import annotations

from unhang.core.policy.builtin import command_name


class Unwrapped:
    """What one wrapper holds: words or a shell line."""

    __slots__ = ("bounded", "instead", "line", "name", "words", "works")

    def __init__(
        self,
        name: str,
        words: tuple[str, ...] = (),
        line: str | None = None,
        bounded: bool = False,
        instead: tuple[str, ...] = (),
        works: bool = False,
    ) -> None:
        self.name = name
        self.words = words
        self.line = line
        # It ends what it runs by itself, as `timeout` does.
        self.bounded = bounded
        # What to look up in place of what it runs: `npm run x` for `yarn x`.
        self.instead = instead
        # Its own work counts too, as that of `find / -exec ls`.
        self.works = works


SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish"})

_UNHANG = "--idle --hard --stall --warn --grace --category --liveness --policy --label --cwd --retry --stdin"

# name → "operands to skip | options with a value". Assignments (FOO=1) before the command are always skipped.
_SIMPLE = {
    "sudo": "0|-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --role --type",
    "doas": "0|-u -C",
    "env": "0|-u --unset -C --chdir",
    "time": "0|-o -f --output --format",
    "gtime": "0|-o -f --output --format",
    "nice": "0|-n --adjustment",
    "ionice": "0|-c -n -p --class --classdata",
    "chrt": "1|-T -P -D",
    "taskset": "1|",
    "numactl": "0|-N -m -C --cpunodebind --membind --physcpubind --interleave",
    "nohup": "0|",
    "setsid": "0|",
    "timeout": "1|-s -k --signal --kill-after",
    "gtimeout": "1|-s -k --signal --kill-after",
    "stdbuf": "0|-i -o -e --input --output --error",
    "unbuffer": "0|",
    "chronic": "0|",
    "caffeinate": "0|-t -w",
    "exec": "0|-a",
    "builtin": "0|",
    "xargs": "0|-n -P -I -L -d -a -E -s --max-args --max-procs --replace --delimiter --arg-file",
    "parallel": "0|-j --jobs -N --joblog --timeout --retries",
    "npx": "0|-p --package -w --workspace",
    "bunx": "0|-p --package",
    "pnpx": "0|",
    "uvx": "0|--from --with --python -p --index-url",
    "pipx run": "0|--spec --python",
    "xvfb-run": "0|-s -n -e -f -p --server-args",
    "dbus-run-session": "0|--config-file",
    "cross-env": "0|",
    "dotenv": "0|-f -e -c",
    "dotenvx run": "0|-f -e",
    "doppler run": "0|-p -c",
    "op run": "0|--env-file",
    "infisical run": "0|--env",
    "strace": "0|-o -e -p -s -u -E",
    "ltrace": "0|-o -e -p -s -u",
    "catchsegv": "0|",
    "rlwrap": "0|-f",
    "chroot": "1|",
    "unshare": "0|-S -G -R -w",
    "nsenter": "0|-t --target -S -G",
    "firejail": "0|",
    "proxychains": "0|-f",
    "proxychains4": "0|-f",
    "torsocks": "0|",
    "systemd-run": "0|-p --property --unit -u -E --setenv --uid --gid",
    "perf stat": "0|-e -o -r",
    "perf record": "0|-e -o -F",
    "busybox": "0|",
    "uv run": "0|--with --python -p --project --directory --extra --group --with-requirements --env-file",
    "uv tool run": "0|--from --with --python -p",
    "poetry run": "0|",
    "pipenv run": "0|",
    "pdm run": "0|-p",
    "rye run": "0|",
    "hatch run": "0|",
    "pixi run": "0|-e --environment",
    "conda run": "0|-n -p --name --prefix --cwd",
    "mamba run": "0|-n -p --name --prefix --cwd",
    "micromamba run": "0|-n -p",
    "bundle exec": "0|",
    "mise exec": "0|",
    "mise x": "0|",
    "asdf exec": "0|",
    "direnv exec": "1|",
    "devbox run": "0|",
    "npm exec": "0|-p --package -w --workspace",
    "npm x": "0|-p --package",
    "pnpm exec": "0|-F --filter",
    "pnpm dlx": "0|--package",
    "yarn exec": "0|",
    "yarn dlx": "0|-p --package",
    "bun x": "0|",
    "coverage run": "0|--source --omit --include --rcfile --data-file",
    "docker exec": "1|-u --user -e --env -w --workdir --env-file --detach-keys",
    "docker compose exec": "1|-u --user -e --env -w --workdir --index",
    "docker compose run": "1|-u --user -e --env -w --workdir --name -p --publish -v --volume --entrypoint",
    "docker-compose exec": "1|-u --user -e --env -w --workdir --index",
    "docker-compose run": "1|-u --user -e --env -w --workdir --name -p --publish -v --volume --entrypoint",
    "docker run": "1|-e --env -v --volume -p --publish -w --workdir -u --user --name --network --net --mount"
    " --entrypoint -m --memory --cpus --platform --env-file -h --hostname --gpus --shm-size --add-host -l"
    " --label --restart --ulimit",
    "unhang run": f"0|{_UNHANG}",
    "unhang start": f"0|{_UNHANG}",
}
# Wrappers whose name is several words, by the first, with the options that may stand between the words.
_MANY = {
    "uv": "--directory --project --config-file --cache-dir --color",
    "docker": "-H --host -c --context --config -l --log-level -f --file -p --project-name --profile",
    "docker-compose": "-f --file -p --project-name --profile --env-file",
    "pnpm": "-C --dir --filter -F",
    "npm": "--prefix -w --workspace",
    "yarn": "--cwd",
    "poetry": "-C --directory -P --project",
}
_FIRST_WORDS = frozenset(key.split()[0] for key in _SIMPLE if " " in key)
# With -d these leave what they run behind, and end at once.
_DETACHING = frozenset({"docker run", "docker exec", "docker compose run", "docker compose exec"})
# What find runs for each file.
FIND_ACTIONS = ("-exec", "-execdir", "-ok", "-okdir")
# Unknown sub-commands of these run a script of package.json, or a program, of that name.
_SCRIPT_RUNNERS = frozenset({"yarn", "pnpm", "bun"})
_SAME_AS = {"podman": "docker", "nerdctl": "docker", "podman-compose": "docker-compose", "bundler": "bundle"}


def options_of(spec: str) -> frozenset[str]:
    """Return the options of a wrapper that are followed by a value."""
    return frozenset(_SIMPLE.get(spec, "").partition("|")[2].split())


def is_assignment(word: str) -> bool:
    """Return whether a word sets a variable, as in NAME=value or NAME+=value."""
    name, equals, _ = word.partition("=")
    if not equals or not name:
        return False
    if name[-1] == "+":
        name = name[:-1]
    return name.isidentifier() and name.isascii()


def _past_options(words: tuple[str, ...], at: int, valued: frozenset[str]) -> tuple[int, bool]:
    """Where the operands begin, and whether a `--` said so."""
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1, True
        if word[:1] != "-" or len(word) == 1:
            break
        at += 2 if word in valued else 1
    # the last option may lack its value
    return min(at, len(words)), False


def _key(name: str, words: tuple[str, ...]) -> tuple[str, int] | None:
    """Which line of the table is meant, and where its own options begin."""
    if name not in _FIRST_WORDS:
        return (name, 1) if name in _SIMPLE else None
    between = frozenset(_MANY.get(name, "").split())
    key, at = name, 1
    best = (name, 1) if name in _SIMPLE else None
    for _ in range(2):
        at, _dashes = _past_options(words, at, between)
        if at >= len(words):
            break
        key = f"{key} {words[at]}"
        at += 1
        if key in _SIMPLE:
            best = (key, at)
    return best


def unwrap(words: tuple[str, ...]) -> Unwrapped | None:
    """Take one wrapper off; None when the first word is the command itself."""
    name = command_name(words[0])
    name = _SAME_AS.get(name, name)
    if len(words) < 2:
        return None
    if name in SHELLS:
        return _shell(name, words)
    special = _special(name, words)
    if special is not None:
        return special
    key = _key(name, words)
    if key is None:
        return _script(name, words)
    spec, at = key
    operands, _, options = _SIMPLE[spec].partition("|")
    valued = frozenset(options.split())
    if spec == "env":
        line = _split_string(words)
        if line is not None:
            return Unwrapped(spec, line=line)
    if spec.startswith("unhang ") and "--shell" in words:
        at = words.index("--shell") + 1
        return Unwrapped(spec, line=words[at]) if at < len(words) else None
    skip = int(operands)
    while True:
        at, _dashes = _past_options(words, at, valued)
        while at < len(words) and is_assignment(words[at]):
            at += 1
        if not skip:
            break
        at, skip = at + 1, skip - 1
    if spec in _DETACHING and any(_detaches(word) for word in words[1:at]):
        return None
    rest = words[at:]
    if rest[:1] == ("--",):
        rest = rest[1:]
    if not rest:
        return None
    return Unwrapped(spec, rest, bounded=spec in ("timeout", "gtimeout"))


def _detaches(word: str) -> bool:
    return word == "--detach" or (word[:1] == "-" and "d" in word and len(word) <= 5 and word[1:].isalpha())


def _shell(name: str, words: tuple[str, ...]) -> Unwrapped | None:
    """`bash -lc LINE`: the line. `bash script` is the script's own business."""
    for at in range(1, len(words)):
        word = words[at]
        if word[:1] not in ("-", "+"):
            return None
        if word[:2] != "--" and "c" in word[1:]:
            return Unwrapped(name, line=words[at + 1]) if at + 1 < len(words) else None
        if word in ("-o", "-O", "+o", "+O", "--rcfile", "--init-file"):
            return _shell(name, (words[0], *words[at + 2 :]))
    return None


def _after(words: tuple[str, ...], *flags: str) -> str | None:
    for at, word in enumerate(words[:-1]):
        if word in flags:
            return words[at + 1]
    return None


def _split_string(words: tuple[str, ...]) -> str | None:
    for at, word in enumerate(words[1:], 1):
        if word in ("-S", "--split-string"):
            return " ".join(words[at + 1 :])
        if word[:1] != "-" and not is_assignment(word):
            return None
    return None


_SSH_VALUED = frozenset(
    [
        "-i",
        "-p",
        "-l",
        "-o",
        "-F",
        "-J",
        "-L",
        "-R",
        "-D",
        "-b",
        "-c",
        "-E",
        "-e",
        "-I",
        "-m",
        "-O",
        "-Q",
        "-S",
        "-W",
        "-w",
    ]
)


def _special(name: str, words: tuple[str, ...]) -> Unwrapped | None:
    """Those that do not follow the plan of "options, operands, command"."""
    if name == "command":
        at, _dashes = _past_options(words, 1, frozenset())
        # `command -v x` only asks where x is
        asks = any("v" in option.lower() for option in words[1:at])
        return None if asks or at >= len(words) else Unwrapped(name, words[at:])
    if name in ("python", "pypy", "py") or (name.startswith("python") and name[6:].replace(".", "").isdigit()):
        at, _dashes = _past_options(words, 1, frozenset({"-W", "-X", "-m", "-c"}))
        for flag in range(1, at):
            if words[flag] == "-m" and flag + 1 < len(words):
                return Unwrapped(f"{name} -m", words[flag + 1 :])
        return None
    if name == "ssh":
        at, _dashes = _past_options(words, 1, _SSH_VALUED)
        return Unwrapped(name, line=" ".join(words[at + 1 :])) if at + 1 < len(words) else None
    if name == "eval":
        return Unwrapped(name, line=" ".join(words[1:]))
    if name in ("su", "runuser", "script", "flock"):
        line = _after(words, "-c", "--command", "-qc", "-qec", "-qefc")
        if line is not None:
            return Unwrapped(name, line=line)
        if name == "flock":
            at, _dashes = _past_options(words, 1, frozenset({"-w", "--timeout", "--wait", "-E"}))
            return Unwrapped(name, words[at + 1 :]) if at + 1 < len(words) else None
        return None
    if name in ("nix-shell", "nix"):
        line = _after(words, "--run", "--command", "-c")
        return Unwrapped(name, line=line) if line is not None else None
    if name in ("kubectl", "oc", "gdb") and "--" in words:
        rest = words[words.index("--") + 1 :]
        return Unwrapped(name, rest) if rest and "exec" in words else None
    if name == "find":
        for at, word in enumerate(words):
            if word in FIND_ACTIONS and at + 1 < len(words):
                return Unwrapped(name, words[at + 1 :], works=True)
    return None


def _script(name: str, words: tuple[str, ...]) -> Unwrapped | None:
    """`yarn tsc`, `pnpm run vitest`: a script if the name sounds like one, else the program of that name."""
    if name not in _SCRIPT_RUNNERS and name not in ("npm", "cnpm"):
        return None
    at, _dashes = _past_options(words, 1, frozenset(_MANY.get(name, "").split()))
    if at >= len(words):
        return None
    first = words[at]
    if first in ("run", "run-script"):
        return (
            Unwrapped(f"{name} run", words[at + 1 :], instead=("npm", "run", *words[at + 1 :]))
            if at + 1 < len(words)
            else None
        )
    if name not in _SCRIPT_RUNNERS or first in _RUNNER_VERBS or (first == "build" and name == "bun"):
        return None
    return Unwrapped(name, words[at:], instead=("npm", "run", *words[at:]))


_VERBS = (
    "install i add remove rm uninstall up update upgrade link unlink list ls why config info bin root"
    " audit outdated publish pack init create dlx exec x run test t start dev serve watch workspace"
    " workspaces cache set version global dedupe import fetch rebuild prune deploy patch store env self-"
    "update setup plugin node npm ci login logout pm"
)
_RUNNER_VERBS = frozenset(_VERBS.split())
