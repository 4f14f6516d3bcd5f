"""On a disk that fills up after some bytes, the old model stays unchanged and no other file is left."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny

from glsl_infer.cli.table_file import open_table
from glsl_infer.errors import InputError, RunError


@contextmanager
def files_end_after(size: int) -> Iterator[None]:
    """Limit the files of this process to ``size`` bytes: a longer write fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("percent", [0, 1, 50, 90, 99])
def test_the_old_file_is_intact(tmp_path: Path, good: bytes, percent: int) -> None:
    path = tmp_path / "tiny.glslnn"
    path.write_bytes(b"old")
    with files_end_after(len(good) * percent // 100), pytest.raises(InputError) as caught:
        tiny.write_tiny(tmp_path)
    assert str(caught.value) == f"{path}: cannot be written (File too large)"
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("tiny.glslnn", b"old")]
    assert tiny.write_tiny(tmp_path).read_bytes() == good


def test_a_disk_with_just_enough(tmp_path: Path, good: bytes) -> None:
    with files_end_after(len(good)):
        assert tiny.write_tiny(tmp_path).read_bytes() == good


def test_the_rows_that_had_room_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with files_end_after(1000), pytest.raises(RunError, match="File too large"), open_table(path, ["number"]) as table:
        for index in range(1000):
            table.write([index])
    assert path.read_text() == "old"
    lines = (tmp_path / "out.csv.partial").read_text().split()
    assert lines[: table.rows + 1] == ["number", *map(str, range(table.rows))]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.csv", "out.csv.partial"]
