"""A network of scripts/bench/precision.py with its images, also as one file for a machine with NumPy only."""

from __future__ import annotations

import lzma
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.picture import picture_range
from precision_parts.scores import SCORES, Outputs, Result

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class Case:
    """A network with its calibration and test images.

    Attributes:
        name: one of ``SCORES``.
        graph: as imported.
        calibration, test: images in the network's input format.
    """

    name: str
    graph: Graph
    calibration: Sequence[Picture]
    test: Sequence[Picture]

    def run(self, graph: Graph, pictures: Sequence[Picture], mode: str) -> list[Outputs]:
        """Return the outputs of a graph, either this one or one derived from it, for images."""
        name = self.graph.input.name
        return [reference.run(graph, {name: picture}, mode=mode) for picture in pictures]

    def noisy(self, most: float = 0.5) -> list[Outputs]:
        """Return the float network's outputs for test images with noise of at most ``most`` steps in each byte.

        Half a step is an image's own rounding error: if it changes the answer, floats are no better.
        """
        node, rng = self.graph.input, np.random.default_rng(0)
        (scales, zeros), numbers = picture_range(node), node.with_attrs(fit=None)
        nodes = tuple(numbers if each.name == node.name else each for each in self.graph.nodes)
        graph = Graph(self.graph.name, nodes, self.graph.outputs)
        shifted = [picture + rng.uniform(-most, most, picture.shape) for picture in self.test]
        values = [np.float32((np.asarray(scales) * (picture - zeros)) / 255.0) for picture in shifted]
        return [reference.run(graph, {node.name: value}, mode="float") for value in values]

    def score(self, floats: Sequence[Outputs], stored: Sequence[Outputs]) -> Result:
        """Return the differences of outputs from the float network's, with one entry for each image."""
        return SCORES[self.name](self.graph)(floats, stored)

    def write(self, path: Path) -> None:
        """Write the case as plain data."""
        nodes = [(node.name, node.op, node.inputs, dict(node.attrs), dict(node.weights)) for node in self.graph.nodes]
        pictures = [np.stack(list(ones)) for ones in (self.calibration, self.test)]
        # Neighbouring pixels are similar, so their differences compress better.
        rows = [np.diff(ones, axis=2, prepend=np.zeros_like(ones[:, :, :1])) for ones in pictures]
        path.write_bytes(lzma.compress(pickle.dumps((self.graph.name, nodes, self.graph.outputs, rows)), preset=6))


def read(path: Path) -> Case:
    """Read a file of ``Case.write``; pickle is safe only for files from the project's own processes."""
    name, nodes, outputs, rows = pickle.loads(lzma.decompress(path.read_bytes()))
    calibration, test = (list(np.cumsum(ones, axis=2, dtype=np.uint8)) for ones in rows)
    return Case(path.stem, Graph(name, tuple(Node(*node) for node in nodes), outputs), calibration, test)
