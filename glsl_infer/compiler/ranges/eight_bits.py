"""Ranges of 8-bit feature maps.

Sigmoids have the fixed range [0, 1]. The range of a ReLU or a linear layer is learnt from calibration images for each
channel. Scales are folded into the weights on both sides, so a scale for each channel costs nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.ranges import calibration, data_free, expected_error, held_out, observed, varied
from glsl_infer.compiler.ranges.bounds import range_of
from glsl_infer.compiler.ranges.constraints import constraints, shown_by
from glsl_infer.compiler.ranges.covering import HEADROOM, choose
from glsl_infer.compiler.ranges.held_out import Fold
from glsl_infer.compiler.ranges.reach import reach
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.node import NORMAL, OBSERVED_RANGE
from glsl_infer.graph.reference import Inputs
from glsl_infer.program.layout import Range

MANY = 40
"""Number of images after which other images are expected to stay within ``HEADROOM`` and ``room.ROOM``."""

LEAST_SEEN = 16
"""Least number of observed values of a channel for a range of its own. A map of one pixel has one in each image."""


@dataclass(frozen=True)
class RangeChoice:
    """Range of one feature map; one line of the export report.

    Attributes:
        layer: name of the layer.
        low, high: lowest and highest value in the range of any channel.
        narrowest: width of the narrowest channel's range.
        by: ``function`` (the activation's own range), ``file`` (the range of a quantised model file), ``error``,
            ``layer`` (see ``held_out``), ``maximum`` or ``percentile ...`` of the images, ``batch norms``
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


def assign_ranges(
    graph: Graph,
    pictures: Sequence[Inputs] = (),
    percentile: float = 100.0,
    *,
    per_channel: bool = True,
    headroom: float | None = None,
    assumed: tuple[float, float] | None = None,
    known: Mapping[str, Range] = MappingProxyType({}),
    wider: dict[str, Range] | None = None,
    apart: Sequence[Fold] = (),
) -> tuple[Graph, tuple[RangeChoice, ...]]:
    """Set ``scales`` and ``zeros`` of every node that stores 8 bits.

    Args:
        graph: an optimised graph.
        pictures: calibration inputs, as for ``reference.run``.
        percentile: see ``calibration.extremes``.
        per_channel: False gives all channels of a layer one range, as many other engines do; for comparison.
        headroom: factor by which observed extremes are widened. None chooses by expected error (``expected_error``),
            or by ``HEADROOM`` if there is a percentile or one range for all channels.
        assumed: without images, the (low, high) of layers with an open range, for a dry run.
        known: ranges of layers from an earlier calibration; see ``stored``.
        wider: filled with the ranges of layers without regard to step sizes; see ``room``.
        apart: filled with the ranges of layers without each part of the images; see ``held_out.others``.

    Returns:
        The graph, and one choice for each layer.

    Raises:
        ModelError: a layer's range is open, and images to learn it from are missing.
    """
    storing = [node for node in graph.nodes if _stores_8_bits(graph, node)]
    shown = shown_by(graph)
    learnt = [node for node in storing if not ops.get(node.op).keeps_range and _own_range(node, shown) is None]
    if not pictures and assumed is None and (refusal := open_refusal(graph, known)) is not None:
        raise refusal
    told = data_free.told(graph) if learnt and not pictures and assumed is None else {}
    unknown = {node.name for node in learnt if OBSERVED_RANGE not in node.attrs and node.name not in known}
    by_error = per_channel and headroom is None and percentile >= 100.0
    shown_of = observed.observe(graph, unknown, pictures) if pictures and by_error else {}
    if shown_of:
        shown_of = varied.reached(graph, unknown, pictures, shown_of)
    seen = calibration.extremes(graph, unknown, pictures, percentile) if pictures and not by_error else {}
    seen.update({name: observed.extremes(found) for name, found in shown_of.items()})
    for name, ends in seen.items():
        if not np.isfinite(ends).all():
            raise too_large(name)
    widened = HEADROOM if headroom is None else headroom
    by = "maximum" if percentile >= 100.0 else f"percentile {percentile:g}"
    common, equal = constraints(graph)
    equal = equal | _hardly_seen(graph, unknown, len(pictures))
    told_apart = reach(graph)
    ranges: dict[str, Range] = {}
    nodes: list[Node] = []
    choices: list[RangeChoice] = []
    for node in graph.nodes:
        operator = ops.get(node.op)
        if node in storing:
            low_end, high_end = function_ends(node, told_apart[node.name])
            chosen, chosen_by = _own_range(node, shown), "function"
            if operator.keeps_range:
                chosen = ranges[node.inputs[0]]
            elif chosen is None and node.name in known:
                chosen, chosen_by = known[node.name], "ranges"
            elif chosen is None and OBSERVED_RANGE in node.attrs:
                chosen, chosen_by = _given_range(node), "file"
            elif chosen is None and node.name in shown_of and expected_error.fits(seen[node.name]):
                shown_here = shown_of[node.name]
                chosen_by, way = _best_way(
                    shown_here,
                    (low_end, high_end),
                    common=node.name in common,
                    equal=node.name in equal,
                )
                chosen = way(shown_here)

                def with_spare(
                    shown: Sequence[observed.Shown],
                    ends: tuple[float, float] = (low_end, high_end),
                    common: bool = node.name in common,
                    equal: bool = node.name in equal,
                ) -> Range:
                    low, high = (np.clip(few_images(len(shown)) * end, *ends) for end in observed.extremes(shown))
                    return choose(low, high, common=common, equal=equal, headroom=widened)

                for part, others in zip(apart, held_out.others(shown_here, len(apart))):
                    part.maps[node.name] = way(others)
                    part.wider[node.name] = with_spare(others)
                if wider is not None:
                    wider[node.name] = with_spare(shown_here)
            elif chosen is None and node.name in told and not node.activation.bounded:
                normal = told[node.name]
                low, high = (np.clip(ends, low_end, high_end) for ends in (normal.low, normal.high))
                chosen = choose(low, high, common=node.name in common, equal=node.name in equal, headroom=1.0)
                chosen_by = data_free.BY_NORMS
            elif chosen is None and node.name in seen:
                low, high = seen[node.name]
                low, high = np.clip(low, low_end, high_end), np.clip(high, low_end, high_end)
                chosen = choose(
                    low,
                    high,
                    common=node.name in common,
                    equal=node.name in equal or not per_channel,
                    headroom=widened,
                )
                chosen_by = by
            if chosen is None and assumed is not None and not node.activation.bounded:
                lowest, highest = max(assumed[0], node.activation.low), min(assumed[1], node.activation.high)
                chosen = choose(np.array([lowest]), np.array([highest]), common=True, equal=True, headroom=1.0)
            chosen = chosen or Range((node.activation.high,))
            node = node.with_attrs(scales=chosen.scales, zeros=chosen.zeros)  # noqa: PLW2901
            choices += [] if operator.keeps_range else [choice_of(node.name, chosen, chosen_by)]
        attrs = {key: value for key, value in node.attrs.items() if key not in (OBSERVED_RANGE, NORMAL)}
        node = replace(node, attrs=attrs)  # noqa: PLW2901
        nodes.append(node)
        if len(graph.shapes[node.name]) == 3 and "scale" not in operator.attrs:
            ranges[node.name] = range_of(graph, node, ranges)
    return graph.rebuilt(nodes), tuple(choices)


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
        "give typical pictures with --images DIR, or follow the layer with ReLU(max_value=...) or a sigmoid",
    )


def open_layers(graph: Graph, known: Collection[str] = ()) -> list[Node]:
    """Return the layers of an optimised graph whose range requires calibration images.

    Layers in ``known``, and layers after batch norms, do not require them.
    """
    storing = [node for node in graph.nodes if _stores_8_bits(graph, node)]
    found = [
        node
        for node in storing
        if not ops.get(node.op).keeps_range
        and not node.activation.bounded
        and OBSERVED_RANGE not in node.attrs
        and node.name not in known
    ]
    told = data_free.told(graph) if found else {}
    return [node for node in found if node.name not in told]


def _hardly_seen(graph: Graph, names: Collection[str], pictures: int) -> set[str]:
    """Return the layers with too few observed values for a range of each channel."""
    shapes = {name: graph.shapes[name] for name in names}
    return (
        {name for name, shape in shapes.items() if shape[0] * shape[1] * pictures < LEAST_SEEN} if pictures else set()
    )


def few_images(images: int) -> float:
    """Return the factor beyond the observed extremes for a range in 16 bits, whose steps are fine enough."""
    return float(max(1.0, (MANY / images) ** 0.7))


def _best_way(
    seen: Sequence[observed.Shown],
    function: tuple[float, float],
    *,
    common: bool,
    equal: bool,
) -> tuple[str, held_out.Way]:
    """Return the method of choosing a layer's range with the least error on its images: its name and its function."""
    low, high = function

    def widened(shown: Sequence[observed.Shown], *, whole: bool) -> Range:
        lowest, highest = (np.clip(ends, low, high) for ends in observed.extremes(shown))
        return choose(lowest, highest, common=common, equal=equal or whole)

    ways: dict[str, held_out.Way] = {
        "maximum": lambda shown: widened(shown, whole=False),
        "layer": lambda shown: widened(shown, whole=True),
        "error": lambda shown: expected_error.choose(shown, low, high, common=common, equal=equal),
    }
    best = held_out.best(ways, seen, low, high)
    return best, ways[best]


def _stores_8_bits(graph: Graph, node: Node) -> bool:
    return not node.operator.is_input and "scales" in ops.get(node.op).attrs and len(graph.shapes[node.name]) == 3


def function_ends(node: Node, told_apart: tuple[float, float]) -> tuple[float, float]:
    """Return the lowest and highest value of a layer's function, within the interval distinguished by its readers."""
    return max(float(node.activation.low), told_apart[0]), min(float(node.activation.high), told_apart[1])


def _own_range(node: Node, shown: Collection[str]) -> Range | None:
    """Return a range known without calibration: that of a sigmoid, or of an output image. None for other layers."""
    function = node.activation
    if function.bounded and not function.clips:
        return choose(np.array([function.low]), np.array([function.high]), common=True, equal=True, headroom=1.0)
    if node.name in shown and function.bounded:
        return Range((function.high,))
    return None


def _given_range(node: Node) -> Range:
    """Return the range from a quantised model file, with the same values of bytes, since 0 is within the range.

    Files give a ReLU the range of its input. It is clipped to the possible values of the function.
    """
    function = node.activation
    low, high = (np.clip([float(end)], function.low, function.high) for end in node.attrs[OBSERVED_RANGE])
    return choose(low, high, common=True, equal=True, headroom=1.0)


def _others(nodes: Sequence[Node]) -> str:
    others = len(nodes) - 1
    return f" (and those of {others} other layer{'s' * (others > 1)})" if others else ""


def choice_of(layer: str, chosen: Range, by: str) -> RangeChoice:
    """Return the report's line about a range."""
    low, high = chosen.ends(max(len(chosen.scales), len(chosen.zeros)))
    return RangeChoice(layer, float(low.min()), float(high.max()), float((high - low).min()), by)
