"""What shows how much is done: on a terminal a bar, else nothing."""

from __future__ import annotations

import sys

import pytest

from glsl_infer.cli import progress


def test_a_counter_is_silent_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.counter(3, "pictures") as done:
        done(3)
    assert capsys.readouterr() == ("", "")


def test_a_counter_counts_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TQDM_MININTERVAL", "0")
    with progress.counter(4, "pictures") as done:
        done(1)
        done(2)
    output = capsys.readouterr()
    assert output.out == ""
    assert "pictures:  75%" in output.err and "3/4" in output.err
    assert output.err.split("\r")[-1].strip() == "", "the bar goes away"


def test_a_counter_ends_with_an_error_in_between(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(ValueError, match="broken"), progress.counter(4, "pictures"):
        raise ValueError("broken")
    assert capsys.readouterr().err.split("\r")[-1].strip() == ""
