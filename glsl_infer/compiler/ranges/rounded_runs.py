"""Runs of the float network on calibration images with rounded feature maps, and the resulting error of the outputs.

A detector has a row of values for every location, and in another output a score for each row. Only rows with a high
score become boxes. The values of the other rows are arbitrary, and in floats they often differ by thousands. Therefore
the weight of a row is its probability, and scores are compared as probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from glsl_infer.compiler.ranges.cross_validation import Fold
from glsl_infer.compiler.ranges.headroom import widened
from glsl_infer.graph import Array, Graph, Node, host_steps, reference
from glsl_infer.graph.picture import input_values
from glsl_infer.graph.reference import Inputs
from glsl_infer.support.parallel import parallel_map

Squares = list[float]
"""Squared errors, one for each part of the outputs."""

ScoredOutputs = list[tuple[Array, Array]]
"""For each part its values, (rows, columns), and the weight of each row, (rows, 1). If all rows have the same weight,
the weights add up to 1.
"""

LEAST_COLUMNS = 4
"""Least number of values of a box."""

SURE, ENOUGH = 0.5, 2
"""Least probability of a row that becomes a box, and number of images that must have one."""

UNSURE = 0.1
"""Constant weight of all rows together, in addition to their probabilities."""


class OutputComparison:
    """Comparison of outputs with those of the float network.

    Args:
        graph: a graph with outputs.
        images: calibration inputs. If fewer than ``ENOUGH`` of them have a probable row, all rows have the same
            weight.
        as_values: compare all outputs as values: rows with the same weight, and scores before their probabilities.
    """

    def __init__(self, graph: Graph, images: Sequence[Inputs], *, as_values: bool = False) -> None:
        self._set(graph, {} if as_values else scores_of(graph))
        if as_values:
            self._probable.clear()
        if self._scores and sum(self._is_sure(graph, image) for image in images) < ENOUGH:
            self._set(graph, {})

    def _set(self, graph: Graph, scores: Mapping[str, str]) -> None:
        """Set the outputs to compare as rows, from the outputs of boxes and those of their scores."""
        self._scores = scores
        named = {output.name: output for output in graph.outputs}
        scored = {*self._scores, *self._scores.values()}
        self._tables = {name: named[name] for name in sorted(scored)}
        in_tables = {layer for output in self._tables.values() for layer in output.layers}
        self._alone = [layer for layer in graph.output_layers if layer not in in_tables]
        self._probable = {
            layer
            for output in graph.outputs
            if any(step.step == host_steps.SIGMOID for step in output.steps)
            for layer in output.layers
        }

    def _is_sure(self, graph: Graph, image: Inputs) -> bool:
        values = reference.all_values(graph, image, mode="float")
        outputs = {name: value for name, value in values if name in graph.output_layers}
        return any(self._rows(scores, outputs).max() >= SURE for scores in self._scores.values())

    def scored(self, outputs: Mapping[str, Array]) -> ScoredOutputs:
        """Return the parts of the outputs, from the values of their layers."""
        parts: ScoredOutputs = []
        for layer in self._alone:
            exact: Array = np.asarray(outputs[layer], np.float64).reshape(-1, 1)
            exact = host_steps.sigmoid(exact) if layer in self._probable else exact
            parts.append((exact, np.full((len(exact), 1), 1.0 / len(exact))))
        rows = {name: self._rows(name, outputs) for name in self._tables}
        for name, scores in self._scores.items():
            likely = rows[scores].max(axis=1, keepdims=True)
            parts.append((rows[name], likely + UNSURE / len(likely)))
        parts += [(rows[name], np.full((len(rows[name]), 1), 1.0)) for name in dict.fromkeys(self._scores.values())]
        return parts

    def squares(self, exact: ScoredOutputs, outputs: Mapping[str, Array]) -> Squares:
        """Return the squared errors of other values of the layers."""
        pairs = zip(exact, self.scored(outputs))
        return [
            float((((values - other) ** 2).mean(axis=1, keepdims=True) * counts).sum())
            for (values, counts), (other, _) in pairs
        ]

    def spreads(self, shown: Sequence[ScoredOutputs]) -> Squares:
        """Return the variance of each part over all images.

        If values are almost constant, as those of a flag are, the variance is at least 1/100 of their mean square.
        """
        variances = []
        for parts in zip(*shown):
            counts = np.concatenate([np.broadcast_to(weights, values.shape) for values, weights in parts]).ravel()
            counts = counts / parts[0][0].shape[1] / len(parts)
            values = np.concatenate([values for values, _ in parts]).ravel()
            mean = float(counts @ values) / max(float(counts.sum()), 1e-12)
            variances.append(max(float(counts @ (values - mean) ** 2), 0.01 * float(counts @ values**2), 1e-60))
        return variances

    def _rows(self, name: str, outputs: Mapping[str, Array]) -> Array:
        output = self._tables[name]
        rows = host_steps.apply(output.steps, [outputs[layer] for layer in output.layers]).astype(np.float64)
        is_scores = name in self._scores.values()
        return host_steps.sigmoid(rows) if is_scores and not _is_probable(output.steps) else rows


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
    result = {}
    for names in tables.values():
        scores = [name for name in names if shapes[name][1] == 1 or _is_probable(steps[name])]
        boxes = [name for name in names if name not in scores and shapes[name][1] >= LEAST_COLUMNS]
        if len(scores) == 1:
            result.update(dict.fromkeys(boxes, scores[0]))
    return result


def _is_probable(steps: Sequence[host_steps.HostStep]) -> bool:
    return any(step.step in host_steps.PROBABLE for step in steps)


def error(squares: Sequence[Squares], spreads: Squares) -> float:
    """Return the root mean square over images and parts, as a share of the parts' spreads."""
    shares = [sum(square / spread for square, spread in zip(each, spreads)) / len(each) for each in squares]
    return math.sqrt(sum(shares) / len(shares))


class Runs:
    """Float runs for images, which can be repeated with rounding.

    Only one image's maps are kept at a time, because those of large networks take hundreds of megabytes.

    Args:
        graph: a graph with ranges.
        images: inputs of the network.
        ranges: for each image, replacements of the graph's ranges.
        changes: layers to change one at a time: rounded to 8 bits (None), or computed by another node.
        as_values: see ``OutputComparison``.

    Attributes:
        errors: error of the outputs for each change of ``changes`` alone.
    """

    def __init__(
        self,
        graph: Graph,
        images: Sequence[Inputs],
        ranges: Sequence[Fold],
        changes: Mapping[str, Node | None],
        *,
        as_values: bool = False,
    ) -> None:
        self._graph, self._images, self._ranges = graph, images, ranges
        self._comparison = OutputComparison(graph, images, as_values=as_values)
        self._exact: list[ScoredOutputs] = []
        squares: dict[str, list[Squares]] = {name: [] for name in changes}
        for image, image_ranges in zip(images, ranges):
            values = dict(reference.all_values(graph, image, mode="float"))
            exact = self._comparison.scored(values)
            self._exact.append(exact)
            squares_of_change = partial(self._squares_of_change, changes, values, exact, image_ranges)
            for name, image_squares in zip(changes, parallel_map(squares_of_change, changes)):
                squares[name].append(image_squares)
        self._spreads = self._comparison.spreads(self._exact)
        self.errors = {name: error(change_squares, self._spreads) for name, change_squares in squares.items()}

    def error(self, bits: Mapping[str, int]) -> float:
        """Return the error of the outputs if all maps are rounded to their ``bits``."""
        squares = list(parallel_map(partial(self._squares_of_image, bits), range(len(self._images))))
        return error(squares, self._spreads)

    def _squares_of_change(
        self,
        changes: Mapping[str, Node | None],
        values: Mapping[str, Array],
        exact: ScoredOutputs,
        ranges: Fold,
        name: str,
    ) -> Squares:
        """Return the squared errors of an image's outputs for the change of one layer; see ``_squares``."""
        replacement = changes[name]
        if replacement is None:
            return self._squares(values, exact, {name: 8}, ranges)
        return self._squares(values, exact, {}, ranges, {name: replacement})

    def _squares_of_image(self, bits: Mapping[str, int], index: int) -> Squares:
        """Return the squared errors of an image's outputs if layers are rounded to their ``bits``."""
        arrays = reference.by_name(self._graph, self._images[index])
        inputs = {node.name: input_values(node, arrays[node.name]).astype(np.float32) for node in self._graph.inputs}
        return self._squares(inputs, self._exact[index], bits, self._ranges[index], computes_all=True)

    def _squares(
        self,
        values: Mapping[str, Array],
        exact: ScoredOutputs,
        bits: Mapping[str, int],
        ranges: Fold,
        replaced: Mapping[str, Node] = MappingProxyType({}),
        *,
        computes_all: bool = False,
    ) -> Squares:
        """Return the squared errors of the outputs if layers are rounded or replaced.

        Args:
            values: exact outputs of the layers; with ``computes_all``, those of the inputs.
            exact: exact values of the graph's outputs.
            bits: bits to which layers are rounded, by name.
            ranges: replacements of the graph's ranges.
            replaced: replacements of nodes, by name.
            computes_all: compute all layers, not only those after a change.
        """
        output_layers = set(self._graph.output_layers)
        readers_left = {name: len(readers) for name, readers in self._graph.consumers.items()}
        changed: dict[str, Array] = {}
        for node in self._graph.nodes:
            is_new = node.name in replaced or (computes_all and not node.operator.is_input)
            if is_new or any(name in changed for name in node.inputs):
                inputs = [changed[name] if name in changed else values[name] for name in node.inputs]
                value = reference.layer(replaced.get(node.name, node), inputs, stored=False)
                changed[node.name] = self._rounded(node, value, bits, ranges)
            elif node.name in bits:
                changed[node.name] = self._rounded(node, values[node.name], bits, ranges)
            for name in node.inputs:
                readers_left[name] -= 1
                if not readers_left[name] and name not in output_layers:
                    changed.pop(name, None)
        outputs = {layer: changed[layer] if layer in changed else values[layer] for layer in output_layers}
        return self._comparison.squares(exact, outputs)

    def _rounded(self, node: Node, value: Array, bits: Mapping[str, int], ranges: Fold) -> Array:
        """Return a layer's output rounded to its ``bits``, or unchanged if it has none."""
        if node.name not in bits or "bits" not in node.attrs or value.ndim != 3:
            return value
        rounded = node.with_attrs(bits=bits[node.name])
        if node.name in ranges.maps:
            in_16_bits = bits[node.name] != 8
            own = widened(node, ranges.wider[node.name]) if in_16_bits else ranges.maps[node.name]
            rounded = rounded.with_attrs(scales=own.scales, zeros=own.zeros)
        return np.asarray(node.operator.store(rounded, value), value.dtype)
