"""What the tests start reaches this machine alone."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

from tests.conftest import ALONE
from tests.support.programs import not_permitted

CONNECT = "import socket; s = socket.socket(); s.settimeout(9); print(s.connect_ex(('192.0.2.1', 443)))"


def test_a_program_of_the_tests_has_no_way_out(request: pytest.FixtureRequest) -> None:
    if not request.config.stash[ALONE]:
        not_permitted("NOT TESTED: a network of the tests' own needs root")
    refused = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, check=True).stdout
    assert int(refused) == errno.ENETUNREACH
