"""Ranges without calibration images, from the statistics of batch norms.

A batch norm has learnt that its outputs have the mean ``beta`` and the deviation ``gamma``, for each channel, on the
training images. The statistics are propagated through later layers: sums add variances, and functions are applied to a
normal distribution (M. Nagel et al., Data-Free Quantization, 2019). A range has ``SIGMAS`` deviations on either side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.errors import GlslInferError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations import Activation
from glsl_infer.graph.kernels import input_channels
from glsl_infer.graph.node import NORMAL
from glsl_infer.program.layout import Range

Numbers = NDArray[np.float64]

SIGMAS = 6.0
BY_NORMS = "batch norms"
"""Name of this method in the export report."""

_PLACES = np.linspace(-SIGMAS, SIGMAS, 97)[:, None]
_WEIGHTS = np.exp(-0.5 * _PLACES**2) / np.exp(-0.5 * _PLACES**2).sum()


@dataclass(frozen=True)
class Spread:
    """Estimated distribution of a layer's values, each (channels,).

    Attributes:
        mean, deviation: mean and standard deviation of the values.
        low, high: limits for nearly all values.
        from_norm: whether it follows from a batch norm, of this layer or of an earlier one.
    """

    mean: Numbers
    deviation: Numbers
    low: Numbers
    high: Numbers
    from_norm: bool


def spreads(graph: Graph) -> dict[str, Spread]:
    """Return the distributions of an optimised graph's layers by name, without the layers of unknown distribution."""
    distributions: dict[str, Spread] = {}
    for node in graph.nodes:
        spread = _of_input(graph, node) if node.operator.is_input else _of_layer(graph, node, distributions)
        if spread is not None:
            distributions[node.name] = spread
    return distributions


def from_norms(graph: Graph) -> Mapping[str, Spread]:
    """Return the distributions derived from a batch norm, by layer name."""
    if not any(NORMAL in node.attrs for node in graph.nodes):
        return {}
    return {name: spread for name, spread in spreads(graph).items() if spread.from_norm}


def _of_input(graph: Graph, node: Node) -> Spread | None:
    if node.attrs.get("scales") is None:
        return None
    low, high = Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"])).ends(graph.shapes[node.name][-1])
    low, high = np.minimum(low, high), np.maximum(low, high)
    return Spread((low + high) / 2.0, (high - low) / 12.0**0.5, low, high, from_norm=False)


def _of_layer(graph: Graph, node: Node, distributions: Mapping[str, Spread]) -> Spread | None:
    """Return the distribution of an output, from its batch norm or those of its inputs; None if unknown."""
    before = [distributions.get(name) for name in node.inputs]
    channels = graph.shapes[node.name][-1:]  # a tensor of the CPU can be a scalar without an axis
    if NORMAL in node.attrs and (len(node.attrs[NORMAL][0]),) == channels:
        mean, deviation = (np.asarray(statistics, np.float64) for statistics in node.attrs[NORMAL])
        others, from_norm = before[1:], True
    else:
        sources = [spread for spread in before if spread is not None]
        if len(sources) < len(before) or not sources:
            return None
        from_norm = any(spread.from_norm for spread in sources)
        if ops.get(node.op).has_kernel:
            mean, deviation = _of_products(node, sources[0])
            others = before[1:]
        elif ops.get(node.op).adds:
            mean, deviation = sources[0].mean, sources[0].deviation
            others = before[1:]
        else:
            return _of_others(graph, node, sources)
    for other in others:
        if other is None:
            return None
        mean, deviation = mean + other.mean, np.hypot(deviation, other.deviation)
    return _after_activation(node.activation, mean, deviation, from_norm=from_norm)


def _of_products(node: Node, source: Spread) -> tuple[Numbers, Numbers]:
    """Return mean and deviation of sums of products, for equal or independent texels of a channel.

    The larger of both deviations is used.
    """
    kernel, bias = (node.weights[name].astype(np.float64) for name in ("kernel", "bias"))
    if kernel.ndim == 2:
        return source.mean @ kernel + bias, np.sqrt(source.deviation**2 @ kernel**2)
    channel = input_channels(kernel.shape, node.attrs.get("groups", 1))
    mean = (kernel * source.mean[channel]).sum(axis=(0, 1, 2)) + bias
    alike, apart = kernel.sum(axis=(0, 1)) ** 2, (kernel**2).sum(axis=(0, 1))
    return mean, np.sqrt((np.maximum(alike, apart) * source.deviation[channel] ** 2).sum(axis=0))


def _of_others(graph: Graph, node: Node, before: list[Spread]) -> Spread | None:
    """Return the distribution after any other operator, from its results for constant maps; None if it fails.

    The maps have the mean, the mean plus or minus a deviation, and the limits of the inputs.
    """

    def results(constants: list[Numbers]) -> Numbers:
        maps = [
            np.broadcast_to(constant, graph.shapes[name]).astype(np.float32)
            for constant, name in zip(constants, node.inputs)
        ]
        values = np.asarray(node.operator.reference(node, maps), np.float64)
        return values.reshape(-1, values.shape[-1])

    try:
        middle = results([source.mean for source in before])
        moved = [results([source.mean + sign * source.deviation for source in before]) for sign in (-1.0, 1.0)]
        ends = [results([source.low for source in before]), results([source.high for source in before])]
    except (GlslInferError, ValueError, IndexError):
        return None
    deviation = np.abs(moved[1] - moved[0]).max(axis=0) / 2.0
    low, high = np.minimum(*ends).min(axis=0), np.maximum(*ends).max(axis=0)
    return Spread(middle.mean(axis=0), deviation, low, high, from_norm=any(source.from_norm for source in before))


def _after_activation(function: Activation, mean: Numbers, deviation: Numbers, *, from_norm: bool) -> Spread:
    """Return the distribution of a function of normal distributions."""
    with np.errstate(all="ignore"):
        values = np.asarray(function(mean + deviation * _PLACES), np.float64)
    middle = (_WEIGHTS * values).sum(axis=0)
    spread = np.sqrt((_WEIGHTS * (values - middle) ** 2).sum(axis=0))
    return Spread(middle, spread, values.min(axis=0), values.max(axis=0), from_norm=from_norm)


def warnings(ranges: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return a sentence if any ranges come from batch norms; ``ranges`` has (layer, method) for each."""
    layers = [layer for layer, by in ranges if by == BY_NORMS]
    if not layers:
        return ()
    others = f" and {len(layers) - 1} others" if len(layers) > 1 else ""
    return (
        f"layer '{layers[0]}'{others}: without images, ranges are estimated from the statistics of batch normalisation "
        f"(mean and {SIGMAS:g} standard deviations); give --images DIR with typical images for a smaller error",
    )
