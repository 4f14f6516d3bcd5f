"""The bundles in models/ are the exports of the .keras files with the same names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glsl_infer import bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.importers.keras import load

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*-x22-*.keras"))


SHARED_OTHERWISE = {"grocery-x22-385", "trashnet-x22-257"}
"""Models whose layers share other textures when they are exported again: their memory was planned by another method."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_exporting_it_again_gives_the_same_members(model: Path) -> None:
    shipped = bundle.read(model.with_suffix(".glslnn"))
    # Weights in textures have 16 bits: the measurements in the cards use these.
    rebuilt, _, _ = build(load(model), shipped.labels, options=Options(weight_bits="16"))
    assert set(rebuilt.members) == set(shipped.members)
    different = [name for name, member in rebuilt.members.items() if member != shipped.members[name]]
    names = {"passes.bin", *(("graph.json", "weights/probe.bin") if model.stem in SHARED_OTHERWISE else ())}
    assert set(different) <= names  # names only: printing a difference of megabytes takes minutes
    assert len(rebuilt.manifest.passes) == len(shipped.manifest.passes)
    if model.stem in SHARED_OTHERWISE:
        return
    for draw, other in zip(rebuilt.manifest.passes, shipped.manifest.passes):
        assert replace(draw, uniforms={}) == replace(other, uniforms={})
        assert draw.uniforms.keys() == other.uniforms.keys()
        assert all(same(value, other.uniforms[name]) for name, value in draw.uniforms.items())
    exported_manifest, shipped_manifest = (
        replace(
            manifest,
            passes=(),
            members={name: member for name, member in manifest.members.items() if name != "passes.bin"},
        )
        for manifest in (rebuilt.manifest, shipped.manifest)
    )
    assert exported_manifest == shipped_manifest


def same(first: Any, second: Any) -> bool:
    """Return whether uniforms are equal up to the last bit, which depends on the CPU's order of additions."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and bool(np.allclose(first, second, rtol=1e-6, atol=0.0))
    return bool(first == second)
