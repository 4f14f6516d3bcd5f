"""Frozen records, parallel maps over threads, and control characters in untrusted text."""

from __future__ import annotations

import copy
import csv
import dataclasses
import inspect
import io
import json
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glsl_infer.cli import main, terminal_text
from glsl_infer.cli.table_file import open_table
from glsl_infer.program import quantize
from glsl_infer.support import blocks, parallel
from glsl_infer.support.plain_text import cell, one_line, visible
from glsl_infer.support.records import dataclass as record
from glsl_infer.support.records import replace


class Base:
    number: int

    @property
    def twice(self) -> int:
        return 2 * self.number


@record(frozen=True)
class Record(Base):
    """Record for these tests."""

    name: str
    number: int = 3
    sizes: tuple[int, ...] = ()


@record(frozen=True)
class Subrecord(Record):
    last: bool = True

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("negative")


@dataclasses.dataclass(frozen=True)
class Standard(Base):
    name: str
    number: int = 3
    sizes: tuple[int, ...] = ()


def test_records_have_values_and_defaults() -> None:
    record = Record("a", sizes=(1,))
    assert (record.name, record.number, record.sizes, record.twice) == ("a", 3, (1,), 6)
    assert record == Record("a", 3, (1,)) != Record("b", 3, (1,))
    assert record != Standard("a", 3, (1,))
    assert len({record, Record("a", 3, (1,)), Record("c")}) == 2
    assert hash(record) == hash(Standard("a", 3, (1,)))
    assert repr(record) == "Record(name='a', number=3, sizes=(1,))"
    assert Subrecord("x").last and Subrecord("x", 1, (), False) != Subrecord("x", 1)
    with pytest.raises(ValueError, match="negative"):
        Subrecord("x", -1)


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ((), {}, "misses: name"),
        (("a", 1, (), 4), {}, "takes 3 values, and 4"),
        (("a",), {"name": "b"}, "two values for 'name'"),
        (("a",), {"colour": "b"}, "no field 'colour'"),
    ],
)
def test_wrong_values_are_refused(values: tuple[Any, ...], named: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Record(*values, **named)
    with pytest.raises(TypeError):
        Standard(*values, **named)


def test_frozen_records_cannot_be_changed() -> None:
    record = Record("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'name'"):
        record.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del record.name
    assert record == Record("a")


def test_records_work_with_the_standard_library() -> None:
    record = Subrecord("a", 1)
    assert [field.name for field in dataclasses.fields(record)] == ["name", "number", "sizes", "last"]
    assert dataclasses.is_dataclass(Record) and dataclasses.is_dataclass(record)
    assert dataclasses.replace(record, number=2) == Subrecord("a", 2)
    assert dataclasses.asdict(record) == {"name": "a", "number": 1, "sizes": (), "last": True}
    assert copy.deepcopy(record) == record == pickle.loads(pickle.dumps(record))
    assert list(inspect.signature(Record).parameters) == ["name", "number", "sizes"]
    assert Record.__match_args__ == Standard.__match_args__


SLOW_TO_IMPORT = {"numpy.typing", "PIL", "OpenGL", "logging", "subprocess", "dataclasses", "zipfile"}
"""Modules that a Pi Zero imports with 10 to 70 million instructions, and without which a session can draw."""


def test_a_copy_has_other_values() -> None:
    assert replace(Subrecord("a", 1), number=2, last=False) == Subrecord("a", 2, (), False)
    with pytest.raises(TypeError, match="no field 'colour'"):
        replace(Record("a"), colour=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="negative"):
        replace(Subrecord("a", 1), number=-1)


def test_drawing_imports_no_slow_modules() -> None:
    text = "import sys, glsl_infer.runtime.session; from glsl_infer.gl import egl; egl.current(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "glsl_infer.runtime.session" in modules
    assert not modules & SLOW_TO_IMPORT


def test_results_come_in_order_and_two_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    both = threading.Barrier(2, timeout=30.0)  # blocks until both threads arrive

    def double(number: int) -> int:
        both.wait()
        return 2 * number

    assert list(parallel.parallel_map(double, range(6))) == [0, 2, 4, 6, 8, 10]
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    assert list(parallel.parallel_map(lambda number: -number, range(3))) == [0, -1, -2]


def test_a_failure_is_raised_and_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    begun = []

    def fail(number: int) -> None:
        begun.append(number)
        raise ValueError(number)

    with np.errstate(over="raise"), pytest.raises(ValueError, match="0"):
        list(parallel.parallel_map(fail, range(100)))
    assert len(begun) <= 2


def test_threads_warn_as_their_caller_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    with np.errstate(over="ignore"):
        assert list(parallel.parallel_map(np.exp, [np.float32(1000.0)] * 2)) == [np.inf, np.inf]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        list(parallel.parallel_map(np.exp, [np.float32(1000.0)]))


@pytest.mark.parametrize("bits", [8, 16])
def test_rows_are_stored_as_the_whole_map_is(bits: int) -> None:
    shape = (70, 40, 33)
    assert np.prod(shape) > blocks.BLOCK_ELEMENTS
    values = np.random.default_rng(3).normal(size=shape)
    scales, zeros = np.linspace(1.0, 9.0, 33), np.arange(33.0)
    stored = quantize.store_map(values, scales, zeros, bits)
    rows = np.stack([quantize.store_map(row[None], scales, zeros, bits)[0] for row in values])
    assert np.array_equal(stored, rows) and len(np.unique(stored[..., 0])) > 100
    assert [part.indices(70) for part in blocks.rows(shape)] == [(0, 49, 1), (49, 70, 1)]
    assert [*blocks.rows((3,))] == [slice(0, blocks.BLOCK_ELEMENTS)] and not [*blocks.rows((0, 4))]


def test_a_function_goes_through_a_large_map_a_few_rows_at_a_time() -> None:
    values = np.random.default_rng(4).normal(size=(70, 40, 33)).astype(np.float32)
    original, rows = values.copy(), []

    def function(part: np.ndarray) -> np.ndarray:
        rows.append(len(part))
        return np.maximum(part, np.linspace(-1.0, 1.0, 33, dtype=np.float32))

    result = blocks.entrywise(function, values, np.float32)
    assert rows == [49, 21] and np.array_equal(result, function(original)) and np.array_equal(values, original)
    assert blocks.entrywise(lambda part: part, values, np.float32) is values, "what changes nothing copies nothing"
    assert blocks.entrywise(lambda part: part, values, np.float64).dtype == np.float64
    assert blocks.entrywise(function, values, np.float32, into=values) is values and np.array_equal(values, result)


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
def test_words_of_all_languages_stay(text: str) -> None:
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


def test_a_table_holds_no_control_character(tmp_path: Path) -> None:
    with open_table(tmp_path / "out.csv", ["file", "label"]) as table:
        table.write([Path("a\x1b[2J.jpg"), "=HYPERLINK(1)\r\nforged,row"])
    text = (tmp_path / "out.csv").read_text("utf-8")
    assert list(csv.reader(io.StringIO(text))) == [
        ["file", "label"],
        ["a\\u001b[2J.jpg", "'=HYPERLINK(1)\\u000d\\u000aforged,row"],
    ]


def test_a_refused_argument_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["classify", "a.jpg", "--context", "\x1b]0;title\x07"])
    assert main(["inspect", "a\x1b[31m\nerror: fine.glslnn"]) == 2
    errors = capsys.readouterr().err
    assert "\\u001b]0;title" in errors or "\\x1b]0;title" in errors  # argparse quotes its input
    assert "a\\u001b[31m\\u000aerror: fine.glslnn" in errors
    assert errors.count("\n") == 2
    assert errors.replace("\n", "").isprintable()


def test_the_streams_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    main(["inspect", "nowhere.glslnn"])
    assert (sys.stdout, sys.stderr) == before


def test_a_traceback_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    with pytest.raises(Exception, match="nowhere") as caught:
        main(["inspect", "nowhere\x1b[2J.glslnn", "--debug"])
    capsys.readouterr()
    sys.excepthook(caught.type, caught.value, caught.tb)
    errors = capsys.readouterr().err
    assert "Traceback" in errors and "nowhere\\u001b[2J" in errors
    assert "\x1b" not in errors
