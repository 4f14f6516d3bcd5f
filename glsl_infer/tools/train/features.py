"""Features of images: the vector before a trained network's last dense layer, computed by the engine itself.

A bundle includes its network (graph.json), so any bundle that ends in a dense layer can be the start of a training.
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
from glsl_infer.support.progress import ProgressCallback, no_progress
from glsl_infer.support.resources import MODEL_NAMES, model
from glsl_infer.tools.train import photographs

_PREPARED = ("scale", "scales", "zeros", "bits", "fused")
"""Attributes chosen by the compiler for the bundle; the compiler chooses them again."""

_PRODUCTS = ("dense_products", "dense_at_once", "dense_of_sums")
"""Operators with the kernel of a dense layer."""

_ROOM = 2
"""Smallest ratio of the shorter side of a reduced photograph to the larger side of the network's input."""

VARIED = 480
"""Approximate number of images to compute features of: the fewer photographs, the more variations of each."""


class Progress(Protocol):
    """Progress in photographs."""

    def begin(self) -> None:
        """Start to time the first photograph."""

    def __call__(self) -> None:
        """Count one photograph."""


@dataclass(frozen=True)
class Start:
    """Network that a training starts from.

    Attributes:
        name: name of the bundle.
        nodes: nodes of its network up to the features.
        features: the last node's name.
    """

    name: str
    nodes: tuple[Node, ...]
    features: str

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of its input image."""
        height, width, _ = self._input["shape"]
        return height, width

    def pixels(self, image: ImageSource) -> NDArray[np.uint8]:
        """Return an image in the network's size.

        Raises:
            ImageError: it cannot be read.
        """
        return preprocess.load(image, self.size, fit=self._input["fit"])

    @property
    def length(self) -> int:
        """Length of an image's feature vector."""
        graph = Graph(self.name, self.nodes, (GraphOutput("features", (self.features,), (), VALUES),))
        return int(graph.shapes[self.features][0])

    @property
    def _input(self) -> Mapping[str, Any]:
        return next(node for node in self.nodes if not node.inputs).attrs


def read_start(path: Path) -> Start:
    """Return the network of a bundle without its last dense layer.

    Raises:
        BundleError: it cannot be read.
        InputError: its input is not one image of three colours, or it does not end in one dense layer over a vector.
    """
    bundle = bundles.read(path)
    bundle.require_one_part("train")
    graph = bundle.graph
    inputs = [node for node in graph.nodes if not node.inputs]
    dense_layers = [node for node in graph.nodes if node.op in _PRODUCTS]
    if (
        len(inputs) != 1
        or inputs[0].op != "input"
        or inputs[0].attrs["shape"][2] != 3
        or bundle.manifest.classes is None
    ):
        raise InputError(f"{path}: is not a classifier of one colour image; start from one that is")
    needed = {dense_layers[-1].inputs[0]} if dense_layers else set()
    if not needed:
        raise InputError(f"{path}: does not end in a dense layer; start from a classifier that does")
    features = next(iter(needed))
    nodes = []
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed |= set(node.inputs)
            nodes.append(_as_imported(node))
    if any(node.op in (*_PRODUCTS, "dense_sum", "mean_products") for node in nodes):
        raise InputError(f"{path}: has several dense layers; start from a classifier with one")
    return Start(path.stem, tuple(reversed(nodes)), features)


def _as_imported(node: Node) -> Node:
    if not node.inputs:
        return node
    return replace(node, attrs={key: value for key, value in node.attrs.items() if key not in _PREPARED})


def variations_of(count: int) -> int:
    """Return the number of variations to use of each of ``count`` photographs."""
    return int(np.clip(round(VARIED / max(count, 1)), 2, 8))


class Extractor(Closing):
    """Computation of features on this machine's GPU. Use it as a context manager, or ``close`` it.

    Args:
        start: the network.
        typical: photographs for the calibration of ranges.
        context: as for ``Session``.
        progress: called with a text at every step of the preparation.
    """

    def __init__(
        self,
        start: Start,
        typical: Sequence[Path],
        context: str = "auto",
        progress: ProgressCallback = no_progress,
    ) -> None:
        graph = Graph(start.name, start.nodes, (GraphOutput("features", (start.features,), (), VALUES),))
        self._start = start
        bundle, _, _ = build.build(graph, (), calibration=[start.pixels(path) for path in typical], progress=progress)
        progress(f"compiling {len(bundle.manifest.programs)} shaders")
        self._session = Session(bundle, context=context)

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
        """Return a large photograph at a half, a third ... of its size, to rotate it faster.

        It keeps ``_ROOM`` times the network's input size.
        """
        factor = int(min(image.size) / (_ROOM * max(self._start.size)))
        return image.reduce(factor) if factor > 1 else image

    def close(self) -> None:
        """Free the GPU's resources."""
        self._session.close()


def with_head(start: Start, kernel: NDArray[np.float32], bias: NDArray[np.float32], name: str) -> Graph:
    """Return the complete network with a new last layer: kernel (length, classes), bias (classes,)."""
    head = Node("classes", "dense", (start.features,), {}, {"kernel": kernel, "bias": bias})
    return Graph(name, (*start.nodes, head), (GraphOutput("classes", ("classes",), (), "classes"),))


def compiled(
    graph: Graph, labels: Sequence[str], typical: Sequence[NDArray[np.uint8]], progress: ProgressCallback = no_progress
) -> Bundle:
    """Return the network as a bundle."""
    bundle, _, _ = build.build(graph, labels, calibration=list(typical), progress=progress)
    return bundle


STARTS = MODEL_NAMES
"""Bundles in the package. Cross-validation chooses the one for the photographs, and the first of equals."""

DATA = Path(__file__).resolve().parent / "data"
"""Features of images of the train splits of both data sets."""


def starts_of(path: Path | None) -> list[Start]:
    """Return the starts to try: the given one, or all of the package.

    Raises:
        InputError: it cannot be used as a start.
    """
    return [read_start(path)] if path is not None else [read_start(model(name)) for name in STARTS]


def background(start: Start) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return features (images, length) of unknown things, and the group of each; empty for a start of the user."""
    path = DATA / f"{start.name}.npz"
    length = start.length
    if start.name not in STARTS or not path.is_file():
        return np.zeros((0, length)), np.zeros(0, np.int64)
    with np.load(path) as data:
        return data["features"] / 255.0, data["groups"].astype(np.int64)
