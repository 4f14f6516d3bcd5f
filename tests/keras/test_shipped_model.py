"""The .keras file in models/ is what the bundle beside it was made from."""

from __future__ import annotations

from pathlib import Path

from glsl_infer import bundle, export
from glsl_infer.importers.keras import load

MODEL = Path(__file__).resolve().parents[2] / "models/trashnet-x22-129.keras"


def test_exporting_it_again_gives_the_same_members() -> None:
    shipped = bundle.read(MODEL.with_suffix(".glslnn"))
    again, _, _ = export.build(load(MODEL), shipped.labels)
    assert dict(again.members) == dict(shipped.members)
    assert again.manifest == shipped.manifest
