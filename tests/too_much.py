"""Manifests of the tiny bundle that ask for more than a cap allows, and what a reader says of each."""

from __future__ import annotations

from dataclasses import replace

import tiny

from glsl_infer.bundle.manifest import Manifest
from glsl_infer.program import Texture

GOOD = tiny.tiny_bundle().manifest
PASS = GOOD.passes[0]
HUGE = Texture("huge", 8192, 8192, "target")
WHOLE = replace(PASS.quads[0], width=8192, height=8192)
SMALL = replace(PASS, quads=PASS.quads[:1])


TOO_MUCH: dict[str, tuple[Manifest, str]] = {
    "layers": (
        replace(GOOD, passes=tuple(replace(SMALL, layer=f"layer {index}") for index in range(2049))),
        "2049 layers; a model has at most 2048",
    ),
    "textures": (replace(GOOD, textures=(GOOD.textures[0],) * 16385), "16385 textures"),
    "programs": (replace(GOOD, programs=(GOOD.programs[0],) * 16385), "16385 programs"),
    "passes": (replace(GOOD, passes=(SMALL,) * 65537), "65537 passes; a model has at most 65536"),
    "quads": (replace(GOOD, passes=(replace(PASS, quads=PASS.quads[:1] * 262145),)), "262145 quads"),
    "texture bytes": (replace(GOOD, textures=(*GOOD.textures, HUGE)), r"bytes of textures; .* at most 268435456"),
    "texels": (
        replace(GOOD, passes=(replace(PASS, quads=(WHOLE,) * 5),)),
        "335544320 texels drawn in a frame; a model has at most 268435456",
    ),
}
"""The manifest, and a pattern of the message."""
