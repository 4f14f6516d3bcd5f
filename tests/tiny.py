"""A tiny network and its bundle, built by the engine itself, for tests of the format and of runners.

The network has every kind of layer that a bundle can contain, at sizes that a software driver draws in milliseconds: a
9x9 image -> padded 5x5/2 convolution to 6 channels (so two padding lanes) -> 1x1 convolution to 64 -> a residual unit
with channel shuffle and same padding -> average -> dense layer of 3 classes (an odd number, so half a padding texel).
By default its weights are in uniform arrays.

    bundle = tiny_bundle()          # a Bundle in memory; the same object every time, so do not change it
    path = write_tiny(tmp_path)     # the same as a file
    data = tiny_manifest()          # its manifest.json, parsed: a fresh copy, change it as you like
    with glsl_infer.Session(path) as session:
        logits = session.run(tiny_picture(1))
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import bundle_data
import numpy as np
from graphs import PLS, conv_node, dense_node, input_node, pool_node
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, manifest_json
from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.ranges import prepare
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.target import Target
from glsl_infer.program import CompiledNetwork

SIZE = 9
LABELS = ("first", "second class", "dritte Klasse: größte")


def tiny_graph() -> Graph:
    """Return the network as an importer would: nothing is folded or fused; the weights are seeded."""
    rng = np.random.default_rng(2)
    same = (1, 1, 1, 1)
    nodes = (
        input_node(SIZE),
        conv_node(
            rng, "stem", ("image",), 3, 6, kernel=(5, 5), strides=(2, 2), padding=(2, 2, 2, 2), activation="linear"
        ),
        _norm(rng, "stem-bn", "stem", 6),
        _activation("stem-act", "stem-bn"),
        conv_node(rng, "expand", ("stem-act",), 6, 64),
        Node("unit-shuffle", "channel_shuffle", ("expand",), {"step": 8}),
        conv_node(rng, "unit-pw", ("unit-shuffle",), 64, 64, groups=2),
        conv_node(rng, "unit-dw", ("unit-pw",), 64, 64, kernel=(3, 3), groups=16, padding=same, activation="linear"),
        Node("unit-add", "add", ("unit-dw", "expand"), {"activation": "linear"}),
        _activation("unit-act", "unit-add"),
        pool_node("pool", "unit-act"),
        dense_node(rng, "dense", "pool", 64, len(LABELS)),
        Node("softmax", "softmax", ("dense",)),
    )
    return Graph("tiny", nodes, "softmax")


@cache
def tiny_program(
    weights: str = "uniform", layout: str = "atlas", memory: str = "auto", weight_bits: str = "auto"
) -> CompiledNetwork:
    """Return the network as passes; the arguments are those of ``lowering.to_program``."""
    target = Target(weights, layout=layout, memory=memory, weight_bits=weight_bits)
    return lower.to_program(prepare(optimize.optimize(tiny_graph()), target=target).graph, target)


@cache
def tiny_bundle(
    weights: str = "uniform",
    layout: str = "atlas",
    memory: str = "auto",
    labels: Sequence[str] = LABELS,
    weight_bits: str = "auto",
) -> Bundle:
    """Return the network as a bundle in memory."""
    return to_bundle(tiny_program(weights, layout, memory, weight_bits), labels)


def write_tiny(folder: Path, name: str = "tiny.glslnn", weights: str = "uniform", layout: str = "atlas") -> Path:
    """Write the bundle into a folder and return its path."""
    bundles.write(tiny_bundle(weights, layout), folder / name)
    return folder / name


def tiny_manifest() -> dict[str, Any]:
    """Return the bundle's manifest, passes and graph as mutable data (``bundle_data``)."""
    return bundle_data.combined_data(tiny_members())


@cache
def tiny_members() -> dict[str, bytes]:
    """Return all members of the bundle, including manifest.json."""
    bundle = tiny_bundle()
    return {**bundle.members, "manifest.json": json.dumps(manifest_json.to_json(bundle.manifest)).encode()}


def tiny_picture(seed: int) -> NDArray[np.uint8]:
    """Return a random image of the network's size."""
    return np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)


def _activation(name: str, source: str) -> Node:
    return Node(name, "activation", (source,), {"function": PLS})


def _norm(rng: np.random.Generator, name: str, source: str, channels: int) -> Node:
    weights = {
        "gamma": rng.uniform(0.5, 1.5, channels).astype(np.float32),
        "beta": rng.normal(0, 0.2, channels).astype(np.float32),
        "mean": rng.normal(0, 0.2, channels).astype(np.float32),
        "variance": rng.uniform(0.5, 1.5, channels).astype(np.float32),
    }
    return Node(name, "batch_norm", (source,), {"epsilon": 1e-3}, weights)
