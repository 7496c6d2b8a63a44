"""Signals without Python's enumerations: the same numbers and the same names."""

from __future__ import annotations

import signal

import pytest

from unhang import plain_signal


def test_every_signal_has_the_name_and_number_that_python_shows() -> None:
    for known in signal.Signals:
        assert plain_signal.name_of(known.value) == known.name
        assert plain_signal.number_of(known.name) == known.value


def test_every_constant_is_that_of_python() -> None:
    for name in vars(plain_signal):
        if name.startswith("SIG"):
            assert getattr(plain_signal, name) == getattr(signal, name)


def test_a_number_without_a_name_is_a_value_error() -> None:
    with pytest.raises(ValueError):
        plain_signal.name_of(0)


def test_a_name_without_a_number_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        plain_signal.number_of("SIG_DFL")
