"""Convolutions over 1 to 128 slices are within rounding of the NumPy reference, in every weights mode.

By default a sample runs. All widths on a driver: ``GLSL_INFER_WIDTHS=all LIBGL_ALWAYS_SOFTWARE=1
GALLIUM_DRIVER=llvmpipe python -m pytest tests/gl/test_widths.py``, and the same with ``softpipe``.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs

from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

MOST = 128
SAMPLE = {1: [1, 2, 8, 9, 17, 31, 54, 128], 3: [1, 7, 9, 31, 54]}
EVERY = os.environ.get("GLSL_INFER_WIDTHS") == "all"
CASES = [(width, window) for window in SAMPLE for width in (range(1, MOST + 1) if EVERY else SAMPLE[window])]
VECTORS = {1: 600, 3: 900}
"""Uniform vectors of the target, by window. 3x3 over 25 slices and more has constants or partial sums."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("weights", ["baked", "uniform", "texture"])
@pytest.mark.parametrize("slices, window", CASES)
def test_a_width_is_exact(context: Context, slices: int, window: int, weights: str) -> None:
    rng = np.random.default_rng(1000 * window + slices)
    channels = 4 * slices - slices % 4  # the last slice is full, or lacks one, two or three channels
    around = (window // 2,) * 4
    body = [
        input_node(4),
        conv_node(rng, "feed", ("image",), 3, channels),
        conv_node(rng, "wide", ("feed",), channels, 5, kernel=(window, window), padding=around),
    ]
    made = make_bundle(classifier(rng, body, 5), weights, uniform_vectors=VECTORS[window])
    with Session(made, context=context) as session:
        for layer in [node.name for node in made.graph.nodes if node.name.startswith("wide")]:
            assert layer_error(session, layer, stored_inputs(made, layer, rng)) <= TOLERANCE, layer
