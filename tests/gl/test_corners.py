"""Operators that read the edges of a tile draw all slices of a layer at once, as exactly as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import each_of

from glsl_infer.gl.context import Context
from glsl_infer.graph import Node
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"enlarged by {y} and {x}": ("upsample_bilinear", {"size": (y, x)}) for y, x in ((2, 2), (3, 5), (1, 4), (7, 6))
    },
    "resized": ("resize", {"size": (13, 5)}),
    "largest of padded windows": ("max_pool", {"pool": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)}),
    "means of padded windows": ("average_pool", {"pool": (3, 2), "strides": (1, 2), "padding": (1, 2, 0, 1)}),
    "largest of many": ("max_pool", {"pool": (9, 9), "strides": (1, 1), "padding": (4, 4, 4, 4)}),
    "means of many": ("average_pool", {"pool": (8, 8), "strides": (1, 1), "padding": (4, 3, 3, 4)}),
    "means of a row's": ("average_pool", {"pool": (1, 8), "strides": (1, 2), "padding": (0, 0, 3, 4)}),
    **{mode: ("mirror_padding", {"padding": (1, 2, 3, 0), "mode": mode}) for mode in ("reflect", "symmetric", "edge")},
}


@each_of(("channels", [20, 22]), ("case", CASES))
def test_one_draw(context: Context, case: tuple[str, dict[str, Any]], channels: int) -> None:
    rng = np.random.default_rng(channels)
    operator, attrs = case
    body = [input_node(9), conv_node(rng, "a", ("image",), 3, channels), Node("n", operator, ("a",), attrs)]
    made = make_bundle(classifier(rng, body, channels), pictures=[rng.integers(0, 256, (9, 9, 3), np.uint8)])
    drawn = [len(entry.quads) for entry in made.manifest.passes if entry.layer == "n"]
    assert drawn == [-(-channels // 4)]
    with Session(made, context=context) as session:
        assert layer_error(session, "n", stored_inputs(made, "n", rng)) <= TOLERANCE
