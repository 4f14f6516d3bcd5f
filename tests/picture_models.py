"""Small models with an image input of any size, channels and fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from graphs import conv_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.graph import Graph, GraphOutput, Node


def picture_model(path: Path, size: tuple[int, int], fit: str, channels: int, purpose: str = "values") -> bytes:
    """Write a model from an image of (height, width) pixels to a map of 3 channels; return the file.

    Its output is called "map" and has the purpose ``purpose``.
    """
    rng = np.random.default_rng(5)
    body = [
        Node("image", "input", (), {"shape": (*size, channels), "fit": fit}),
        conv_node(rng, "conv", ("image",), channels, 3),
    ]
    graph = Graph("pictures", body, [GraphOutput("map", ("conv",), purpose=purpose)])
    bundles.write(to_bundle(lower.to_program(prepare(optimize(graph)).graph), []), path)
    return path.read_bytes()
