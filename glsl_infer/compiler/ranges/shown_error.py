"""Error of a graph's outputs, weighted by relevance.

A detector has a row of values for every location, and in another output a score for each row. Only rows with a high
score become boxes. The values of the other rows are arbitrary, and in floats they often differ by thousands. Therefore
the weight of a row is its probability, and scores are compared as probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from glsl_infer.graph import Array, Graph, host_steps, reference
from glsl_infer.graph.reference import Inputs

Squares = list[float]
"""Squared errors, one for each part of the outputs."""

Shown = list[tuple[Array, Array]]
"""For each part its values, (rows, columns), and the weight of each row, (rows, 1). If all rows have the same weight,
the weights add up to 1.
"""

LEAST_COLUMNS = 4
"""Least number of values of a box."""

SURE, ENOUGH = 0.5, 2
"""Least probability of a row that becomes a box, and number of images that must have one."""

UNSURE = 0.1
"""Constant weight of all rows together, in addition to their probabilities."""


class Judge:
    """Comparison of outputs with those of the float network.

    Args:
        graph: a graph with outputs.
        pictures: calibration inputs. If fewer than ``ENOUGH`` of them have a probable row, all rows have the same
            weight.
    """

    def __init__(self, graph: Graph, pictures: Sequence[Inputs]) -> None:
        self._set(graph, scores_of(graph))
        if self._scores and sum(self._is_sure(graph, picture) for picture in pictures) < ENOUGH:
            self._set(graph, {})

    def _set(self, graph: Graph, scores: Mapping[str, str]) -> None:
        self._scores = scores
        named = {output.name: output for output in graph.outputs}
        judged = {*self._scores, *self._scores.values()}
        self._results = {name: named[name] for name in sorted(judged)}
        known = {layer for output in self._results.values() for layer in output.layers}
        self._alone = [layer for layer in graph.output_layers if layer not in known]
        self._probable = {
            layer
            for output in graph.outputs
            if any(step.step == host_steps.SIGMOID for step in output.steps)
            for layer in output.layers
        }

    def _is_sure(self, graph: Graph, picture: Inputs) -> bool:
        values = reference.all_values(graph, picture, mode="float")
        ends = {name: value for name, value in values if name in graph.output_layers}
        return any(self._rows(scores, ends).max() >= SURE for scores in self._scores.values())

    def shown(self, ends: Mapping[str, Array]) -> Shown:
        """Return the parts of the outputs, from the values of their layers."""
        parts: Shown = []
        for layer in self._alone:
            exact: Array = np.asarray(ends[layer], np.float64).reshape(-1, 1)
            exact = host_steps.sigmoid(exact) if layer in self._probable else exact
            parts.append((exact, np.full((len(exact), 1), 1.0 / len(exact))))
        rows = {name: self._rows(name, ends) for name in self._results}
        for name, scores in self._scores.items():
            likely = rows[scores].max(axis=1, keepdims=True)
            parts.append((rows[name], likely + UNSURE / len(likely)))
        parts += [(rows[name], np.full((len(rows[name]), 1), 1.0)) for name in dict.fromkeys(self._scores.values())]
        return parts

    def squares(self, exact: Shown, ends: Mapping[str, Array]) -> Squares:
        """Return the squared errors of other values of the layers."""
        pairs = zip(exact, self.shown(ends))
        return [
            float((((one - other) ** 2).mean(axis=1, keepdims=True) * counts).sum())
            for (one, counts), (other, _) in pairs
        ]

    def spreads(self, shown: Sequence[Shown]) -> Squares:
        """Return the variance of each part over all images.

        If values are almost constant, as those of a flag are, the variance is at least 1/100 of their mean square.
        """
        found = []
        for parts in zip(*shown):
            counts = np.concatenate([np.broadcast_to(weights, numbers.shape) for numbers, weights in parts]).ravel()
            counts = counts / parts[0][0].shape[1] / len(parts)
            numbers = np.concatenate([numbers for numbers, _ in parts]).ravel()
            mean = float(counts @ numbers) / max(float(counts.sum()), 1e-12)
            found.append(max(float(counts @ (numbers - mean) ** 2), 0.01 * float(counts @ numbers**2), 1e-60))
        return found

    def _rows(self, name: str, ends: Mapping[str, Array]) -> Array:
        output = self._results[name]
        made = host_steps.apply(output.steps, [ends[layer] for layer in output.layers]).astype(np.float64)
        is_scores = name in self._scores.values()
        return host_steps.sigmoid(made) if is_scores and not _is_probable(output.steps) else made


def scores_of(graph: Graph) -> dict[str, str]:
    """Return the outputs of boxes, each with the output of its rows' scores.

    Both have a row for each location, and they are the only ones with this number of rows. Boxes have at least
    ``LEAST_COLUMNS`` values. Scores have one value, or are probabilities.
    """
    tables: dict[int, list[str]] = {}
    shapes = {output.name: graph.shape_of(output) for output in graph.outputs}
    steps = {output.name: output.steps for output in graph.outputs}
    for name, shape in shapes.items():
        if len(shape) == 2 and shape[0] > 1:
            tables.setdefault(shape[0], []).append(name)
    found = {}
    for names in tables.values():
        sure = [name for name in names if shapes[name][1] == 1 or _is_probable(steps[name])]
        boxes = [name for name in names if name not in sure and shapes[name][1] >= LEAST_COLUMNS]
        if len(sure) == 1:
            found.update(dict.fromkeys(boxes, sure[0]))
    return found


def _is_probable(steps: Sequence[host_steps.HostStep]) -> bool:
    return any(step.step in host_steps.PROBABLE for step in steps)


def error(squares: Sequence[Squares], spreads: Squares) -> float:
    """Return the root mean square over images and parts, as a share of the parts' spreads."""
    shares = [sum(one / spread for one, spread in zip(each, spreads)) / len(each) for each in squares]
    return math.sqrt(sum(shares) / len(shares))
