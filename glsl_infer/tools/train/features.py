"""What a trained network knows of pictures: the vector before its last dense layer, computed by the engine itself.

A bundle has its network with it (graph.json), so that any bundle which ends in a dense layer can be where one starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import build
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.purposes import VALUES
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.runtime.session import Session
from glsl_infer.support.closing import Closing
from glsl_infer.tools.train import photographs

_PREPARED = ("scale", "scales", "zeros", "bits", "fused")
"""Attributes that the compiler chose for the bundle; it chooses them anew."""

_ROOM = 2
"""Sides of the picture that a network reads which the shorter side of a photograph has at least."""

VARIED = 480
"""Pictures that features are computed of, about: few photographs are varied more often than many."""


class Progress(Protocol):
    """Counts photographs."""

    def begin(self) -> None:
        """Start to measure the first one."""

    def __call__(self) -> None:
        """Count one."""


@dataclass(frozen=True)
class Start:
    """Where a training begins.

    Attributes:
        name: of the bundle.
        nodes: of its network up to the features.
        features: the last node's name.
    """

    name: str
    nodes: tuple[Node, ...]
    features: str

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the picture that it reads."""
        height, width, _ = self._input["shape"]
        return height, width

    def pixels(self, image: ImageSource) -> NDArray[np.uint8]:
        """Return a picture as the network reads it.

        Raises:
            ImageError: it cannot be read.
        """
        return preprocess.load(image, self.size, fit=self._input["fit"])

    @property
    def length(self) -> int:
        """How many numbers the features of a picture are."""
        graph = Graph(self.name, self.nodes, (GraphOutput("features", (self.features,), (), VALUES),))
        return int(graph.shapes[self.features][0])

    @property
    def _input(self) -> Mapping[str, Any]:
        return next(node for node in self.nodes if not node.inputs).attrs


def read_start(path: Path) -> Start:
    """Return the network of a bundle without its last dense layer.

    Raises:
        BundleError: it cannot be read.
        InputError: it reads no picture of three colours, or does not end in one dense layer over a vector.
    """
    bundle = bundles.read(path)
    bundle.require_whole("train")
    graph = bundle.graph
    inputs = [node for node in graph.nodes if not node.inputs]
    ends = [node for node in graph.nodes if node.op in ("dense_products", "dense_at_once")]
    if (
        len(inputs) != 1
        or inputs[0].op != "input"
        or inputs[0].attrs["shape"][2] != 3
        or bundle.manifest.classes is None
    ):
        raise InputError(f"{path}: is not a classifier of one colour image; start from one that is")
    wanted = {ends[-1].inputs[0]} if ends else set()
    if not wanted:
        raise InputError(f"{path}: does not end in a dense layer; start from a classifier that does")
    features = next(iter(wanted))
    nodes = []
    for node in reversed(graph.nodes):
        if node.name in wanted:
            wanted |= set(node.inputs)
            nodes.append(_as_imported(node))
    if any(node.op in ("dense_products", "dense_sum", "dense_at_once") for node in nodes):
        raise InputError(f"{path}: has several dense layers; start from a classifier with one")
    return Start(path.stem, tuple(reversed(nodes)), features)


def _as_imported(node: Node) -> Node:
    if not node.inputs:
        return node
    return replace(node, attrs={key: value for key, value in node.attrs.items() if key not in _PREPARED})


def variations_of(count: int) -> int:
    """Return how many variations of each of ``count`` photographs are looked at."""
    return int(np.clip(round(VARIED / max(count, 1)), 2, 8))


class Extractor(Closing):
    """Computes features on this machine's GPU. Use it as a context manager, or ``close`` it.

    Args:
        start: the network.
        typical: photographs, for the ranges of layers that have none by nature.
        context: as for ``Session``.
    """

    def __init__(self, start: Start, typical: Sequence[Path], context: str = "auto") -> None:
        graph = Graph(start.name, start.nodes, (GraphOutput("features", (start.features,), (), VALUES),))
        self._start = start
        made, _, _ = build.build(graph, (), calibration=[start.pixels(path) for path in typical])
        self._session = Session(made, context=context)

    def features(self, files: Sequence[Path], varied: int, done: Progress | None = None) -> NDArray[np.float32]:
        """Return (files, varied, length); ``done`` is called after each photograph."""
        rows = []
        if done is not None:
            done.begin()
        for index, path in enumerate(files):
            views = photographs.variations(self._reduced(preprocess.open_image(path)), varied, index)
            rows.append([np.ravel(self._session.run(self._start.pixels(view))) for view in views])
            if done is not None:
                done()
        return np.array(rows, np.float32)

    def _reduced(self, image: Image.Image) -> Image.Image:
        """Return a large photograph at a half, a third ... of its size, so that turning it takes no longer than needed.

        It keeps ``_ROOM`` times as many pixels as the network reads.
        """
        factor = int(min(image.size) / (_ROOM * max(self._start.size)))
        return image.reduce(factor) if factor > 1 else image

    def close(self) -> None:
        """Free the GPU's resources."""
        self._session.close()


def with_head(start: Start, kernel: NDArray[np.float32], bias: NDArray[np.float32], name: str) -> Graph:
    """Return the whole network with a new last layer: kernel (length, classes), bias (classes,)."""
    head = Node("classes", "dense", (start.features,), {}, {"kernel": kernel, "bias": bias})
    return Graph(name, (*start.nodes, head), (GraphOutput("classes", ("classes",), (), "classes"),))


def compiled(graph: Graph, labels: Sequence[str], typical: Sequence[NDArray[np.uint8]]) -> Bundle:
    """Return the network as a bundle."""
    made, _, _ = build.build(graph, labels, calibration=list(typical))
    return made
