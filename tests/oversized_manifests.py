"""Manifests of the tiny bundle beyond a cap, and the reader's message for each."""

from __future__ import annotations

from dataclasses import replace

import tiny

from glsl_infer.bundle.manifest import NUMBERS, VALUES, Input, Manifest, Output
from glsl_infer.program import Texture
from glsl_infer.program.layout import FeatureMap, View

GOOD = tiny.tiny_bundle().manifest
PASS = GOOD.passes[0]
HUGE_TEXTURE = Texture("huge", 8192, 8192, "target")
HUGE_QUAD = replace(PASS.quads[0], width=8192, height=8192)
HUGE_MAP = FeatureMap(8192, 8192, 2, 0, (View("huge", 0, 0),), (1.0,), (0.0,))
ONE_QUAD = replace(PASS, quads=PASS.quads[:1])


TOO_MUCH: dict[str, tuple[Manifest, str]] = {
    "layers": (
        replace(GOOD, passes=tuple(replace(ONE_QUAD, layer=f"layer {index}") for index in range(2049))),
        "2049 layers; a model has at most 2048",
    ),
    "textures": (replace(GOOD, textures=(GOOD.textures[0],) * 16385), "16385 textures"),
    "programs": (replace(GOOD, programs=(GOOD.programs[0],) * 16385), "16385 programs"),
    "passes": (replace(GOOD, passes=(ONE_QUAD,) * 65537), "65537 passes; a model has at most 65536"),
    "quads": (replace(GOOD, passes=(replace(PASS, quads=PASS.quads[:1] * 262145),)), "262145 quads"),
    "texture bytes": (
        replace(GOOD, textures=(*GOOD.textures, HUGE_TEXTURE)),
        r"bytes of textures; .* at most 268435456",
    ),
    "texels": (
        replace(GOOD, passes=(replace(PASS, quads=(HUGE_QUAD,) * 5),)),
        "335544320 texels drawn in a frame; a model has at most 268435456",
    ),
    "input": (
        replace(GOOD, inputs=(Input("numbers", NUMBERS, HUGE_MAP),)),
        "134217728 numbers in an input; a model has at most 67108864",
    ),
    "output": (
        replace(GOOD, outputs=(Output("values", VALUES, (HUGE_MAP, HUGE_MAP)),)),
        "268435456 numbers in an output; a model has at most 67108864",
    ),
}
"""The manifest, and a pattern of the message, by the exceeded cap."""
