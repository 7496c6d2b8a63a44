"""The lists of commands: ordinary lines pass, and a line that cannot be read with certainty is refused.

Lines that pass are run for real, in dash and bash, with a forbidden program that leaves a trace when it is run.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unhang.faces.mcp.access.check import AccessRefused, check_access
from unhang.faces.mcp.settings import Settings

DENY = Settings(deny_commands=("touch", "git push*"))
ALLOW = Settings(allow_commands=("git", "cd", "npm", "sudo", "echo", "python3 -m pytest*"))

PASSES = r"""
cd web && npm ci
npm test 2>&1 | tail -50
VAR=x make -j8
for f in *.py; do echo "$f"; done
[ -f x ] && echo y
test -d build || mkdir build
while read -r l; do echo "$l"; done < file
if grep -q x y; then echo a; elif true; then echo b; else echo c; fi
until ls x; do sleep 1; done
grep -rn "foo(bar" src | head -20
find . -name '*.py' -exec grep -l foo {} +
find . -name *.py | xargs wc -l
git status && git diff --stat
git commit -m "$(cat msg)"
git log --oneline -5 | cat
ls -la | awk '{print $2}' | sort | uniq -c
sed -n '1,20p' file
sed -i 's/foo/bar/g; s|a|b|' file
sed -i.bak -e 's/[\t ]*$//' -e '/^$/d' f
sed ':a;N;$!ba;s/\n/ /g' f
python3 -m pytest -q tests
python script.py --x
bash script.sh arg
bash -lc 'npm ci && npm test'
source .venv/bin/activate && pytest
. ./env.sh; make
export FOO=bar PATH=$HOME/bin:$PATH && make
echo "a $(date +%s) b" `pwd`
time make
timeout 60 npm test
sudo -n apt-get install -y jq
env FOO=1 BAR=2 cargo build --release
(cd sub && make) && echo ok
{ a; b; } > log 2>&1 &
x=$((1+2)); echo $x ${x:-y} ${x%.c} $((x + 1))
case "$1" in start) echo s;; (stop|halt) echo t;; *) echo d;; esac
f() { echo hi; }; f
! grep x y
nohup ./server > log 2>&1 &
curl -s http://127.0.0.1:80/ | jq .
docker run --rm -it node:20 npm ci
node server.js
node --version
npx -y tsc --noEmit
xargs -n1 -P4 echo < list
./node_modules/.bin/jest --ci
"$VENV/bin/python" -m pytest
trap 'rm -f tmp' EXIT; ls
set -euo pipefail; ls
command -v touch
printf '%s\n' "a b" > f
sleep 5 & wait
true # a comment 'with a quote and touch x
git add -A; git commit -m 'it'\''s'
diff <(ls a) <(ls b)
awk -F: '$3 > 100 || $1 == "x" {print $1}' /etc/passwd
echo touch; grep touch file; git stash touch
ls *.txt {a,b}.c
IFS=: read -r a b
""".strip().split("\n")
PASSES += [
    "cat <<EOF > out\nhello $x\nEOF\nls",
    "cat <<'EOF'\ntouch x $(touch y)\nEOF",
    "cat <<-A <<B\n\ta\n\tA\nb\nB\nls",
    "sh <<EOF\nls\nEOF",
    "make \\\n  -j8 \\\n  all",
    "a\nb\n\n# c\nd",
]

REFUSED = r"""
touch x
/usr/bin/touch x
[[ a || touch x
((touch x))
!(touch x)
true &> /dev/null touch x
touch x; touch() { :; }
if false; then touch() { :; }; fi; touch x
eval 'touch x'
eval tou''ch x
eval "$x"
x=touch; $x y
$(echo touch) y
`echo touch` y
echo 'touch x' | sh
echo 'touch x' | bash -s
sh < script
trap 'touch x' EXIT
find . -exec touch {} ';'
find . -name a -exec true ';' -exec touch x ';'
find . -exec sh -c 'echo {}' ';'
find . $more
echo x | xargs touch
echo touch | xargs env
echo touch | xargs -I% sh -c '% x'
env touch x
env -S 'touch x'
env '-Stouch x'
env --split-string='touch x'
busybox touch x
command touch x
command -- touch x
command -p touch x
exec touch x
exec -- touch x
builtin eval 'touch x'
time touch x
time -p touch x
time ! touch x
time { touch x; }
sudo -u nobody touch x
sudo -s 'touch x'
nice -n 5 touch x
timeout -k 1 5 touch x
nohup touch x
unhang run -- touch x
unhang run --shell 'touch x'
sh -c 'touch x'
sh -ec 'touch x'
sh -o errexit -c 'touch x'
bash -c "$line"
bash <(echo touch x)
. /dev/stdin
source <(echo touch x)
awk 'BEGIN{system("touch x")}'
awk 'BEGIN{print "x" | "sh"}'
gawk -e 'BEGIN{system("touch x")}'
sed '1e touch x' f
sed 's/x/touch y/e' f
sed -n 'p;e touch x' f
sed -e p -e '1e touch x' f
sed "s/x/$y/" f
python3 -c 'import os'
python3 -uc 'import os'
python3 -
python3 < script
echo x | python3
perl -e 'system "touch x"'
perl -lane 'system "touch x"' f
perl '-Mstrict;system"touch x"' f
ruby -e 'x'
node -e 'x'
node --eval='x'
node -p 'x'
php -r 'x'
zsh -c 'touch x'
fish -c 'touch x'
watch touch x
echo touch x | at now
parallel touch ::: x
$'\x74ouch' x
/usr/bin/touc? x
t*h x
{touch,x}
"$x" y
echo "`touch x`"
echo `echo \`touch x\``
echo ${x:-$(touch y)}
echo "${x#'}"; touch x; echo "'}"
echo $(( $(touch x; echo 1) ))
echo $((touch x); echo 1)
echo $((echo x)|(touch y))
echo $( (touch x) )
function touch { :; }
coproc touch x
select x in 1; do touch y; done
for i in 1; { touch x; }
for i in 1; do touch x; done
for i do touch x; done
case a in a) touch x;; esac
case esac in (esac) touch x;; esac
x+=1 touch y
a[0]=1 touch y
a=(touch x)
alias ls=touch
hash -p /usr/bin/touch ls
PS4='$(touch x)'; set -x; ls
export PS4='$(touch x)'
BASH_ENV=x bash script
LD_PRELOAD=./x.so ls
x='a[$(touch y)]'; echo $((x))
x='a[$(touch y)]'; [[ $x -eq 0 ]]
test -v 'a[$(touch x)]'
unset 'a[$(touch x)]'
{fd}>x touch y
> x touch y
2>&1 touch x
</dev/null>/dev/null touch x
true & touch x
true |& touch x
! touch x
a=b touch x
git push
git push origin
git $x
git "$x" y
. touch
. /dev//stdin
. ../../dev/fd/0
bash ''<(echo touch x)
source /<(echo touch x)
a[b c]=1 touch x
sh -oE errexit -c 'touch x'
test -v $'a[$(touch x)]'
perl '-0Mstrict;system"touch x"' f
echo $(( $(touch x) ))
find . -e*ec touch x ';'
echo 'unclosed
echo "unclosed
( ls
if true; then ls
ls )
;; ls
""".strip().split("\n")
REFUSED += [
    "true;" * 600 + "touch x",
    "true;" * 5000,
    "(" * 5000,
    "$(" * 5000,
    "{ " * 5000,
    "x" * 200_000,
    "sh <<E\ntouch x\nE",
    "sh <<E\n$x\nE",
    "sh <<< 'touch x'",
    ". /dev/stdin <<E\ntouch x\nE",
    "cat <<E\n$(touch x)\nE",
    "cat <<E\n`touch x`\nE",
    "cat <<'E F'\nE F\ntouch x",
    "cat <<A <<B\nx\nA\ny\nB\ntouch x",
    "cat <<$X\n$X\ntouch x",
    "cat <<E\\\nF\nEF\ntouch x",
    "cat <<E\na\\\nE\ntouch x",
    "cat <<E\nno end",
    "cat <<E $(echo\nE\ntouch x)\nE",
    "alias l=touch\nl x",
    "true # '\ntouch x # '",
    "tou\\\nch x",
    "true;\rtouch x",
    "true\n\vtouch x",
    "true;\u00a0touch x",
    "function f\n{\ntouch x\n}\nf",
    "ls\0touch x",
]


@pytest.mark.parametrize("line", PASSES)
def test_ordinary_lines_pass_a_deny_list(line: str) -> None:
    check_access(DENY, line, "/")


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: repr(line[:60]))
def test_a_line_that_is_denied_or_not_certain_is_refused_in_one_line(line: str) -> None:
    with pytest.raises(AccessRefused) as refused:
        check_access(DENY, line, "/")
    assert len(str(refused.value).splitlines()) == 1


def test_without_lists_everything_passes() -> None:
    for line in REFUSED:
        check_access(Settings(), line, "/")


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("git status", True),
        ("cd x && git status", True),
        ("git status; rm x", False),
        ("sudo git status", True),
        ("sudo -n git status", True),
        ("sudo --unknown git status", False),
        ("bash -c 'git status'", True),
        ("bash -c 'git status; rm x'", False),
        ("ssh host git status", False),
        ("PATH=/tmp/evil git status", False),
        ("export PATH=/tmp/evil; git status", False),
        ("npm run build", True),
        ("python3 -m pytest -q", True),
        ("python3 -m http.server", False),
        ("python3 -c x", False),
        ("git() { rm x; }; git", False),
        ("$x", False),
        ("x=1", False),
        ("", False),
        ('git commit -m "$x"', True),
    ],
)
def test_an_allow_list_must_have_every_command_of_a_line(line: str, passes: bool) -> None:
    if passes:
        check_access(ALLOW, line, "/")
    else:
        with pytest.raises(AccessRefused):
            check_access(ALLOW, line, "/")


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("git status", True),
        ("cd . && git log", True),
        ("git push origin", False),
        ("sudo git push", False),
        ("rm -rf x", False),
        ("git status; rm x", False),
        ("/usr/bin/rm x", False),
    ],
)
def test_a_command_on_both_lists_is_denied(line: str, passes: bool) -> None:
    both = Settings(allow_commands=("git", "cd", "sudo"), deny_commands=("git push*",))
    if passes:
        check_access(both, line, "/")
    else:
        with pytest.raises(AccessRefused):
            check_access(both, line, "/")


def test_an_interpreter_that_is_allowed_may_be_given_code() -> None:
    both = Settings(allow_commands=("python3", "sh", "echo"), deny_commands=("touch",))
    check_access(both, "python3 -c 'print(1)'", "/")
    check_access(both, "echo 'echo hi' | sh", "/")
    with pytest.raises(AccessRefused):
        check_access(both, "sh -c 'touch x'", "/")


def test_argv_and_variables_of_a_caller_are_checked_too() -> None:
    check_access(DENY, ["git", "status"], "/", {"CI": "1"})
    for words in (["touch", "x"], ["sh", "-c", "touch x"], ["env", "touch"], ["python3", "-c", "x"], ["bash"]):
        with pytest.raises(AccessRefused):
            check_access(DENY, words, "/")
    with pytest.raises(AccessRefused):
        check_access(DENY, ["git", "status"], "/", {"LD_PRELOAD": "./x.so"})


PIECES = (
    "[ ",
    "a ",
    "a;",
    "<<E ",
    "find -exec ",
    "env ",
    "xargs ",
    "eval ",
    "sh -c ",
    "sed -e p ",
    "$(a)",
    "`a`",
    "${x}",
)


@pytest.mark.parametrize("piece", [*PIECES, "find . -exec find ';' ", "case a in b) ", "'a'", "{a,", "\\\n", "trap a "])
def test_a_long_line_of_one_kind_is_checked_in_bounded_time(piece: str) -> None:
    begun = time.process_time()
    try:
        check_access(DENY, piece * (100_000 // len(piece)), "/")
    except AccessRefused:
        pass
    assert time.process_time() - begun < 20, "a second or two, on any machine"


# --- any text -----------------------------------------------------------------------------------------------------


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_passes_or_is_refused(line: str) -> None:
    for lists in (DENY, ALLOW):
        try:
            check_access(lists, line, "/")
        except AccessRefused:
            pass


# What a shell reads, in pieces: glued together at random they make lines of every kind.
_SIGNS = (
    *(";", "&", "|", "&&", "||", "\n", "(", ")", "{", "}", "!", "<", ">", ">>", "<<", "<<-", "<<<", "&>", "|&", ";;"),
    *("((", "))", "[[", "]]", "[", "]", "#", "$", "`", "'", '"', "\\", "\\\n", "=", "+=", "*", "?", "~"),
)
_PIECES = (
    *("forbidden", "forbid", "den", "true", "false", "echo", ":", "x", "E", "1", "x=1", "x=forbidden", "$x", "${x}"),
    *("if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "case", "esac", "function", "x()", "$1"),
    *("time", "coproc", "select", "eval", "command", "exec", "builtin", "trap", "EXIT", "alias", "set", "--", "-x"),
    *("sh", "-c", "export", "read", "test", "let", "declare", "printf", "$(", "$((", "${x:-", "$'", '$"', "<(", ">("),
    *("<<E", "<<'E'", "\nE\n", "2>&1", "/dev/null", "{a,b}", "{x}>", "x=y", "PS4=", "[[ a", "a ]]", "break", "wait"),
    *(" ", " ", " ", " ", " forbidden x ", " forbidden x ", "'forbidden'"),
)
_GLUED = st.lists(st.sampled_from([*_SIGNS, *_PIECES]), max_size=14).map("".join)
# Lines that are refused for a reason of their own, a little changed.
_SEEDS = [line.replace("touch", "forbidden") for line in REFUSED if len(line) < 200]


def _changed(line: str, changes: list[tuple[int, str]]) -> str:
    for place, piece in changes:
        at = place % (len(line) + 1)
        line = line[:at] + piece + line[at + (not piece) :]
    return line


_EDIT = st.tuples(st.integers(0, 500), st.sampled_from(["", "", *_SIGNS, " ", "\n", "a", "0", "/", "-"]))
_MUTATED = st.builds(_changed, st.sampled_from(_SEEDS), st.lists(_EDIT, min_size=1, max_size=4))
_SHELLS = [path for path in (shutil.which("dash"), shutil.which("bash")) if path]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The forbidden program and a shell are all that is on the path."""
    folder = tmp_path_factory.mktemp("access")
    (folder / "forbidden").write_text(f"#!/bin/sh\n: > {folder}/ran\n")
    (folder / "forbidden").chmod(0o755)
    (folder / "sh").symlink_to("/bin/sh")
    return folder


@given(line=st.one_of(_GLUED, _MUTATED))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_passes_does_not_run_the_forbidden_program_in_any_shell(place: Path, line: str) -> None:
    try:
        check_access(Settings(deny_commands=("forbidden",)), line, "/")
    except AccessRefused:
        return
    for shell in _SHELLS:
        with tempfile.TemporaryDirectory(dir=place) as work:  # a line may leave a script to the next one
            _run(shell, line, work, str(place))
        assert not (place / "ran").exists(), f"{shell}: {line!r}"


def _run(shell: str, line: str, work: str, path: str) -> None:
    """Bounded by the kernel; its output is read to the end, so that whatever it has left running is done, too."""
    words = ["/bin/sh", "-c", f'ulimit -t 2; exec {shell} -c "$1" sh forbidden', "sh", line]
    given: dict[str, Any] = {"cwd": work, "env": {"PATH": path}, "stdin": subprocess.DEVNULL}
    try:
        subprocess.run(words, capture_output=True, timeout=20, check=False, **given)
    except (subprocess.TimeoutExpired, ValueError):  # it waits for itself, or cannot be a word at all
        pass


def test_the_forbidden_program_leaves_a_trace_in_every_shell(place: Path, tmp_path: Path) -> None:
    assert _SHELLS
    for shell in _SHELLS:
        _run(shell, "forbidden x", str(tmp_path), str(place))
        assert (place / "ran").exists(), shell
        (place / "ran").unlink()
