"""The .keras files in models/ are what the bundles beside them were made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from glsl_infer import bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.importers.keras import load

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*-x22-*.keras"))


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_exporting_it_again_gives_the_same_members(model: Path) -> None:
    shipped = bundle.read(model.with_suffix(".glslnn"))
    # Weights in textures have 16 bits: the cards' numbers are measured with these.
    again, _, _ = build(load(model), shipped.labels, options=Options(weight_bits="16"))
    assert set(again.members) == set(shipped.members)
    different = [name for name, member in again.members.items() if member != shipped.members[name]]
    assert not different  # names: a difference of megabytes takes minutes to print
    assert again.manifest == shipped.manifest
