"""Hand-built detectors of red squares, and tasks around them, with exactly known answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from glsl_infer.bundle import write
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.picture import LETTERBOX, STRETCH

DETECTOR = {
    "task": "detection",
    "model": "squares.glslnn",
    "boxes": "boxes",
    "scores": "scores",
    "anchors": [{"stride": 4, "sizes": [[0.125, 0.125]]}],
    "points": ["left", "right"],
    "lines": [[0, 1]],
}
LANDMARKS = {
    "task": "landmarks",
    "model": "sides.glslnn",
    "detector": "squares.json",
    "cut": {"from": 0, "to": 1, "scale": 2.0},
    "follow": {"from": 0, "to": 1, "scale": 2.0},
    "points": "sides",
    "presence": "presence",
    "attributes": {"green": "green"},
    "lines": [[0, 1]],
}
MASK = {"task": "segmentation", "model": "mask.glslnn", "mask": "mask"}


def folder_of_tasks(folder: Path) -> Path:
    """Write the bundles and their tasks: squares.json, sides.json and mask.json."""
    for name, graph, size, task in (
        ("squares", _squares(), 32, DETECTOR),
        ("sides", _sides(), 16, LANDMARKS),
        ("mask", _mask(), 32, MASK),
    ):
        samples = [{"image": picture(size, size, *square)} for square in _SQUARES[size]]
        samples.append({"image": np.full((size, size, 3), 255, np.uint8)})
        write(build(graph, (), options=Options(), calibration=samples).bundle, folder / f"{name}.glslnn")
        (folder / f"{name}.json").write_text(json.dumps(task), "utf-8")
    return folder


def picture(width: int, height: int, *squares: tuple[float, float, float]) -> NDArray[np.uint8]:
    """Return a black image with red squares, given as middle x, y and side in pixels."""
    image = Image.new("RGB", (8 * width, 8 * height))
    for x, y, side in squares:
        half = side / 2
        corners = (8 * (x - half), 8 * (y - half), 8 * (x + half) - 1, 8 * (y + half) - 1)
        ImageDraw.Draw(image).rectangle(corners, fill=(255, 0, 0))
    return np.asarray(image.resize((width, height), Image.Resampling.BOX))


_SQUARES = {
    32: [(), ((4, 4, 8), (28, 28, 8)), ((20, 12, 8),), ((16, 16, 20),)],
    16: [(), *[((x, y, 8),) for x in (4, 8, 12) for y in (4, 8, 12)], ((8, 8, 12),)],
}


def _conv(name: str, kernel: NDArray[np.floating], bias: list[float], **attrs: object) -> Node:
    height, width, _, _ = kernel.shape
    values = {
        "strides": (height, width),
        "padding": (0, 0, 0, 0),
        "groups": 1,
        "dilations": (1, 1),
        "activation": "linear",
        **attrs,
    }
    weights = {"kernel": kernel.astype(np.float32), "bias": np.array(bias, np.float32)}
    return Node(name, "conv2d", ("image",), values, weights)


def _image(size: int, fit: str) -> Node:
    return Node("image", "input", (), {"shape": (size, size, 3), "fit": fit})


def _red(size: int, filters: int) -> NDArray[np.floating]:
    """Return a kernel for the mean of red minus the mean of green, for each filter."""
    kernel = np.zeros((size, size, 3, filters))
    kernel[:, :, 0] = 1 / size**2
    kernel[:, :, 1] = -1 / size**2
    return kernel


def _squares() -> Graph:
    """Return a network with 8 x 8 cells: the score of red, a box of its size, and the middles of its sides."""
    boxes = _red(4, 8) * np.array([0, 0, 1, 1, -0.5, 0, 0.5, 0])
    nodes = [_image(32, LETTERBOX), _conv("scores", 16 * _red(4, 1), [-8]), _conv("boxes", boxes, [0.0] * 8)]
    return Graph("squares", nodes, [GraphOutput(name, (name,)) for name in ("scores", "boxes")])


def _sides() -> Graph:
    """Return a network for the middles of the left and right side of a square that covers a quarter of the image."""
    sides = np.zeros((16, 16, 3, 4))
    middles = 4 * (np.arange(16) + 0.5) / 256
    sides[:, :, 0, 0] = sides[:, :, 0, 2] = middles
    sides[:, :, 0, 1] = sides[:, :, 0, 3] = middles[:, None]
    green = np.zeros((16, 16, 3, 1))
    green[:, :, 1] = 1 / 256
    nodes = [
        _image(16, STRETCH),
        _conv("sides", sides, [-4, 0, 4, 0]),
        _conv("presence", 96 * _red(16, 1), [-12]),
        _conv("green", green, [0]),
    ]
    return Graph("sides", nodes, [GraphOutput(name, (name,)) for name in ("sides", "presence", "green")])


def _mask() -> Graph:
    """Return a network for the mask of red pixels."""
    nodes = [_image(32, STRETCH), _conv("mask", 16 * _red(1, 1), [-8], activation="sigmoid")]
    return Graph("mask", nodes, [GraphOutput("mask", ("mask",))])
