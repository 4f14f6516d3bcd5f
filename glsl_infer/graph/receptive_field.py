"""Receptive field of a network: the input pixels that an output pixel depends on.

It gives the overlap with which an image can be divided into tiles without seams.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glsl_infer.graph.network import Graph
    from glsl_infer.graph.operators import AxisWindow


_TINY = 1e-6


@dataclass(frozen=True)
class ReceptiveField:
    """Receptive field in pixels of the input.

    Attributes:
        pixels: largest distance, to every side, of an input pixel that an output pixel depends on.
        step: shift of the input, in pixels, that shifts the output without changing it; more than 1 after strides.
    """

    pixels: int
    step: int


def receptive_field(graph: Graph) -> ReceptiveField | None:
    """Return the receptive field of a network with one input and one output; None if it is unlimited or unknown."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1 or len(graph.outputs[0].layers) != 1:
        return None
    (only_input,) = graph.inputs
    windows: dict[str, tuple[AxisWindow, AxisWindow]] = {}
    steps = [1.0]
    for node in graph.nodes:
        reads = node.operator.reads(node)
        input_windows = [windows[name] for name in node.inputs if name in windows]
        if reads is None or len(input_windows) < len(node.inputs) or (not node.inputs and node is not only_input):
            continue
        axes = [_merge_windows(reads[axis], [window[axis] for window in input_windows]) for axis in range(2)]
        if axes[0] is None or axes[1] is None:
            continue
        windows[node.name] = (axes[0], axes[1])
        steps += [axis[0] for axis in windows[node.name]]
    (last,) = graph.outputs[0].layers
    if last not in windows or any(step >= 1.0 and step != round(step) for step in steps):
        return None
    pixels = 0
    for step, first, end in windows[last]:  # an input pixel maps to output pixels at offsets 0 to 1 - step
        pixels = max(pixels, -math.ceil(first - _TINY), math.floor(end + 1.0 - step + _TINY))
    return ReceptiveField(pixels, math.lcm(*(round(step) for step in steps if step >= 1.0)))


def _merge_windows(reads: AxisWindow, inputs: Sequence[AxisWindow]) -> AxisWindow | None:
    """Return the window of the network's input that is read through some inputs; None if their steps differ."""
    step, first, last = reads
    if not inputs:
        return reads
    scale = inputs[0][0]
    if any(abs(window[0] - scale) > 1e-9 for window in inputs):
        return None
    lowest, highest = min(window[1] for window in inputs), max(window[2] for window in inputs)
    return step * scale, lowest + scale * first, highest + scale * last
