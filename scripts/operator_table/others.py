"""Bundles of operators that no Keras row becomes: TensorFlow Lite's and ONNX's alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.resample import rounded
from operator_table.row import SIZE

CHANNELS, PICTURES = 8, 4
CUBIC = (-0.03515625, 0.26171875, 0.87890625, -0.10546875)
"""Weights of a cubic resize to twice the size, of every other row; those of the others are the reverse."""


def subjects() -> list[Node]:
    """Return the layers, which read a map called ``stem``."""
    size = 2 * (SIZE - 3)
    taps = np.array([CUBIC, CUBIC[::-1]] * (size // 2)).T
    attrs, weights = rounded(taps, np.zeros(size))
    return [
        Node("root-of-squares", "l2_pool", ("stem",), {"pool": (2, 2), "strides": (2, 2)}),
        Node("cubic", "resample", ("stem",), {"first": tuple(at // 2 for at in range(size)), **attrs}, weights),
    ]


def export(folder: Path) -> list[Path]:
    """Write a bundle of each layer to a folder; return the files."""
    rng = np.random.default_rng(0)
    shape = (SIZE, SIZE, 3)
    kernel = rng.normal(0.0, 0.4, (3, 3, 3, CHANNELS)).astype(np.float32)
    weights = {"kernel": kernel, "bias": np.zeros(CHANNELS, np.float32)}
    picture = Node("picture", "input", (), {"shape": shape})
    stem = Node("stem", "conv2d", ("picture",), {"padding": (1, 1, 1, 1), "activation": "sigmoid"}, weights)
    pictures = [rng.integers(0, 256, shape, np.uint8) for _ in range(PICTURES)]
    paths = []
    for node in subjects():
        path = folder / f"{node.op}.glslnn"
        made = build(
            Graph(node.op, [picture, stem, node], node.name),
            (),
            options=Options(weights="uniform"),
            calibration=pictures,
        )[0]
        bundles.write(made, path)
        paths.append(path)
    return paths
