"""Programs that the compiler has compiled in an earlier export are not compiled again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tiny

from glsl_infer.bundle import Bundle
from glsl_infer.runtime.program_cache import replace_own
from glsl_infer.tools.videocore import Driver, verify
from glsl_infer.tools.videocore.known_programs import KnownPrograms
from glsl_infer.tools.videocore.transcript import Measured

Checked = tuple[verify.Verification, Measured]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return tiny.tiny_bundle()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, driver: Driver, bundle: Bundle) -> tuple[Path, Checked]:
    """The cache's folder after the first export, and its result."""
    folder = tmp_path_factory.mktemp("first") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLSL_INFER_CACHE", str(folder))
        return folder, verify.measured(bundle, 60.0, prefix=driver.prefix)


@pytest.fixture
def first(filled: tuple[Path, Checked]) -> Checked:
    """The result of the first export."""
    return filled[1]


@pytest.fixture
def cache(filled: tuple[Path, Checked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the cache's folder, which is the cache now."""
    copy = shutil.copytree(filled[0], tmp_path / "cache")
    copy.chmod(0o700)
    monkeypatch.setenv("GLSL_INFER_CACHE", str(copy))
    return copy


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs of all processes that compile from now on."""
    texts: list[str] = []
    started = verify._started

    def noted(job: Path, driver: Driver, *, disassembly: bool) -> object:
        texts.append(job.read_text("utf-8"))
        return started(job, driver, disassembly=disassembly)

    monkeypatch.setattr(verify, "_started", noted)
    return texts


def test_the_second_export_uses_cached_programs(
    bundle: Bundle, driver: Driver, first: Checked, cache: Path, jobs: list[str]
) -> None:
    assert first[0].driver and all(check.verified for check in first[0].layers)
    assert verify.measured(bundle, 60.0, prefix=driver.prefix) == first
    assert jobs == []


def test_without_a_cache_every_export_compiles(
    bundle: Bundle, driver: Driver, first: Checked, cache: Path, jobs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", "off")
    assert verify.measured(bundle, 60.0, prefix=driver.prefix) == first
    assert len(jobs) == 1


def test_only_new_programs_are_compiled(
    bundle: Bundle, driver: Driver, first: Checked, cache: Path, jobs: list[str]
) -> None:
    last = bundle.manifest.programs[-1]
    text = bundle.members[last.fragment].replace(b"void main() {", b"void main() { ", 1)
    assert text != bundle.members[last.fragment]
    changed = Bundle(bundle.manifest, {**bundle.members, last.fragment: text})
    assert verify.measured(changed, 60.0, prefix=driver.prefix) == first
    (job,) = jobs
    assert job.count('"fragment":') == 1


@pytest.mark.parametrize("damage", ["cut", "changed", "others can write", "empty", "another format", "no object"])
def test_a_damaged_file_is_written_again(damage: str, driver: Driver, first: Checked, cache: Path) -> None:
    programs = KnownPrograms(driver)
    (path,) = cache.iterdir()
    assert programs.path == path and programs.name == first[0].driver
    content = path.read_bytes()
    if damage == "others can write":
        path.chmod(0o666)
    elif damage in ("another format", "no object"):
        assert replace_own(path, b'{"name": "a", "programs": {"b": [1, 2]}}' if damage == "another format" else b"7")
    else:
        path.write_bytes({"cut": content[:-9], "changed": content.replace(b"[", b"[1", 1), "empty": b""}[damage])
    damaged = KnownPrograms(driver)
    assert damaged.name == ""
    shader = next(iter(first[1].programs.values()))
    damaged.keep("driver", {"a": shader})
    assert KnownPrograms(driver).get("a") == shader
    assert not path.stat().st_mode & 0o022


def test_another_driver_has_its_own_file(driver: Driver, cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "driver"
    other.mkdir()
    for path in driver.prefix.iterdir():
        (other / path.name).symlink_to(path)
    assert KnownPrograms(driver).path != KnownPrograms(Driver(other, "test")).path


def test_the_file_keeps_the_programs_used_last(
    driver: Driver, first: Checked, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shader = next(iter(first[1].programs.values()))
    monkeypatch.setattr("glsl_infer.tools.videocore.known_programs.MAX_PROGRAMS", 2)
    programs = KnownPrograms(driver)
    programs.keep(programs.name, {"a": shader, "b": shader, "c": shader})
    again = KnownPrograms(driver)
    assert [again.get(key) for key in "abc"] == [None, shader, shader]
    assert again.name == programs.name


def test_a_folder_that_cannot_be_written_costs_only_time(
    bundle: Bundle, driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "file/folder"))
    assert verify.measured(bundle, 60.0, prefix=driver.prefix)[0].driver
