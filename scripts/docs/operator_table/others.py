"""Bundles of operators that no row of the table has: of TensorFlow Lite or ONNX files, or made by the compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.ops.resample import rounded
from operator_table.row import SIZE

CHANNELS, PICTURES = 8, 4
WIDE = 40
"""Number of channels that need more textures than a pass reads in planar layout."""

CUBIC = (-0.03515625, 0.26171875, 0.87890625, -0.10546875)
"""Weights of a cubic resize to twice the size, for every other row; those of the rows between are reversed."""


def subjects() -> list[Node]:
    """Return the layers, which all read a map called ``stem``."""
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
    pictures = [rng.integers(0, 256, shape, np.uint8) for _ in range(PICTURES)]
    wide = [_convolution(rng, "stem", "picture", 3, WIDE), _convolution(rng, "wide", "stem", WIDE, CHANNELS)]
    stem = _convolution(rng, "stem", "picture", 3, CHANNELS)
    networks = [(node.op, [stem, node], "atlas") for node in subjects()]
    gated = [
        Node("mean", "global_average_pool", ("stem",)),
        Node("gate", "reshape", ("mean",), {"shape": (1, 1, CHANNELS)}),
        Node("product", "binary", ("stem", "gate"), {"operation": "multiply"}),
        Node("sum", "add", ("product", "stem")),
    ]
    constants = constant_map("constants", rng.uniform(0.0, 1.0, (SIZE, SIZE, CHANNELS)))
    squeeze = [
        gated[0],
        Node("sigmoid", "activation", ("mean",), {"function": "sigmoid"}),
        Node("gate", "reshape", ("sigmoid",), {"shape": (1, 1, CHANNELS)}),
        gated[2],
        _convolution(rng, "end", "product", CHANNELS, CHANNELS, size=1),
    ]
    kernel = rng.normal(0.0, 0.4, (CHANNELS, CHANNELS)).astype(np.float32)
    dense = {"kernel": kernel, "bias": np.zeros(CHANNELS, np.float32)}
    reads = {"hidden": "mean", "gates": "hidden"}
    excite = [Node(name, "dense", (read,), {"activation": "sigmoid"}, dense) for name, read in reads.items()]
    gate = Node("gate", "reshape", ("gates",), {"shape": (1, 1, CHANNELS)})
    networks.append(("squeeze", [stem, gated[0], *excite, gate, *gated[2:]], "atlas"))
    networks.append(("gated-sum", [stem, *gated], "atlas"))
    networks.append(("constants", [stem, constants, Node("sum", "add", ("stem", "constants"))], "atlas"))
    networks.append(("gated-convolution", [stem, *squeeze], "atlas"))
    paths = []
    for name, body, layout in (*networks, ("partial-sums", wide, "planar")):
        path = folder / f"{name}.glslnn"
        graph = Graph(name, [Node("picture", "input", (), {"shape": shape}), *body], body[-1].name)
        options = Options(weights="uniform", layout=layout)
        bundles.write(build(graph, (), options=options, calibration=pictures)[0], path)
        paths.append(path)
    return paths


def _convolution(rng: np.random.Generator, name: str, source: str, channels: int, filters: int, size: int = 3) -> Node:
    kernel = rng.normal(0.0, 0.4, (size, size, channels, filters)).astype(np.float32)
    weights = {"kernel": kernel, "bias": np.zeros(filters, np.float32)}
    return Node(name, "conv2d", (source,), {"padding": (size // 2,) * 4, "activation": "sigmoid"}, weights)
