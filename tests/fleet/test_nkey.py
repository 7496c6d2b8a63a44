"""Signatures by the key of a user."""

from __future__ import annotations

from unhang.core.fleet.task import to_sign
from unhang.fleet import nkey


def test_a_signature_names_its_signer_and_holds_for_nothing_else() -> None:
    seed = nkey.new_seed()
    key = nkey.public_key(seed)
    text = nkey.signed_text(seed, b"a task")
    assert nkey.signer(text, b"a task") == key
    assert nkey.signer(text, b"another task") is None
    assert nkey.signer(text.replace(key, nkey.public_key(nkey.new_seed())), b"a task") is None
    assert nkey.signer(f"{key} {nkey.signed(seed, 'a-number').decode()}", b"a-number") == key


def test_a_server_gets_no_task_signed_as_if_it_were_its_number() -> None:
    assert nkey.signed(nkey.new_seed(), to_sign("queue", "job", b"{}").decode()) == b""
