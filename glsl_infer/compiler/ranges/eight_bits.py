"""Ranges of 8-bit feature maps.

Sigmoids have the fixed range [0, 1]. The range of a ReLU or a linear layer is learnt from calibration images for each
channel. Scales are folded into the weights on both sides, so a scale for each channel costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler.ranges import cross_validation, data_free, expected_error, observed, varied
from glsl_infer.compiler.ranges.constraints import constraints, shown_by
from glsl_infer.compiler.ranges.cross_validation import Fold
from glsl_infer.compiler.ranges.intervals import (
    HEADROOM,
    NARROWEST,
    covering_range,
    range_of,
)
from glsl_infer.compiler.ranges.observed import Observation
from glsl_infer.compiler.ranges.request import Calibration
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, host_steps
from glsl_infer.graph.node import NORMAL, OBSERVED_RANGE
from glsl_infer.program.layout import Range

MANY = 40
"""Number of images from which on others are expected to grow by ``LEAST_GROWTH`` only."""

GROWTH_OF_LAYER, MOST_GROWTH, MOST_OF_OUTPUT = 1.2, 48.0, 200.0
"""Assumed growth of the ratio between images in a layer with a kernel, and its limits in a layer and in an output."""

MOST_OF_FEW = 58.0
"""Most growth beyond few images: about that beyond three. With more beyond a single one, outputs in 16 bits have
coarser steps than in 8 bits."""

LEAST_GROWTH, MOST_OF_SMALLEST = 4.0, 64.0
"""Growth that is covered in any case, and the largest ratio of the range to the images with the smallest values for it.

The largest image can be an ordinary one. For one of 23 choices of three photographs, yolox had a cosine of 0.88 on
others without this, 0.9991 with a growth of 4, and 1.0000 with 8. The steps of BlazeFace become too coarse with 8.
One of its 40 images has values a hundred times as large as the others. Ten images with this one gave it a cosine of
0.959 with ratios up to 256, and 0.992 with ratios up to 64.
"""

SMALLEST_SHARE = 0.1
"""Share of the images that is left out to find the smallest one, because one of many can be black."""

REACH = 0.5
"""Least ratio of the ends of ranges in 16 bits, and of ranges of scores, if the layer's function has values at both.

The scores of a detector are negative in all calibration images without an object. Their range must not end at 0.
"""

WELL_SEEN = 16
"""Number of observed values other than 0 above which a channel's range can be narrower than the widest channel's.

With few images, a channel that was seldom active can be as large as the others in another image. With n times as many
values, a range can be n times as narrow.
"""


@dataclass(frozen=True)
class RangeChoice:
    """Range of one feature map; one line of the export report.

    Attributes:
        layer: name of the layer.
        low, high: lowest and highest value in the range of any channel.
        narrowest: width of the narrowest channel's range.
        by: ``function`` (the activation's own range), ``file`` (the range of a quantised model file), ``error``,
            ``layer`` (see ``expected_error``), ``maximum`` or ``percentile ...`` of the images, ``batch norms``
            (``data_free``), ``ranges`` (a file of ranges).
    """

    layer: str
    low: float
    high: float
    narrowest: float
    by: str


def too_large(layer: str) -> ModelError:
    """Return the error about a layer with values beyond float32."""
    advice = "check its weights, and --input-range"
    return ModelError.layer(layer, "its numbers grow beyond what a float holds (3.4e38)", advice)


@dataclass(frozen=True)
class AssignedRanges:
    """A graph with the ranges of its 8-bit feature maps.

    Attributes:
        graph: the graph; ``scales`` and ``zeros`` of every node that stores 8 bits are set.
        choices: one choice for each layer.
        wider: ranges of the layers learnt from images without regard to step sizes; see ``headroom``.
        folds: ranges learnt without each part of the images; see ``cross_validation.leave_one_part_out``.
        clipped: for each image, the largest share of a layer's energy beyond the ranges of its fold.
    """

    graph: Graph
    choices: tuple[RangeChoice, ...]
    wider: Mapping[str, Range]
    folds: tuple[Fold, ...]
    clipped: tuple[float, ...]


def assign_ranges(graph: Graph, calibration: Calibration | None = None) -> AssignedRanges:
    """Set ``scales`` and ``zeros`` of every node that stores 8 bits.

    Args:
        graph: an optimised graph.
        calibration: calibration images and known ranges; default: none.

    Raises:
        ModelError: a layer's range is open, and images to learn it from are missing.
    """
    chooser = _RangeChooser(graph, calibration or Calibration())
    ranges: dict[str, Range] = {}
    nodes: list[Node] = []
    choices: list[RangeChoice] = []
    for node in graph.nodes:
        ranged = node
        if _stores_8_bits(graph, node):
            if ops.get(node.op).keeps_range:
                chosen = ranges[node.inputs[0]]
            else:
                chosen, by = chooser.choose(node)
                choices.append(choice_of(node.name, chosen, by))
            ranged = node.with_attrs(scales=chosen.scales, zeros=chosen.zeros)
        attrs = {key: value for key, value in ranged.attrs.items() if key not in (OBSERVED_RANGE, NORMAL)}
        ranged = replace(ranged, attrs=attrs)
        nodes.append(ranged)
        if len(graph.shapes[node.name]) == 3 and "scale" not in node.operator.attrs:
            ranges[node.name] = range_of(graph, ranged, ranges)
    folds = tuple(fold for fold in chooser.folds if fold.maps)
    return AssignedRanges(graph.rebuilt(nodes), tuple(choices), chooser.wider, folds, tuple(chooser.clipped))


class _RangeChooser:
    """Choice of the range of each layer, from its function, a file, batch norms or the images.

    Attributes:
        wider, folds, clipped: see ``AssignedRanges``; filled by ``choose``.
    """

    def __init__(self, graph: Graph, calibration: Calibration) -> None:
        self._graph, self._calibration = graph, calibration
        images, ranges_of_file, assumed = calibration.images, calibration.known.maps, calibration.assumed
        self._shown = shown_by(graph)
        learnt = [
            node
            for node in graph.nodes
            if _stores_8_bits(graph, node)
            and not ops.get(node.op).keeps_range
            and _own_range(node, self._shown) is None
        ]
        if not images and assumed is None and (refusal := open_refusal(graph, ranges_of_file)) is not None:
            raise refusal
        self._normal = data_free.from_norms(graph) if learnt and not images and assumed is None else {}
        unknown = {node.name for node in learnt if OBSERVED_RANGE not in node.attrs and node.name not in ranges_of_file}
        self._observe(unknown)
        self._common, self._equal = constraints(graph)
        self._depths = depths(graph)
        self._scores = _score_layers(graph)
        self.wider: dict[str, Range] = {}
        self.folds = [Fold() for _ in range(min(cross_validation.PARTS, len(images)))]
        self.clipped = [0.0] * len(images)

    def _observe(self, names: Collection[str]) -> None:
        """Compute the extremes of layers on the images, and their histograms if ranges are chosen by error."""
        images, percentile = self._calibration.images, self._calibration.percentile
        self._observed: Mapping[str, Sequence[Observation]] = {}
        self._extremes: dict[str, observed.Extremes] = {}
        if images and percentile >= 100.0:
            histograms = observed.observe(self._graph, names, images)
            self._observed = varied.reached(self._graph, names, images, histograms)
            self._extremes = {name: observed.extremes_of(seen) for name, seen in self._observed.items()}
        elif images:
            self._extremes = observed.extremes(self._graph, names, images, percentile)
        for name, ends in self._extremes.items():
            if not np.isfinite(ends).all():
                raise too_large(name)

    def choose(self, node: Node) -> tuple[Range, str]:
        """Return the range of a layer and its source; see ``RangeChoice.by``."""
        name, function, calibration = node.name, node.activation, self._calibration
        own = _own_range(node, self._shown)
        if own is not None:
            return own, "function"
        if name in calibration.known.maps:
            return calibration.known.maps[name], "ranges"
        if OBSERVED_RANGE in node.attrs:
            return _range_of_file(node), "file"
        ends = function_ends(node)
        if name in self._observed and expected_error.fits(self._extremes[name]):
            return self._learnt(node, ends)
        if name in self._normal and not function.bounded:
            normal = self._normal[name]
            return self._covering(node, (normal.low, normal.high), ends, headroom=1.0), data_free.BY_NORMS
        if name in self._extremes:
            by = "maximum" if calibration.percentile >= 100.0 else f"percentile {calibration.percentile:g}"
            return self._covering(node, self._extremes[name], ends), by
        if calibration.assumed is not None and not function.bounded:
            low, high = max(calibration.assumed[0], function.low), min(calibration.assumed[1], function.high)
            return covering_range(np.array([low]), np.array([high]), common=True, equal=True, headroom=1.0), "function"
        return Range((function.high,)), "function"

    def _covering(
        self, node: Node, extremes: observed.Extremes, ends: tuple[float, float], headroom: float = HEADROOM
    ) -> Range:
        """Return a range that covers extremes within the ends of a layer's function."""
        low, high = (np.clip(values, *ends) for values in extremes)
        common, equal = node.name in self._common, node.name in self._equal
        return covering_range(low, high, common=common, equal=equal, headroom=headroom)

    def _learnt(self, node: Node, ends: tuple[float, float]) -> tuple[Range, str]:
        """Return the range of a layer by its error on the images, and store its wider range and those of the folds."""
        name, images = node.name, self._observed[node.name]
        depth = None if name in self._graph.output_layers else self._depths[name]
        common, equal = name in self._common, name in self._equal
        height, width, _ = self._graph.shapes[name]
        pixels = height * width if len(self._calibration.images) < varied.FEW else None
        by, way = _best_way(images, pixels, ends, common=common, equal=equal)
        if name in self._scores:
            way = partial(_with_reach, way, ends, common=common, equal=equal)

        def with_spare(seen: Sequence[Observation]) -> Range:
            low, high = (expected_growth(seen, depth) * extreme for extreme in observed.extremes_of(seen))
            lowest, highest = reaching(low.min(), high.max())
            return self._covering(node, (np.minimum(low, lowest), np.maximum(high, highest)), ends)

        for fold, others in zip(self.folds, cross_validation.leave_one_part_out(images, len(self.folds))):
            fold.maps[name], fold.wider[name] = way(others), with_spare(others)
        for index, image in enumerate(images):
            held_out = self.folds[cross_validation.part_of(index, len(images), len(self.folds))]
            self.clipped[index] = max(self.clipped[index], observed.share_beyond(image, held_out.maps[name]))
        self.wider[name] = with_spare(images)
        return way(images), by


def open_refusal(graph: Graph, known: Collection[str] = ()) -> ModelError | None:
    """Return the error about layers of an optimised graph whose range requires calibration images; None without any.

    Layers in ``known`` have a range from an earlier calibration.
    """
    unbounded = open_layers(graph, known)
    if not unbounded:
        return None
    return ModelError.layer(
        unbounded[0].name,
        f"the values of '{unbounded[0].activation.name}' have no fixed range" + _others(unbounded),
        "give typical images with --images DIR, or follow the layer with ReLU(max_value=...) or a sigmoid",
    )


def open_layers(graph: Graph, known: Collection[str] = ()) -> list[Node]:
    """Return the layers of an optimised graph whose range requires calibration images.

    Layers in ``known``, and layers after batch norms, do not require them.
    """
    storing = [node for node in graph.nodes if _stores_8_bits(graph, node)]
    unbounded = [
        node
        for node in storing
        if not ops.get(node.op).keeps_range
        and not node.activation.bounded
        and OBSERVED_RANGE not in node.attrs
        and node.name not in known
    ]
    from_norms = data_free.from_norms(graph) if unbounded else {}
    return [node for node in unbounded if node.name not in from_norms]


def expected_growth(seen: Sequence[Observation], depth: int | None) -> float:
    """Return the factor beyond the observed extremes for a range in 16 bits, whose steps are fine enough.

    Each layer can amplify the differences between images, so values of the last layers can be 50 times as large for an
    image with an object as for one without, while those of the first ones follow the bounded pixels. The range is
    relative to the image with the smallest values, because a range far beyond leaves few steps for such images. The
    rounding of an output is not amplified, so its range can be wider.

    Args:
        seen: observations of the images.
        depth: number of layers with a kernel before the layer and including it; None for a layer of an output.
    """
    growth_of_few = min(MOST_OF_FEW, float(max(1.0, MANY / len(seen)) ** 1.6))
    largest = np.array([max(-image.low.min(), image.high.max()) for image in seen])
    smallest = float(np.quantile(largest, SMALLEST_SHARE, method="lower")) / max(float(largest.max()), 1e-30)
    if depth is None:
        return max(1.0, min(max(growth_of_few, LEAST_GROWTH), smallest * MOST_OF_OUTPUT))
    growth = min(GROWTH_OF_LAYER**depth, MOST_GROWTH)
    return max(1.0, smallest * min(growth, growth_of_few), min(growth, LEAST_GROWTH, smallest * MOST_OF_SMALLEST))


def narrowest_of(seen: Sequence[Observation], pixels: int | None) -> float | NDArray[np.float64]:
    """Return the least width of each channel's range, as a share of the widest channel's.

    Args:
        seen: observations of the images.
        pixels: pixels of the map; None with images enough to show how large each channel becomes.
    """
    if pixels is None:
        return NARROWEST
    active = pixels * np.sum([image.moved for image in seen], axis=0)
    narrowest: NDArray[np.float64] = np.clip(WELL_SEEN / np.maximum(active, 1.0), NARROWEST, 1.0)
    return narrowest


def reaching(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of intervals, each at least ``REACH`` times as far from 0 as the other."""
    return np.minimum(low, -REACH * high), np.maximum(high, -REACH * low)


def _score_layers(graph: Graph) -> set[str]:
    """Return the layers of outputs that become probabilities or classes outside the network."""
    scores = {*host_steps.PROBABLE, host_steps.ARGMAX}
    outputs = [output for output in graph.outputs if scores & {step.step for step in output.steps}]
    return {layer for output in outputs for layer in output.layers}


def _with_reach(
    way: cross_validation.RangeMethod,
    function: tuple[float, float],
    seen: Sequence[Observation],
    *,
    common: bool,
    equal: bool,
) -> Range:
    """Return the range of scores by a method, widened to ``REACH`` if an end is closer to 0."""
    chosen = way(seen)
    ends = chosen.ends(len(seen[0].low))
    low, high = (np.clip(end, *function) for end in reaching(*ends))
    if (low >= ends[0]).all() and (high <= ends[1]).all():
        return chosen
    return covering_range(low, high, common=common, equal=equal, headroom=1.0)


def depths(graph: Graph) -> dict[str, int]:
    """Return the largest number of layers with a kernel on a way from an input to each layer, itself included."""
    result: dict[str, int] = {}
    for node in graph.nodes:
        before = max((result[name] for name in node.inputs), default=0)
        result[node.name] = before + ops.get(node.op).has_kernel
    return result


def _best_way(
    seen: Sequence[Observation],
    pixels: int | None,
    function: tuple[float, float],
    *,
    common: bool,
    equal: bool,
) -> tuple[str, cross_validation.RangeMethod]:
    """Return the method of choosing a layer's range with the least error on its images: its name and its function."""
    low, high = function

    def widened(images: Sequence[Observation], *, whole: bool) -> Range:
        lowest, highest = (np.clip(ends, low, high) for ends in observed.extremes_of(images))
        return covering_range(
            lowest, highest, common=common, equal=equal or whole, narrowest=narrowest_of(images, pixels)
        )

    ways: dict[str, cross_validation.RangeMethod] = {
        "maximum": lambda shown: widened(shown, whole=False),
        "layer": lambda shown: widened(shown, whole=True),
        "error": lambda shown: expected_error.least_error_range(shown, low, high, common=common, equal=equal),
    }
    best = cross_validation.best_method(ways, seen, low, high)
    return best, ways[best]


def _stores_8_bits(graph: Graph, node: Node) -> bool:
    return not node.operator.is_input and "scales" in ops.get(node.op).attrs and len(graph.shapes[node.name]) == 3


def function_ends(node: Node) -> tuple[float, float]:
    """Return the lowest and highest value of a layer's function."""
    return float(node.activation.low), float(node.activation.high)


def _own_range(node: Node, image_layers: Collection[str]) -> Range | None:
    """Return a range known without calibration: that of a sigmoid, or of an output image. None for other layers."""
    function = node.activation
    if function.bounded and not function.clips:
        return covering_range(
            np.array([function.low]), np.array([function.high]), common=True, equal=True, headroom=1.0
        )
    if node.name in image_layers and function.bounded:
        return Range((function.high,))
    return None


def _range_of_file(node: Node) -> Range:
    """Return the range from a quantised model file, with the same values of bytes, since 0 is within the range.

    Files give a ReLU the range of its input. It is clipped to the possible values of the function.
    """
    function = node.activation
    low, high = (np.clip([float(end)], function.low, function.high) for end in node.attrs[OBSERVED_RANGE])
    return covering_range(low, high, common=True, equal=True, headroom=1.0)


def _others(nodes: Sequence[Node]) -> str:
    others = len(nodes) - 1
    return f" (and those of {others} other layer{'s' * (others > 1)})" if others else ""


def choice_of(layer: str, chosen: Range, by: str) -> RangeChoice:
    """Return the report's line about a range."""
    low, high = chosen.ends(max(len(chosen.scales), len(chosen.zeros)))
    return RangeChoice(layer, float(low.min()), float(high.max()), float((high - low).min()), by)
