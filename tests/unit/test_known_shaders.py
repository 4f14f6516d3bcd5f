"""Shaders that have passed the check are not parsed again, and this does not help another bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundle_files import members_of, rehashed, zipped
from tiny import tiny_bundle, write_tiny

from glsl_infer.bundle import Bundle, shader_check
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.runtime import verdicts


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the first shader of every bundle whose shaders are parsed."""
    names: list[str] = []
    parse = shader_check.parse

    def seen(member: str, text: str) -> object:
        names.append(member)
        return parse(member, text)

    monkeypatch.setattr(shader_check, "parse", seen)
    return names


def test_the_second_reading_parses_no_shader(tmp_path: Path, cache: Path, parsed: list[str]) -> None:
    path = write_tiny(tmp_path)
    first = verdicts.read_bundle(path)
    count = len(parsed)
    second = verdicts.read_bundle(path)
    assert count > 0
    assert len(parsed) == count
    assert second.manifest == first.manifest
    assert second.members == first.members


def test_without_a_cache_every_reading_parses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parsed: list[str]
) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", "off")
    path = write_tiny(tmp_path)
    verdicts.read_bundle(path)
    count = len(parsed)
    verdicts.read_bundle(path)
    assert len(parsed) == 2 * count > 0


def test_a_cache_that_others_can_write_is_ignored(tmp_path: Path, cache: Path, parsed: list[str]) -> None:
    path = write_tiny(tmp_path)
    verdicts.read_bundle(path)
    (verdict,) = cache.glob(f"*{verdicts.SHADERS_SUFFIX}")
    verdict.chmod(0o666)  # tests/gl/test_first_use.py has other kinds of damage
    parsed.clear()
    verdicts.read_bundle(path)
    assert parsed


def test_a_changed_shader_is_another_bundle(tmp_path: Path, cache: Path) -> None:
    path = write_tiny(tmp_path)
    verdicts.read_bundle(path)
    members = members_of(path.read_bytes(), tmp_path)
    name = next(name for name in members if name.startswith("shaders/") and name.endswith(".frag"))
    hostile = members[name].replace(b"void main() {", b"void main() {\n    gl_FragColor = vec4(1.0 / 0.0);", 1)
    assert hostile != members[name]
    zipped(path, rehashed(members, {name: hostile}))
    for _ in range(2):
        with pytest.raises(BundleError, match="rule: shaders"):
            verdicts.read_bundle(path)
    zipped(path, {**members, name: hostile})  # with the manifest of the accepted bundle
    with pytest.raises(BundleError, match="rule: container"):
        verdicts.read_bundle(path)


def test_a_bundle_that_was_written_here_is_not_parsed_again(tmp_path: Path, cache: Path, parsed: list[str]) -> None:
    path = tmp_path / "tiny.glslnn"
    verdicts.write_bundle(tiny_bundle(), path)
    count = len(parsed)
    assert verdicts.read_bundle(path).manifest == tiny_bundle().manifest
    assert len(parsed) == count > 0


def test_a_bundle_that_cannot_be_written_leaves_no_verdict(tmp_path: Path, cache: Path) -> None:
    bundle = tiny_bundle()
    damaged = Bundle(bundle.manifest, {**bundle.members, "labels.txt": b"more\nlabels\nthan\nclasses\n"})
    with pytest.raises(ModelError, match="not written"):
        verdicts.write_bundle(damaged, tmp_path / "tiny.glslnn")
    assert not cache.exists()
