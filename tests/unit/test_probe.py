"""The probe of a driver, stored verdicts, and files of compiled programs."""

from __future__ import annotations

import copy
import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_bundle

from glsl_infer.bundle import probe
from glsl_infer.bundle.manifest import DelayedProbe, Probe
from glsl_infer.gl.program_binaries import Binary
from glsl_infer.graph import reference
from glsl_infer.program import quantize
from glsl_infer.program.layout import FixedPoint
from glsl_infer.runtime import program_cache
from glsl_infer.runtime.program_cache import ProgramCache, default_folder, key_of
from glsl_infer.runtime.verdicts import Verdict
from glsl_infer.support.records import replace


def test_the_picture_is_the_documented_formula() -> None:
    picture = probe.picture(50)
    assert picture.shape == (50, 50, 3)
    assert picture.dtype == np.uint8
    for x, y, c in ((0, 0, 0), (0, 0, 2), (7, 3, 1), (49, 49, 2)):
        assert picture[y, x, c] == ((3 * x * x + 5 * y * y + 7 * x * y) // 8 + 89 * c) % 256
    assert len(np.unique(picture)) > 200


def test_records_are_the_references_bytes() -> None:
    bundle = tiny_bundle()
    records = np.frombuffer(bundle.members[bundle.manifest.probe.member], probe.RECORD)
    outputs = dict(reference.layers(bundle, probe.picture(bundle.manifest.input.size)))
    for layer in bundle.manifest.probe.layers:
        value = bundle.values[layer.layer]
        layer_records = records[layer.offset : layer.offset + layer.count]
        if isinstance(value, FixedPoint):
            continue
        stored = quantize.encode_8_bits(outputs[layer.layer])
        slices = set()
        for record in layer_records:
            x, y = int(record["x"]), int(record["y"])
            (index,) = [
                i
                for i, view in enumerate(value.views)
                if view.x <= x < view.x + value.width and view.y <= y < view.y + value.height
            ]
            slices.add(index)
            view = value.views[index]
            texel = stored[y - view.y, x - view.x, 4 * index : 4 * index + 4]
            assert record["value"][: len(texel)].tolist() == texel.tolist()
        assert slices == set(range(len(value.views))), "every slice is looked at"
    (expected,) = bundle.manifest.probe.outputs
    np.testing.assert_allclose(expected.numbers, outputs["dense"])


def test_every_layer_that_draws_is_in_the_probe() -> None:
    bundle = tiny_bundle()
    assert [layer.layer for layer in bundle.manifest.probe.layers] == list(
        dict.fromkeys(draw.layer for draw in bundle.manifest.passes)
    )
    for layer in bundle.manifest.probe.layers:
        assert layer.max_error >= 1
        assert layer.mean_error > 0


KEY, OTHER = "a" * 64, "b" * 64


def test_a_delayed_probe_is_read_at_its_first_use() -> None:
    plain = tiny_bundle().manifest.probe
    reads: list[None] = []

    def delayed() -> DelayedProbe:
        return DelayedProbe(lambda: reads.append(None) or plain)

    uses = (
        lambda one: one.member == plain.member,
        lambda one: one == plain,
        lambda one: plain == one,
        lambda one: one == delayed(),
        lambda one: repr(one) == repr(plain),
        lambda one: hash(one) == hash(plain),
    )
    for use in uses:
        one = delayed()
        reads.clear()
        assert use(one)
        assert reads
        assert type(one) is Probe
        reads.clear()
        assert use(one)
        assert vars(one) == vars(plain)
    one = delayed()
    assert not hasattr(one, "numbers") and not reads
    assert copy.copy(one) == plain
    assert replace(delayed(), formula="another") == replace(plain, formula="another")


def _verdict(folder: Path, key: str = KEY) -> Verdict:
    verdict = Verdict(folder, key, ".passed", "test 1")
    verdict.keep()
    return verdict


def test_a_verdict_that_was_kept_counts(tmp_path: Path) -> None:
    assert _verdict(tmp_path / "new").passed()


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_has_no_verdicts(tmp_path: Path, mode: int) -> None:
    verdict = _verdict(tmp_path)
    tmp_path.chmod(mode)
    assert not verdict.passed()


def test_a_verdict_is_of_one_key(tmp_path: Path) -> None:
    _verdict(tmp_path)
    (tmp_path / f"{KEY}.passed").rename(tmp_path / f"{OTHER}.passed")
    assert not Verdict(tmp_path, OTHER, ".passed", "test 1").passed()


PROGRAMS = {"first": Binary(0x875F, b"\x00\n{binary}\xff" * 9), "second": Binary(7, b"x"), "größte": Binary(7, b"")}


@pytest.fixture
def cache(tmp_path: Path) -> ProgramCache:
    cache = ProgramCache(tmp_path / "not/yet", KEY)
    assert cache.write(PROGRAMS)
    return cache


def test_written_programs_are_read_back(cache: ProgramCache) -> None:
    assert cache.read() == PROGRAMS


def test_a_missing_file_has_no_programs(tmp_path: Path) -> None:
    assert ProgramCache(tmp_path, KEY).read() == {}


def test_only_the_user_may_read_and_write(cache: ProgramCache) -> None:
    assert cache.path.stat().st_mode & 0o777 == 0o600
    assert cache.path.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in cache.path.parent.iterdir()] == [cache.path.name], "and no temporary file stays"


def test_every_damaged_byte_is_noticed(cache: ProgramCache) -> None:
    data = cache.path.read_bytes()
    for index in range(len(data)):
        cache.path.write_bytes(data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :])
        assert cache.read() == {}, f"byte {index}"


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 100, -1])
def test_a_file_that_was_cut_is_noticed(cache: ProgramCache, length: int) -> None:
    cache.path.write_bytes(cache.path.read_bytes()[:length])
    assert cache.read() == {}


@pytest.mark.parametrize(
    "body",
    [
        b"no JSON\n",
        b"\n",
        b"[]\n",
        b'{"format": "glsl-infer programs 0", "key": "%b", "programs": []}\n' % KEY.encode(),
        b'{"format": "glsl-infer programs 1", "key": "%b", "programs": [["a", 1, 9]]}\nshort' % KEY.encode(),
        b'{"format": "glsl-infer programs 1", "key": "%b", "programs": [["a", 1, 2]]}\nlonger' % KEY.encode(),
        b'{"format": "glsl-infer programs 1", "key": "%b", "programs": [["a", 1]]}\n' % KEY.encode(),
        b'{"format": "glsl-infer programs 1", "key": "%b", "programs": [["a", "x", 0]]}\n' % KEY.encode(),
        b'{"format": "glsl-infer programs 1", "key": "%b", "programs": 3}\n' % KEY.encode(),
        b"[" * 100_000 + b"\n",
    ],
)
def test_invalid_contents_with_a_right_hash_are_ignored(cache: ProgramCache, body: bytes) -> None:
    cache.path.write_bytes(hashlib.sha256(body).digest() + body)
    assert cache.read() == {}


def test_a_file_of_another_key_is_stale(cache: ProgramCache) -> None:
    other = ProgramCache(cache.path.parent, OTHER)
    cache.path.rename(other.path)
    assert other.read() == {}


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_ignored(cache: ProgramCache, mode: int) -> None:
    cache.path.chmod(mode)
    assert cache.read() == {}
    cache.path.chmod(0o644)
    assert cache.read() == PROGRAMS


def test_a_file_of_another_user_is_ignored(cache: ProgramCache, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert cache.read() == {}


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    cache = ProgramCache(tmp_path, KEY)
    cache.path.mkdir()
    assert cache.read() == {}
    assert not cache.write(PROGRAMS)
    assert list(tmp_path.iterdir()) == [cache.path]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not ProgramCache(tmp_path / "file/folder", KEY).write(PROGRAMS)


def test_too_much_is_neither_written_nor_read(cache: ProgramCache, monkeypatch: pytest.MonkeyPatch) -> None:
    size = cache.path.stat().st_size
    monkeypatch.setattr(program_cache, "MAX_BYTES", size)
    assert cache.write(PROGRAMS)
    assert cache.read() == PROGRAMS
    monkeypatch.setattr(program_cache, "MAX_BYTES", size - 1)
    assert not cache.write(PROGRAMS)
    assert cache.read() == {}


def test_the_files_that_were_used_last_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_cache, "MAX_FILES", 3)
    caches = [ProgramCache(tmp_path, f"{index:064}") for index in range(5)]
    for index, cache in enumerate(caches[:4]):
        cache.write({})
        os.utime(cache.path, (index, index))
    (tmp_path / "foreign").write_text("stays")
    assert caches[1].read() == {}  # the read makes it the newest
    caches[4].write({})
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["foreign", *(caches[index].path.name for index in (1, 3, 4))]
    )


def test_the_key_depends_on_every_input_of_the_compiler() -> None:
    driver, attributes, sources = ["V", "R"], ["position"], {"a": (b"v", b"f"), "b": (b"v", b"g")}
    key = key_of(driver, attributes, sources)
    changed_inputs = [
        key_of(["V", "R2"], attributes, sources),
        key_of(["VR"], attributes, sources),
        key_of(driver, ["position", "corner0"], sources),
        key_of(driver, attributes, {"a": (b"v", b"f")}),
        key_of(driver, attributes, {**sources, "b": (b"v2", b"g")}),
        key_of(driver, attributes, {**sources, "b": (b"v", b"g2")}),
        key_of(driver, attributes, {"a": sources["b"], "b": sources["a"]}),
    ]
    assert len({key, *changed_inputs}) == 1 + len(changed_inputs)
    assert key == key_of(driver, attributes, dict(reversed(sources.items())))


def test_environment_variables_set_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", "off")
    assert default_folder() is None
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("GLSL_INFER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "glsl-infer/programs"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache/glsl-infer/programs"


def test_a_link_in_the_caches_place_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder that is a link, as another user could leave in /tmp, is not followed."""
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    monkeypatch.setenv(program_cache.VARIABLE, str(tmp_path / "link"))
    assert default_folder() is None
    monkeypatch.setenv(program_cache.VARIABLE, str(tmp_path / "link/programs"))
    assert default_folder() == tmp_path / "link/programs", "one's own link on the way, as homes have it"
    real = Path.lstat
    owned_by_another = os.stat_result([*real(tmp_path / "link")[:4], 54_321, *real(tmp_path / "link")[5:10]])
    monkeypatch.setattr(Path, "lstat", lambda path: owned_by_another if path.name == "link" else real(path))
    assert default_folder() is None, "another user's"


def test_a_relative_folder_of_caches_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A relative XDG_CACHE_HOME is ignored, as the specification demands: every working folder would get a cache."""
    monkeypatch.delenv(program_cache.VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == tmp_path / ".cache/glsl-infer/programs"
