"""Progress output: a bar on a terminal, otherwise nothing."""

from __future__ import annotations

import functools
import sys
import threading
import time

import needs
import pytest

from glsl_infer.cli import progress


def test_a_counter_is_silent_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.counter(3, "pictures") as done:
        done(3)
    assert capsys.readouterr() == ("", "")


def test_a_counter_counts_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    needs.installed("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tqdm = progress._tqdm()
    monkeypatch.setattr(progress, "_tqdm", lambda: functools.partial(tqdm, mininterval=0.0))
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
    last = capsys.readouterr().err.split("\r")[-1]
    assert last.replace("\x1b[K", "").strip() == "", "the line is erased, also without tqdm"


def test_a_status_is_erased_for_a_warning(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.status("train") as say:
        say("a step")
        say("")
        assert capsys.readouterr().err == "\r\x1b[Ktrain: a step\r\x1b[K"


def test_a_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A log gets a line regularly, although a step can be silent for minutes. The test shortens the intervals."""
    monkeypatch.setattr(progress, "SILENT", 0.01)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    messages: list[str] = []
    with progress.status("export") as say:
        say("a step\x1b[2J of a stranger")
        until = time.monotonic() + 60.0
        while len(messages) < 2 and time.monotonic() < until:
            time.sleep(0.01)
            # A busy machine prints a line before the step has its name.
            messages += [line for line in capsys.readouterr().err.splitlines() if not line.startswith("export (")]
    assert [line.rpartition(" (")[0] for line in messages[:2]] == ["export: a step\\u001b[2J of a stranger"] * 2
    assert capsys.readouterr().out == ""


def test_what_is_over_soon_leaves_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.status("export") as say:
        say("a step")
    assert list(progress.bar([1, 2, 3], "pictures")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]
