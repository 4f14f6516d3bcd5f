"""A small network whose bytes have other ranges than [0, 1], built by the engine itself.

It covers features that the network of tiny.py lacks: an input over [-1, 1] that a convolution pads, calibrated ranges,
a gutter that is not 0, a depthwise convolution, a residual in another range, a wide convolution in partial sums of 16
bits, both poolings, and logits or an image as its result.

    bundle = ranged_bundle("image", "planar")
    path = write_ranged(tmp_path, "logits", "atlas")
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from graphs import conv_node, dense_node, input_node, pool_node
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.target import Target
from glsl_infer.program import CompiledNetwork

SIZE = 9
LABELS = ("one", "two", "three", "four", "five")
ENDS = ("logits", "image")


def ranged_graph(end: str = "logits") -> Graph:
    """Return the network in optimised form."""
    rng = np.random.default_rng(7)
    around = (1, 1, 1, 1)
    body = [
        input_node(SIZE).with_attrs(scales=(2.0,), zeros=(127.5,)),
        conv_node(rng, "first", ("image",), 3, 40, kernel=(3, 3), padding=around, activation="relu"),
        conv_node(rng, "wide", ("first",), 40, 6, kernel=(3, 3), padding=around, activation="linear"),
        Node("peak", "max_pool", ("wide",), {"pool": (3, 3), "strides": (2, 2), "padding": around}),
        Node("mean", "average_pool", ("peak",), {"pool": (2, 2), "strides": (1, 1), "padding": (0, 1, 0, 1)}),
        conv_node(rng, "more", ("mean",), 6, 12, activation="linear"),
        conv_node(
            rng, "each", ("more", "more"), 12, 12, kernel=(3, 3), groups=12, padding=around, activation="relu(6)"
        ),
    ]
    if end == "image":
        body.append(Node("large", "depth_to_space", ("each",), {"block": 2}))
    else:
        body += [pool_node("pool", "each"), dense_node(rng, "dense", "pool", 12, len(LABELS))]
    return Graph("ranged", tuple(body), body[-1].name)


@cache
def ranged_program(end: str = "logits", layout: str = "atlas", memory: str = "auto") -> CompiledNetwork:
    """Return the network as passes."""
    pictures = [ranged_picture(seed) for seed in range(3)]
    # Short arrays, and partial sums wherever they help: readers should read both layouts with them.
    target = Target(layout=layout, memory=memory, uniform_vectors=120, exactness=0.0)
    return lower.to_program(prepare(ranged_graph(end), Calibration(pictures), target=target).graph, target)


@cache
def ranged_bundle(end: str = "logits", layout: str = "atlas") -> Bundle:
    """Return the network as a bundle in memory, always the same object."""
    return to_bundle(ranged_program(end, layout), LABELS if end == "logits" else ())


def write_ranged(folder: Path, end: str = "logits", layout: str = "atlas") -> Path:
    """Write the bundle into a folder and return its path."""
    path = folder / f"{end}-{layout}.glslnn"
    bundles.write(ranged_bundle(end, layout), path)
    return path


def ranged_picture(seed: int) -> NDArray[np.uint8]:
    """Return a random image of the network's size."""
    return np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)
