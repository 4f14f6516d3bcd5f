"""Values that a layer's range clips on the user's own input: bytes of 0 and 255 that its function does not explain."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.graph.host_steps import PROBABLE
from glsl_infer.program.layout import FeatureMap, SixteenBitMap
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.plain_text import first_of
from glsl_infer.support.records import dataclass

if TYPE_CHECKING:
    from glsl_infer.bundle import Bundle
    from glsl_infer.runtime.session import Session

MUCH = 0.001
"""Share of a layer's values above which the user is warned."""


@dataclass(frozen=True)
class Saturation:
    """Values of a layer at the bounds of its range.

    Attributes:
        layer: its name.
        low: share of its values stored as the lowest byte, although its function can go lower.
        high: share stored as the highest byte, although its function can go higher.
    """

    layer: str
    low: float
    high: float

    @property
    def share(self) -> float:
        """Share of the layer's values at either bound."""
        return self.low + self.high


def check(session: Session, inputs: Any) -> tuple[Saturation, ...]:
    """Run an input layer by layer; return the layers with values at the bounds of their ranges, largest share first.

    Args:
        session: a session of a bundle.
        inputs: in a form that ``Session.run`` accepts.
    """
    bounds = {name: pair for part in session.bundle.gpu_parts for name, pair in _open_bounds(part).items()}
    layers = []
    for name, values in session.layers(inputs):
        if name in bounds:
            (low, high), is_open = bounds[name]
            shares = [
                float((values <= low).mean()) if is_open[0] else 0.0,
                float((values >= high).mean()) if is_open[1] else 0.0,
            ]
            layers += [Saturation(name, *shares)] if any(shares) else []
    return tuple(sorted(layers, key=lambda layer: -layer.share))


def warn(layers: Iterable[Saturation]) -> None:
    """Warn about layers that clip more than ``MUCH`` of their values."""
    warning = sentence(layers)
    if warning:
        warnings.warn(warning, stacklevel=3)


def sentence(layers: Iterable[Saturation]) -> str:
    """Return a sentence about the layers that clip more than ``MUCH``; empty without such layers."""
    clipping = [layer for layer in layers if layer.share > MUCH]
    if not clipping:
        return ""
    named = first_of([f"'{layer.layer}' ({100.0 * layer.share:.2g} % of its values)" for layer in clipping], 3)
    return (
        f"ranges clip values of this input in the layers {named}: export with --images and more images like "
        "it, or with --precision 16"
    )


Bounds = tuple[tuple[NDArray[np.float64], NDArray[np.float64]], tuple[bool, bool]]
"""Bounds of a layer's stored values, half a step inward, and whether its function continues beyond each."""


def _open_bounds(bundle: Bundle) -> dict[str, Bounds]:
    """Return the layers whose ranges can clip a value that a reader distinguishes from the bounds."""
    network = bundle.network
    readers: dict[str, list[Node]] = {layer.name: [] for layer in network.layers}
    nodes = [Node(layer.name, layer.op, layer.inputs, layer.attrs) for layer in network.layers]
    for node in nodes:
        for name in node.inputs:
            readers[name].append(node)
    likely = {
        name
        for output in network.outputs
        if any(step.step in PROBABLE for step in output.steps)
        for name in output.layers
    }
    bounds: dict[str, Bounds] = {}
    for node, layer in zip(nodes, network.layers):
        value = layer.output
        if not node.inputs or "scales" not in layer.attrs or not isinstance(value, (FeatureMap, SixteenBitMap)):
            continue
        if node.name in likely or (readers[node.name] and all(map(_levels_off, readers[node.name]))):
            continue  # a sigmoid maps all values beyond the bounds to the same result
        low, high = value.range.ends(value.channels)
        step = (high - low) / (255.0 if value.range.bits == 8 else 65280.0)
        function = node.activation
        is_open = bool((low > function.low + step).any()), bool((high < function.high - step).any())
        if any(is_open):
            bounds[node.name] = (low + 0.5 * step, high - 0.5 * step), is_open
    return bounds


def _levels_off(node: Node) -> bool:
    """Return whether a node only applies a function nearly flat at its bounds, such as a sigmoid."""
    return "function" in node.attrs and node.activation.bounded and not node.activation.clips
