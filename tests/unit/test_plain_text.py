"""Escaping of control characters, invisible characters and formulas of untrusted text, for terminals and tables."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from glsl_infer.cli import main, terminal_text
from glsl_infer.cli.table_file import open_table
from glsl_infer.support.plain_text import cell, one_line, visible

HOSTILE = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *map(chr, range(0x2028, 0x202F)), *"\u2066\u2069"]
HOSTILE += [*"\u061c\u200e\u200f\u200b\u2060\u3164\ufeff\xad", "\ud800", "\udfff"]


def test_control_characters_are_escaped() -> None:
    for character in HOSTILE:
        escaped = f"a\\u{ord(character):04x}b"
        assert one_line(f"a{character}b") == escaped
        assert visible(f"a{character}b") == (f"a{character}b" if character in "\n\t" else escaped)


def test_invisible_characters_are_escaped_in_labels() -> None:
    assert [one_line("cat" + hidden) for hidden in ("\u200b", "\U000e0041")] == ["cat\\u200b", "cat\\udb40\\udc41"]
    text = json.dumps("cat\U000e0041", ensure_ascii=False)
    assert json.loads(visible(text)) == "cat\U000e0041"


@pytest.mark.parametrize(
    "text", ["größte Äpfel", "日本語", "👩\u200d🌾 farmer", "שלום", "a\\b", "naïve cafe\u0301", " \u00a0"]
)
def test_words_of_all_languages_are_unchanged(text: str) -> None:
    assert one_line(text) == visible(text) == cell(text) == text


def test_json_that_goes_to_a_terminal_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal_text.guarded():
        print(json.dumps(HOSTILE))
        print(json.dumps(HOSTILE, ensure_ascii=False))
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [HOSTILE, HOSTILE]
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "-", "=", "-1-1", "+1;2", "\uff1d1+1"]
)
def test_a_formula_becomes_text(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "value", ["-1.5", "+3", "-.5", "1e-3", "-2.5E+10", "-inf", "nan", -4, -0.25, 7, "a=b", "3-4", ""]
)
def test_numbers_and_words_are_unchanged_in_cells(value: object) -> None:
    assert cell(value) == str(value)


def test_a_tab_cannot_hide_a_formula() -> None:
    assert [cell("\t=1"), cell("\r=1"), cell("\n=1"), cell(None)] == ["\\u0009=1", "\\u000d=1", "\\u000a=1", ""]


def test_tables_have_no_control_characters(tmp_path: Path) -> None:
    with open_table(tmp_path / "out.csv", ["file", "label"]) as table:
        table.write([Path("a\x1b[2J.jpg"), "=HYPERLINK(1)\r\nforged,row"])
    text = (tmp_path / "out.csv").read_text("utf-8")
    assert list(csv.reader(io.StringIO(text))) == [
        ["file", "label"],
        ["a\\u001b[2J.jpg", "'=HYPERLINK(1)\\u000d\\u000aforged,row"],
    ]


def test_refused_arguments_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["classify", "a.jpg", "--context", "\x1b]0;title\x07"])
    assert main(["inspect", "a\x1b[31m\nerror: fine.glslnn"]) == 2
    errors = capsys.readouterr().err
    assert "\\u001b]0;title" in errors or "\\x1b]0;title" in errors  # argparse quotes its input
    assert "a\\u001b[31m\\u000aerror: fine.glslnn" in errors
    assert errors.count("\n") == 2
    assert errors.replace("\n", "").isprintable()


def test_stdout_and_stderr_are_restored(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    main(["inspect", "nowhere.glslnn"])
    assert (sys.stdout, sys.stderr) == before


def test_tracebacks_are_escaped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    with pytest.raises(Exception, match="nowhere") as caught:
        main(["inspect", "nowhere\x1b[2J.glslnn", "--debug"])
    capsys.readouterr()
    sys.excepthook(caught.type, caught.value, caught.tb)
    errors = capsys.readouterr().err
    assert "Traceback" in errors and "nowhere\\u001b[2J" in errors
    assert "\x1b" not in errors
