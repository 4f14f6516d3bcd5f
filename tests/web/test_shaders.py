"""The browser's reader reports the same errors in shaders as the Python reader, in the same words."""

from __future__ import annotations

from pathlib import Path

import tiny
from bundle_files import rehashed, zipped
from chromium import Page
from hostile_shaders import HEAD, REFUSED, TAKEN
from reading import refusals
from web_site import Site

from glsl_infer import bundle as bundles
from glsl_infer.errors import BundleError

SHADER = tiny.tiny_bundle().manifest.programs[0].fragment


def _plain(text: str) -> str:
    """Return a message; if several uniforms are wrong, readers may name different ones, so only the rule counts."""
    return "uniforms" if text.endswith("(rule: uniforms)") else text


def test_the_same_verdicts(blank: Page, site: Site, tmp_path: Path) -> None:
    members, files, expected = tiny.tiny_members(), {}, {}
    for index, text in enumerate([*REFUSED.values(), *TAKEN.values()]):
        path = zipped(tmp_path / f"{index}.glslnn", rehashed(members, {SHADER: (HEAD + text).encode()}))
        files[f"{index}.glslnn"] = path.read_bytes()
        try:
            bundles.read(path)
            expected[path.name] = ""
        except BundleError as error:
            expected[path.name] = _plain(f"broken.glslnn: {str(error).removeprefix(f'{path}: ')}")
    assert {name: _plain(text) for name, text in refusals(blank, site, files).items()} == expected
    assert len(expected) > 50
