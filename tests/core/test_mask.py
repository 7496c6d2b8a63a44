"""No secret that is named as one is shown, and what is none stays readable."""

from __future__ import annotations

import time

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.core import mask

# with SECRET (or PASSW0RD) in them, and as they are shown
MASKED = {
    "tool --token=SECRET": "tool --token=***",
    "tool --token SECRET next": "tool --token *** next",
    "tool -token SECRET": "tool -token ***",
    "tool --auth-token 'SECRET with blank' next": "tool --auth-token *** next",
    'tool --password="SECRET x" next': "tool --password=*** next",
    "tool --apiKey=SECRET": "tool --apiKey=***",
    "tool --api-key SECRET --verbose": "tool --api-key *** --verbose",
    "tool --client_secret=SECRET": "tool --client_secret=***",
    "mysql -u root -pSECRET db": "mysql -u root -p*** db",
    "/usr/bin/mysqldump -pSECRET db": "/usr/bin/mysqldump -p*** db",
    "docker exec db mysql -pSECRET": "docker exec db mysql -p***",
    "sshpass -p SECRET ssh h": "sshpass -p *** ssh h",
    "redis-cli -a SECRET ping": "redis-cli -a *** ping",
    "docker login -u me -p SECRET registry": "docker login -u me -p *** registry",
    "curl -u me:SECRET https://h/": "curl -u me:*** https://h/",
    "curl -sSu me:SECRET https://h/": "curl -sSu me:*** https://h/",
    "curl -bSID=SECRET u": "curl -b*** u",
    "curl -sb SID=SECRET u": "curl -sb *** u",
    "http -a me:SECRET h": "http -a me:*** h",
    "openssl rsa -passin pass:SECRET -in k": "openssl rsa -passin pass:*** -in k",
    "aws configure set aws_secret_access_key SECRET": "aws configure set aws_secret_access_key ***",
    "npm config set //registry/:_authToken SECRET": "npm config set //registry/:_authToken ***",
    "psql postgres://u:PASSW0RD@h/db": "psql postgres://u:***@h/db",
    "psql postgres://u:PASS@W0RD/x@h/db": "psql postgres://u:***@h/db",
    "git clone https://x-access-token:SECRET@github.com/a/b": "git clone https://x-access-token:***@github.com/a/b",
    "git clone https://SECRETSECRETSECRETSECRET@h/a": "git clone https://***@h/a",
    "redis://:PASSW0RD@h:6379/0": "redis://:***@h:6379/0",
    "amqp://u:PASSW0": "amqp://u:***",
    "curl -H 'Authorization: Bearer SECRET' u": "curl -H 'Authorization: Bearer ***' u",
    "curl -H Authorization: Bearer SECRET u": "curl -H Authorization: Bearer *** u",
    'curl -H "authorization:SECRET" u': 'curl -H "authorization:***" u',
    "wget --header='Proxy-Authorization: Basic SECRET'": "wget --header='Proxy-Authorization: Basic ***'",
    "curl -H 'X-Api-Key: SECRET'": "curl -H 'X-Api-Key: ***'",
    "curl -H 'PRIVATE-TOKEN: SECRET'": "curl -H 'PRIVATE-TOKEN: ***'",
    "curl -b 'Cookie: SECRET'": "curl -b 'Cookie: ***'",
    "curl 'https://h/?access_token=SECRET&x=1'": "curl 'https://h/?access_token=***&x=1'",
    "curl -d 'user=me&password=SECRET'": "curl -d 'user=me&password=***'",
    """curl -d '{"token": "SECRET", "n": 1}'""": """curl -d '{"token": "***", "n": 1}'""",
    "import '-----BEGIN PGP PRIVATE KEY BLOCK----- SECRET x'": "import '-----BEGIN PGP PRIVATE KEY BLOCK-----***'",
    r"""curl -d "{\"password\":\"SECRET\"}" u""": r"""curl -d "{\"password\":\"***\"}" u""",
    "psql 'host=h password=SECRET dbname=d'": "psql 'host=h password=*** dbname=d'",
    "API_KEY=SECRET make": "API_KEY=*** make",
    "env PGPASSWORD=SECRET psql": "env PGPASSWORD=*** psql",
    "docker run -e DB_PASSWORD=SECRET img": "docker run -e DB_PASSWORD=*** img",
    "export GITHUB_TOKEN='SECRET x'; make": "export GITHUB_TOKEN=***; make",
    "kubectl create secret generic x --from-literal=password=SECRET": (
        "kubectl create secret generic x --from-literal=password=***"
    ),
    "sh -c 'mysql -pSECRET db; echo done'": "sh -c 'mysql -p*** db; echo done'",
    """bash -c "curl -H 'X-Auth-Token: SECRET' u" """: """bash -c "curl -H 'X-Auth-Token: ***' u" """,
    "echo ghp_SECRET0123456789abcdef": "echo ***",
    "x sk-proj-SECRET0123456789abcd": "x ***",
    "x eyJSECRET012.eyJSECRET012.SECRET": "x ***",
    "curl -ume:SECRET https://h/": "curl -ume:*** https://h/",
    "curl --user=me:SECRET u": "curl --user=me:*** u",
    "curl -b sid=SECRET u": "curl -b *** u",
    "curl --cookie 'a=b; sid=SECRET' u": "curl --cookie *** u",
    "curl --cookie=sid=SECRET u": "curl --cookie=*** u",
    "curl -H 'Cookie: a=b; sid=SECRET' u": "curl -H 'Cookie: ***' u",
    "curl -H 'Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=SECRET' u": (
        "curl -H 'Authorization: AWS4-HMAC-SHA256 ***' u"
    ),
    "curl 'https://h/f?sv=1&sig=SECRET%3D&x=1'": "curl 'https://h/f?sv=1&sig=***&x=1'",
    "wget https://h/f?X-Amz-Date=1&X-Amz-Signature=SECRET": "wget https://h/f?X-Amz-Date=1&X-Amz-Signature=***",
    "curl https://api.telegram.org/bot123456789:AASECRETSECRETSECRETSECRETSECRETSEC/getMe": (
        "curl https://api.telegram.org/***/getMe"
    ),
    "curl -d x https://hooks.slack.com/services/T01/B02/SECRET": "curl -d x https://***",
    "echo '-----BEGIN RSA PRIVATE KEY-----\nSECRET\n-----END RSA PRIVATE KEY-----' > k": (
        "echo '-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----' > k"
    ),
    "x sk_live_SECRET0123456789ab": "x ***",
    "x xapp-1-A0-SECRET0123": "x ***",
    "x ya29.SECRET0123456789abcdef": "x ***",
}
# what is no secret, or is not shown anyway
SHOWN = (
    *("tool --token-limit 5", "tool --max-tokens 100", "tool --tokenizer=x", "tool --password-file f", "tool --token"),
    *("tool --password-stdin < f", "tool --token=", "tool --token=true", "tool --secret -v", "sort --key=2 -k 3 f"),
    *("git commit -m 'password: fix'", "git commit -m 'the token is gone'", "grep -r password src", "man passwd"),
    *("curl http://localhost:8080/a@b", "curl http://h:8080", "curl https://h/a:b", "git clone ssh://git@h/x"),
    *("curl http://[::1]:8080/x@y", "scp a@b:c d", "npm install @scope/pkg", "mysql -p db", "mysql -u root -P 3306"),
    *("docker run -p 8080:80 img", "curl --user me u", "MAX_TOKENS=100 make", "KEYBOARD=us make", "make KEY=1"),
    *("SSH_AUTH_SOCK=/tmp/a make", "AWS_ACCESS_KEY_ID=x make", "TOKEN=$X make", 'TOKEN="$X" make', "a --token $TOKEN"),
    *("curl -b jar.txt -ume u", "curl --user=me u", "curl -o both http://h/a?signal=1", "man -S 2 signature"),
    *("TOKEN=$(cat f) make", "ssh-keygen -p -f key", "monkey=1 make", "compass compile", "x: y", "a=b", "", " ", "'"),
)


@pytest.mark.parametrize(("line", "shown"), MASKED.items())
def test_a_secret_is_masked(line: str, shown: str) -> None:
    assert mask.line(line) == shown
    assert mask.line(shown) == shown, "masking twice changes nothing"


@pytest.mark.parametrize("line", SHOWN)
def test_what_is_no_secret_is_shown(line: str) -> None:
    assert mask.line(line) == line
    assert mask.arguments(line.split()) == line.split()


def test_words_are_masked_each_by_itself() -> None:
    argv = ["curl", "-H", "Authorization: Bearer a b", "--password", "a 'b", "--data", "token=a b&c", "--key", "x y"]
    assert mask.arguments(argv) == [
        *("curl", "-H", "Authorization: Bearer ***", "--password", "***", "--data", "token=***", "--key", "x y")
    ]
    assert mask.arguments(["sh", "-c", "PASSWORD=x y"]) == ["sh", "-c", "PASSWORD=*** y"]
    assert mask.arguments(["make", "-j8"]) == ["make", "-j8"]


def test_the_values_of_secret_variables_are_masked_wherever_they_stand() -> None:
    environ = {
        "GITHUB_TOKEN": "hunter2hunter2",
        "X_API_KEY_2": "anotherone",
        "DB_PASSWORD": "short",
        "API_KEY_FILE": "not-a-secret",
        "SSH_PRIVATE_KEY": "/home/me/.ssh/id",
        "MONKEY": "banana-banana",
        "PATH": "/usr/bin:/bin",
    }
    secrets = mask.secrets_of(environ)
    assert secrets == ["hunter2hunter2", "anotherone"]
    assert (
        mask.line("deploy xhunter2hunter2x --at anotherone banana-banana", secrets)
        == "deploy x***x --at *** banana-banana"
    )
    assert mask.arguments(["deploy", "hunter2hunter2"], secrets) == ["deploy", "***"]


_PIECES = st.lists(
    st.sampled_from(
        [
            " ",
            "--token",
            "=",
            "'",
            '"',
            "://",
            "u:",
            "@",
            "password",
            "Authorization:",
            "Bearer ",
            "mysql ",
            "-p",
            "x",
            "\\",
        ]
    )
    | st.text(max_size=4),
    max_size=16,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(_PIECES)
def test_masking_twice_changes_nothing_and_no_text_is_too_odd(text: str) -> None:
    once = mask.line(text)
    assert mask.line(once) == once
    assert isinstance(mask.arguments(text.split(" ")), list)


@settings(max_examples=300, deadline=None)
@given(_PIECES, st.sampled_from(["--token=", "--password ", "API_KEY=", "curl -H 'X-Api-Key: ", "x://u:"]), _PIECES)
def test_a_secret_is_masked_whatever_stands_around_it(before: str, named: str, after: str) -> None:
    before = before.replace("'", "").replace('"', "").replace("\\", "").replace("$", "")
    end = "@h" if "://" in named else "'" if "'" in named else ""
    text = f"{before} ; {named}hunter2hunter2{end} ; {after}"
    assert "hunter2hunter2" not in mask.line(text)


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("named", ["--token=", "--password ", "API_KEY="])
@pytest.mark.parametrize(
    "around", ["x {}; y", "x {}&& y", "(x {})", "x=$(y {})", "asks {}. Answer", "{{{}}}", "x {},", "x a{}b"]
)
def test_a_secret_in_quotes_is_masked_whatever_touches_them(around: str, named: str, quote: str) -> None:
    text = around.format(f"{quote}next: push {named}hunter2hunter2{quote}")
    assert "hunter2hunter2" not in mask.line(text)
    assert mask.line(text).count(quote) == 2
    assert "hunter2hunter2" not in " ".join(mask.arguments(["sh", "-c", text]))
    assert "hunter2hunter2" not in " ".join(mask.arguments(["tool", text]))


def test_every_text_of_a_value_is_masked_by_what_it_says_and_by_its_name() -> None:
    given = {
        "command": "curl -H 'Authorization: Bearer abcdefgh' x",
        "headers": {"Authorization": "Bearer abcdefgh", "X-Api-Key": "abcdefgh", "Accept": "text/html"},
        "api_key": "abcdefgh",
        "credentials": {"user": "abcdefgh", "pins": [1234]},
        "password": 1234,
        "secret": True,
        "token": "",
        "timeout": 90000,
        "list": ["--token=abcdefgh", {"password": "abcdefgh"}, None, 1.5],
    }
    found = mask.within(given)
    assert "abcdefgh" not in str(found)
    assert "1234" not in str(found)
    assert found["headers"]["Accept"] == "text/html"
    assert (found["secret"], found["token"], found["timeout"]) == (True, "", 90000)
    assert found["list"] == ["--token=***", {"password": "***"}, None, 1.5]
    assert mask.within(found) == found
    assert mask.within("no secret") == "no secret"


@pytest.mark.parametrize("text", ["a-" * 30_000 + ":", "a://b:" * 10_000, "token=" * 10_000, "'\"" * 30_000 + "key"])
def test_a_long_text_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    mask.line(text + "password")
    assert time.process_time() - began < 10


@pytest.mark.parametrize("count", [9, 2000])
@pytest.mark.parametrize("piece", ['"name":"value",', '"value"', "'\"", "\"x'", "a'b\"c"])
def test_a_word_with_many_quotation_marks_takes_no_long_time(piece: str, count: int) -> None:
    began = time.process_time()
    mask.arguments(["curl", "-d", piece * count + " password"])
    mask.arguments(["curl", "-d", "{" + piece * count + "} token x"])
    assert time.process_time() - began < 4
