"""Tiny models with an image as output, built by the engine itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from graphs import conv_node, input_node

from glsl_infer import bundle
from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import build
from glsl_infer.graph import Graph, Node

SIZE = 12


def filtered(channels: int = 3, *, low: Sequence[float] = (0.0,), high: Sequence[float] = (1.0,)) -> Bundle:
    """Return a model from 3x3 pixels of an input with some range to an image of the same size, in [0, 1]."""
    rng = np.random.default_rng(channels)
    conv = conv_node(rng, "conv", ("image",), 3, channels, kernel=(3, 3), padding=(1, 1, 1, 1), activation="relu(1)")
    return _built(_picture(low, high), conv)


def doubled() -> Bundle:
    """Return a model from 3x3 pixels to an image of twice the width and height."""
    conv = conv_node(
        np.random.default_rng(5), "conv", ("image",), 3, 12, kernel=(3, 3), padding=(1, 1, 1, 1), activation="sigmoid"
    )
    return _built(_picture((0.0,), (1.0,)), conv, Node("large", "depth_to_space", ("conv",), {"block": 2}))


def halved() -> Bundle:
    """Return a model from 2x2 pixels to an image of half the width and height."""
    conv = conv_node(np.random.default_rng(6), "conv", ("image",), 3, 3, kernel=(2, 2), strides=(2, 2))
    return _built(_picture((0.0,), (1.0,)), conv)


def write_bundle(model: Bundle, folder: Path) -> Path:
    """Write a bundle into a folder and return its path."""
    bundle.write(model, folder / "image.glslnn")
    return folder / "image.glslnn"


def _picture(low: Sequence[float], high: Sequence[float]) -> Node:
    scales = tuple(b - a for a, b in zip(low, high))
    return input_node(SIZE).with_attrs(scales=scales, zeros=tuple(-255.0 * a / scale for a, scale in zip(low, scales)))


def _built(*nodes: Node) -> Bundle:
    bundle, _, _ = build(Graph("image", nodes, nodes[-1].name), ())
    return bundle
