"""Small random graphs for tests, with one operator each, and its inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, Node

PLS = "piecewise_linear_sigmoid"


def input_node(size: int, channels: int = 3) -> Node:
    """Return an image input."""
    return Node("image", "input", (), {"shape": (size, size, channels)})


def conv_node(
    rng: np.random.Generator,
    name: str,
    inputs: tuple[str, ...],
    channels: int,
    filters: int,
    *,
    kernel: tuple[int, int] = (1, 1),
    groups: int = 1,
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilations: tuple[int, int] = (1, 1),
    activation: str = PLS,
) -> Node:
    """Return a convolution whose outputs cover the steep part of the activation."""
    fan_in = kernel[0] * kernel[1] * channels // groups
    shape = (*kernel, channels // groups, filters)
    weights = {
        "kernel": rng.normal(0, 4.0 / np.sqrt(fan_in), shape).astype(np.float32),
        "bias": rng.normal(0, 1.0, filters).astype(np.float32),
    }
    attrs = {"strides": strides, "padding": padding, "groups": groups, "dilations": dilations, "activation": activation}
    return Node(name, "conv2d", inputs, attrs, weights)


def dense_node(rng: np.random.Generator, name: str, source: str, inputs: int, outputs: int, **attrs: object) -> Node:
    """Return a dense layer."""
    weights = {
        "kernel": rng.normal(0, 2.0, (inputs, outputs)).astype(np.float32),
        "bias": rng.normal(0, 1.0, outputs).astype(np.float32),
    }
    return Node(name, "dense", (source,), {"activation": "linear", **attrs}, weights)


def pool_node(name: str, source: str) -> Node:
    """Return a global average pool."""
    return Node(name, "global_average_pool", (source,), {"scale": None})


@dataclass(frozen=True)
class Case:
    """A graph around one layer under test, and inputs of that layer as stored in textures."""

    graph: Graph
    layer: str
    inputs: list[NDArray[np.float64]]


def classifier(rng: np.random.Generator, body: list[Node], channels: int, classes: int = 3) -> Graph:
    """Return a graph of an input, ``body`` (whose last node has ``channels``), pool and dense."""
    tail = [pool_node("pool", body[-1].name), dense_node(rng, "dense", "pool", channels, classes)]
    return Graph("test", (*body, *tail), "dense")


def stored_map(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a random feature map as stored in 8 bits."""
    return rng.integers(0, 256, shape) / 255.0
