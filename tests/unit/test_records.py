"""Frozen records: the parts of dataclasses that glsl_infer uses, without their cost at import."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest
from command_line import run_python

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


def test_a_copy_has_other_values() -> None:
    assert replace(Subrecord("a", 1), number=2, last=False) == Subrecord("a", 2, (), False)
    with pytest.raises(TypeError, match="no field 'colour'"):
        replace(Record("a"), colour=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="negative"):
        replace(Subrecord("a", 1), number=-1)


SLOW_TO_IMPORT = {"numpy.typing", "PIL", "OpenGL", "logging", "subprocess", "dataclasses", "zipfile"}
"""Modules that a Pi Zero imports with 10 to 70 million instructions, and without which a session can draw."""


def test_drawing_imports_no_slow_modules() -> None:
    text = "import sys, glsl_infer.runtime.session; from glsl_infer.gl import egl; egl.current(); print(*sys.modules)"
    done = run_python("-c", text, check=True)
    modules = set(done.stdout.split())
    assert "glsl_infer.runtime.session" in modules
    assert not modules & SLOW_TO_IMPORT
