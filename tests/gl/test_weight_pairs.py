"""Layers that store 16 bits draw both halves of all slices at once, from rows of weights for two channels each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, stored_inputs
from pairwise import pairs_of
from random_networks import fine_rounding

from glsl_infer.compiler.build import Options, build
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.lowering import weight_bytes
from glsl_infer.program.layout import SixteenBitMap
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

FILTERS = 22
"""Number of filters; the last slice has two channels only."""


def network(
    channels: int, *, kernel: int = 1, groups: int = 1, residual: bool = False, activation: str = "relu", size: int = 6
) -> Graph:
    """Return an input, two layers with many channels, and one that reads them."""
    rng = np.random.default_rng(channels)
    if activation == "prelu":
        activation = f"prelu({','.join(f'{slope:.6g}' for slope in rng.uniform(0.25, 1.5, FILTERS))})"
    body = [input_node(size), conv_node(rng, "feed", ("image",), 3, channels)]
    body += [conv_node(rng, "side", ("image",), 3, FILTERS, activation="silu")] * residual
    inputs = ("feed", *["side"] * residual)
    shape: dict[str, Any] = {"kernel": (kernel, kernel), "padding": (kernel // 2,) * 4, "groups": groups}
    body.append(conv_node(rng, "wide", inputs, channels, FILTERS, activation=activation, **shape))
    body.append(conv_node(rng, "after", ("wide",), FILTERS, 4))
    return classifier(rng, body, 4)


CASES: dict[str, dict[str, Any]] = {
    "one texel": {"channels": 40},
    "a window": {"channels": 12, "kernel": 3},
    "many slices": {"channels": 120},
    "an odd lane": {"channels": 7, "kernel": 3},
    "one lane": {"channels": 1},
    "groups": {"channels": 8, "kernel": 3, "groups": 2},
    "a residual with factors": {"channels": 16, "residual": True},
    "a slope for each channel": {"channels": 24, "activation": "prelu", "residual": True},
    "a large map": {"channels": 4, "kernel": 3, "size": 70},
}


@pairs_of(("feed", [8, 16]), ("bits", [8, 16]), ("case", CASES))
def test_both_halves_are_one_draw(
    context: Context, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], bits: int, feed: int
) -> None:
    monkeypatch.setattr(weight_bytes, "MOST_NOISE", np.inf)
    graph, rng = network(**case), np.random.default_rng(5)
    pictures = [rng.integers(0, 256, graph.by_name["image"].attrs["shape"], np.uint8) for _ in range(3)]
    which = {"feed": feed, "wide": 16}
    options = Options(weights="texture", weight_bits="16" if bits == 16 else "auto", precision="8", precision_for=which)
    made, _, _ = build(graph, ["a", "b", "c"], options=options, calibration=pictures)
    assert isinstance(made.values["wide"], SixteenBitMap)
    drawn = [entry for entry in made.manifest.passes if entry.layer == "wide"]
    assert len(drawn) == 1, "its halves are not drawn at once"
    assert sum(quad.width * quad.height for quad in drawn[0].quads) == 2 * -(-FILTERS // 4) * pictures[0][..., 0].size
    program = next(program for program in made.manifest.programs if program.name == drawn[0].program)
    text = made.members[program.fragment]
    assert b"vec2 own(" in text and (b"#define LOW_BYTES" in text) == (bits == 16 or case["channels"] == 1)
    with Session(made, context=context) as session:
        off = layer_error(session, "wide", stored_inputs(made, "wide", np.random.default_rng(1)))
    assert off <= TOLERANCE + fine_rounding(made, made.graph.by_name["wide"])
