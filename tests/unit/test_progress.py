"""Progress output: a bar on a terminal, otherwise nothing."""

from __future__ import annotations

import ast
import functools
import re
import sys
import threading
import time
from pathlib import Path

import needs
import pytest

from glsl_infer.cli import progress


def test_a_counter_is_silent_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.counter(3, "images", "classify") as done:
        done(3)
    assert capsys.readouterr() == ("", "")


def test_a_counter_counts_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    needs.installed("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tqdm = progress._tqdm()
    monkeypatch.setattr(progress, "_tqdm", lambda: functools.partial(tqdm, mininterval=0.0))
    with progress.counter(4, "images", "classify") as done:
        done(1)
        done(2)
    output = capsys.readouterr()
    assert output.out == ""
    assert "classify:  75%" in output.err and "3/4" in output.err and "images/s" in output.err
    assert output.err.split("\r")[-1].strip() == "", "the bar goes away"


def test_a_counter_ends_with_an_error_in_between(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(ValueError, match="broken"), progress.counter(4, "images", "classify"):
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


def test_a_counter_in_a_log_names_the_command_and_the_items(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SILENT", 0.01)
    until, lines = time.monotonic() + 60.0, [""]
    with progress.counter(4, "images", "validate") as done:
        done(3)
        while not lines[-1] and time.monotonic() < until:
            time.sleep(0.01)
            lines.append(capsys.readouterr().err)
    assert lines[-1].startswith("validate: 3 of 4 images (0:00 so far)")


def test_the_progress_of_each_command_begins_with_its_name() -> None:
    calls = []
    for path in Path(progress.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("progress."):
                position = {"progress.status": 0, "progress.counter": 2, "progress.bar": 2}.get(ast.unparse(node.func))
                if position is not None:
                    calls.append((path.stem, ast.unparse(node.args[position]).lstrip("f").strip("'\"")))
    assert len(calls) > 10
    assert [
        call for call in calls if not re.match(rf"{call[0]}\b", call[1]) and not call[1].endswith("args.command")
    ] == []


def test_short_operations_print_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.status("export") as say:
        say("a step")
    assert list(progress.bar([1, 2, 3], "images", "classify")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]
