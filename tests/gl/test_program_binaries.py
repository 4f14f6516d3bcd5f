"""Compiled programs cached between starts, on drivers that provide binaries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_bundle, tiny_picture

from glsl_infer.bundle import Bundle
from glsl_infer.errors import ShaderError
from glsl_infer.gl.context import Context
from glsl_infer.gl.program_binaries import Binary, ProgramBinaries
from glsl_infer.runtime.program_cache import ProgramCache
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

COUNT = len(tiny_bundle().manifest.programs)


def start(context: Context, cache: Path | bool, bundle: Bundle | None = None) -> int:
    """Start a session and compare it with one without a cache; return the number of restored programs."""
    bundle = bundle or tiny_bundle()
    with Session(bundle, context=context, cache=False) as plain:
        assert plain.restored_programs == 0
        expected = plain.run(tiny_picture(3))
    with Session(bundle, context=context, cache=cache, selfcheck=True) as session:
        np.testing.assert_array_equal(session.run(tiny_picture(3)), expected)
        return session.restored_programs


@pytest.fixture
def binaries(context: Context) -> ProgramBinaries:
    """The driver's binaries; the test is skipped if it provides none."""
    found = ProgramBinaries(context)
    with Session(tiny_bundle(), context=context, cache=False) as session:
        if found.get(session.gpu_executors[0]._objects.programs[0]) is None:
            pytest.skip("this driver gives no program binaries")
    return found


@pytest.fixture
def kept(context: Context, binaries: ProgramBinaries, tmp_path: Path) -> ProgramCache:
    """The cache of the tiny network, filled by one start."""
    assert start(context, tmp_path) == 0
    (file,) = tmp_path.iterdir()
    return ProgramCache(tmp_path, file.stem)


def test_the_second_start_compiles_nothing(context: Context, kept: ProgramCache) -> None:
    with context.gl.counting() as counts:
        assert start(context, kept.path.parent) == COUNT
    assert counts["glLinkProgram"] == COUNT, "those of the session without a cache"
    assert len(list(kept.path.parent.iterdir())) == 1


def test_the_context_of_a_later_process_takes_them(kept: ProgramCache) -> None:
    with Context() as another:
        assert start(another, kept.path.parent) == COUNT


def test_another_bundle_has_its_own_file(context: Context, kept: ProgramCache) -> None:
    assert start(context, kept.path.parent, tiny_bundle("texture")) == 0
    assert start(context, kept.path.parent) == COUNT
    assert len(list(kept.path.parent.iterdir())) == 2


def test_a_changed_shader_is_compiled(context: Context, kept: ProgramCache) -> None:
    bundle = tiny_bundle()
    name = bundle.manifest.programs[0].fragment
    changed = replace(bundle, members={**bundle.members, name: bundle.members[name] + b"// another build\n"})
    assert start(context, kept.path.parent, changed) == 0


@pytest.mark.parametrize("damage", ["cut", "byte", "empty"])
def test_a_damaged_file_is_written_anew(context: Context, kept: ProgramCache, damage: str) -> None:
    data = kept.path.read_bytes()
    wrong = {"cut": data[:-1], "byte": data[:-99] + bytes([data[-99] ^ 1]) + data[-98:], "empty": b""}
    kept.path.write_bytes(wrong[damage])
    assert start(context, kept.path.parent) == 0
    assert start(context, kept.path.parent) == COUNT


@pytest.mark.parametrize("stale", ["format", "data", "missing"])
def test_programs_that_the_driver_refuses_are_compiled(context: Context, kept: ProgramCache, stale: str) -> None:
    programs = kept.read()
    last = list(programs)[-1]
    one = programs.pop(last)
    if stale != "missing":
        programs[last] = Binary(1, one.data) if stale == "format" else Binary(one.format, b"of another build" * 9)
    assert kept.write(programs)
    assert start(context, kept.path.parent) == COUNT - 1
    assert start(context, kept.path.parent) == COUNT


def test_a_refused_binary_leaves_nothing_behind(context: Context, binaries: ProgramBinaries) -> None:
    with Session(tiny_bundle(), context=context, cache=False) as session:
        objects = session.gpu_executors[0]._objects
        before = list(objects.programs)
        assert objects.restored_program(binaries, Binary(binaries.formats[0], b"nonsense")) is None
        assert objects.restored_program(binaries, Binary(max(binaries.formats) + 1, b"nonsense")) is None
        assert objects.programs == before
        assert not context.gl.IsProgram(max(before) + 1)


def test_a_shader_that_is_refused_is_named_and_not_kept(context: Context, tmp_path: Path) -> None:
    bundle = tiny_bundle()
    name = bundle.manifest.programs[-1].fragment
    broken = Bundle(bundle.manifest, {**bundle.members, name: b"void main() { nonsense; }\n"})
    with pytest.raises(ShaderError, match="layer 'dense'"):
        Session(broken, context=context, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_changes_nothing(context: Context, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    assert start(context, tmp_path / "file") == 0
    assert (tmp_path / "file").read_text() == "kept"


def test_without_formats_nothing_is_written(context: Context, tmp_path: Path) -> None:
    assert start(context, tmp_path) == 0
    assert bool(list(tmp_path.iterdir())) <= bool(ProgramBinaries(context).formats)


def test_the_usual_folder_is_the_one_of_the_environment(
    context: Context, kept: ProgramCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", str(kept.path.parent))
    assert start(context, True) == COUNT
    monkeypatch.setenv("GLSL_INFER_CACHE", "off")
    assert start(context, True) == 0
