"""Small networks with several inputs and outputs, with every kind of input and every host step.

graph = SEVERAL["several"]()
bundle = several_bundle("several", layout="planar")
inputs = several_inputs(bundle.graph, seed=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from graphs import conv_node, dense_node, pool_node
from numpy.typing import NDArray

from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import classes_of, to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import Calibration, Precision, prepare
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.graph.picture import CENTER_CROP, LETTERBOX, is_picture
from glsl_infer.lowering.target import Target

AROUND = (1, 1, 1, 1)
ROWS = (HostStep("rows", 6), HostStep("concatenate"), HostStep("sigmoid"))


def several() -> Graph:
    """Return a network with a grey image of 144x256 over [-1, 1] and a vector.

    Its outputs are classes, a mask, and rows as of a detector.
    """
    rng = np.random.default_rng(20)
    body = [
        Node("image", "input", (), {"shape": (144, 256, 1), "fit": CENTER_CROP, "scales": (2.0,), "zeros": (127.5,)}),
        Node("numbers", "input_fixed", (), {"shape": (7,), "low": -4.0, "high": 4.0}),
        conv_node(rng, "stem", ("image",), 1, 8, kernel=(5, 5), strides=(4, 4), padding=(1, 0, 1, 0)),
        conv_node(rng, "seg", ("stem",), 8, 5),
        conv_node(rng, "down", ("stem",), 8, 12, kernel=(3, 3), strides=(4, 4)),
        conv_node(rng, "near", ("down",), 12, 12, kernel=(3, 3), padding=AROUND),
        conv_node(rng, "far", ("down",), 12, 6, kernel=(3, 3), strides=(2, 2), padding=AROUND),
        pool_node("pool", "down"),
        Node("joined", "concat", ("numbers", "pool")),
        dense_node(rng, "hidden", "joined", 19, 9, activation="relu"),
        dense_node(rng, "shortcut", "numbers", 7, 9),
        Node("summed", "add", ("hidden", "shortcut")),
        _smaller(dense_node(rng, "label", "summed", 9, 3), [0.02] * 9),
        Node("probabilities", "softmax", ("label",)),
    ]
    outputs = [
        GraphOutput("label", ("probabilities",)),
        GraphOutput("mask", ("seg",), (HostStep("argmax"),)),
        GraphOutput("boxes", ("near", "far"), ROWS),
    ]
    return Graph("several", body, outputs)


def alpha() -> Graph:
    """Return a network with a letterboxed, padded image with alpha; an embedding of length 1, and a map of values."""
    rng = np.random.default_rng(21)
    body = [
        Node("picture", "input", (), {"shape": (10, 14, 4), "fit": LETTERBOX}),
        conv_node(rng, "conv", ("picture",), 4, 8, kernel=(3, 3), padding=AROUND),
        conv_node(rng, "map", ("conv",), 8, 5),
        pool_node("pool", "conv"),
        dense_node(rng, "vector", "pool", 8, 6),
    ]
    outputs = [
        GraphOutput("embedding", ("vector",), (HostStep("l2-normalize"),)),
        GraphOutput("map", ("map",), purpose="values"),
    ]
    return Graph("alpha", body, outputs)


def without_image() -> Graph:
    """Return a network with 8-bit and 16-bit maps and a vector as inputs, without an image; tags, and unnamed rows."""
    rng = np.random.default_rng(22)
    sums = {"unit": np.array([0.25, 0.5, 0.125, 1.0], np.float32), "bias": np.array([0.5, 0, -1, 0.25], np.float32)}
    body = [
        Node("heat", "input", (), {"shape": (6, 5, 6), "fit": None, "scales": (3.0,), "zeros": (85.0,)}),
        Node("depth", "input_fixed", (), {"shape": (6, 5, 4), "low": -20.0, "high": 20.0}),
        Node("speed", "input_fixed", (), {"shape": (4,), "low": 0.0, "high": 900.0}),
        conv_node(rng, "conv", ("heat",), 6, 4, kernel=(3, 3), padding=AROUND),
        Node("scaled", "convolution_sum", ("depth",), {"activation": "piecewise_linear_sigmoid"}, sums),
        Node("added", "add", ("conv", "scaled"), {"activation": "piecewise_linear_sigmoid"}),
        pool_node("pool", "added"),
        Node("joined", "concat", ("pool", "speed")),
        _smaller(dense_node(rng, "tags", "joined", 8, 5), [1.0] * 4 + [0.002] * 4),
        Node("likely", "activation", ("tags",), {"function": "sigmoid"}),
    ]
    outputs = [
        GraphOutput("tags", ("likely",), purpose="classes"),
        GraphOutput("grid", ("added",), (HostStep("rows", 2),)),
    ]
    return Graph("numbers", body, outputs)


def fine() -> Graph:
    """Return a network with 16-bit maps in calibrated ranges: padded, added, pooled, enlarged, and as outputs."""
    rng = np.random.default_rng(23)
    linear: dict[str, Any] = {"activation": "linear"}
    body = [
        Node("picture", "input", (), {"shape": (9, 7, 3), "scales": (2.0,), "zeros": (127.5,)}),
        conv_node(rng, "wide", ("picture",), 3, 8, kernel=(3, 3), padding=AROUND, **linear),
        conv_node(rng, "each", ("wide", "wide"), 8, 8, kernel=(3, 3), groups=8, padding=AROUND, activation="relu"),
        conv_node(rng, "boxes", ("each",), 8, 6, **linear),
        Node("means", "average_pool", ("boxes",), {"pool": (2, 2), "strides": (1, 2), "padding": (0, 1, 0, 1)}),
        Node("large", "upsample_bilinear", ("means",), {"size": (2, 1)}),
    ]
    outputs = [
        GraphOutput("boxes", ("boxes",), (HostStep("rows", 3),), purpose="values"),
        GraphOutput("large", ("large",), purpose="values"),
    ]
    return Graph("fine", body, outputs)


def _smaller(node: Node, factors: Sequence[float]) -> Node:
    """Return a dense layer with smaller weights for some inputs, so that not all of its results are 0 or 1."""
    kernel = node.weights["kernel"] * np.array(factors, np.float32)[:, None]
    return replace(node, weights={**node.weights, "kernel": kernel})


SEVERAL: Mapping[str, Callable[[], Graph]] = {
    "several": several,
    "alpha": alpha,
    "numbers": without_image,
    "fine": fine,
}
PRECISION = {"fine": "16"}
"""Precision of the networks for which it is not 8."""


@cache
def several_bundle(name: str, layout: str = "atlas", memory: str = "auto", weights: str = "auto") -> Bundle:
    """Return the bundle of one of the networks."""
    graph = optimize(SEVERAL[name]())
    pictures = [several_inputs(graph, seed) for seed in range(3)]
    target = Target(weights, layout=layout, memory=memory)
    calibration = Calibration(pictures if name in PRECISION else ())
    prepared = prepare(graph, calibration, target=target, precision=Precision(PRECISION.get(name, "8")))
    program = lower.to_program(prepared.graph, target)
    return to_bundle(program, [f"class {index}" for index in range(classes_of(program.graph))])


def several_inputs(graph: Graph, seed: int) -> dict[str, NDArray[Any]]:
    """Return inputs for a network: smooth images with varying bytes, and values within their ranges."""
    rng = np.random.default_rng(seed)
    arguments: dict[str, NDArray[Any]] = {}
    for node in graph.inputs:
        shape = tuple(node.attrs["shape"])
        if is_picture(node):
            y, x, c = np.meshgrid(*map(np.arange, shape), indexing="ij")
            wave = np.sin(0.11 * (seed + 1) * x + c) + np.cos(0.07 * (seed + 2) * y - c)
            arguments[node.name] = np.clip(127.5 + 62.0 * wave, 0, 255).astype(np.uint8)
        elif "low" in node.attrs:
            arguments[node.name] = rng.uniform(node.attrs["low"], node.attrs["high"], shape).astype(np.float32)
        else:
            arguments[node.name] = rng.uniform(-1.0, 2.0, shape).astype(np.float32)
    return arguments
