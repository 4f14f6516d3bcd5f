"""Amplification of rounding errors by layers, and the error of 8-bit maps compared with 32-bit floats.

Two measures show whether a network suits shaders. The *gain* of a convolution is the change of its output, in steps, if
every value that it reads changes by one step in the worst direction. It follows from weights and ranges alone. A sum
can pass through ``255 * gain`` steps on its way to one of 255, and 32-bit floats round each addition by up to ``255 *
gain * 2**-24`` of a step. With a large gain, the results of two GPUs differ, and the rounding of the inputs has a large
effect. The *error* of a feature map is the difference between the stored and the float network, root mean square over
calibration images. Small gains over many layers make it large as well, unless training made the network robust to small
changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.kernels import input_channels
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering.texture_choice import ROUNDING
from glsl_infer.program.layout import FeatureMap, SixteenBitMap, Value
from glsl_infer.program.texels import shape_of
from glsl_infer.support import blocks
from glsl_infer.support.parallel import parallel_map

MAX_GAIN = ROUNDING * 2.0**24 / 255.0
"""Limit of the gain, about 1316.

Beyond it, an addition can round by more than ``ROUNDING`` of a step, the limit of the tests of drivers.
"""

MAX_ERROR = 8.0
"""Limit of the error, root mean square, in steps of 255: three of eight bits. The shipped models stay below 3."""


def gains(graph: Graph, values: Mapping[str, Value]) -> dict[str, float]:
    """Return the gain of every convolution, the largest of its channels, by the layer with its sums.

    Args:
        graph: the graph of a bundle, or a prepared one, with the weights as shaders have them.
        values: location of each layer's output.
    """
    gain_of = {}
    with np.errstate(all="ignore"):  # Weights of a model file can have any value.
        for node in graph.nodes:
            products = ops.get(node.op).products(graph, node)
            if products is not None:
                gain_of[node.name] = _gain(node, *products, values)
    return gain_of


def rounding(gain: float) -> float:
    """Return the largest rounding error of one 32-bit addition in steps of the output; several can add up to more."""
    return 255.0 * gain * 2.0**-24


def errors(floats: Graph, stored: Graph, images: Sequence[Inputs]) -> dict[str, float]:
    """Return the error of each feature map against the float network, root mean square, in steps of 8 bits.

    Args:
        floats: a prepared graph.
        stored: the same graph with the weights as shaders have them.
        images: images as for ``reference.run``, at least one.
    """

    def squares_of(image: Inputs) -> dict[str, float]:
        squares: dict[str, float] = {}
        pairs = zip(reference.layers(floats, image, mode="float"), reference.layers(stored, image, mode="stored"))
        for (name, exact), (_, rounded) in pairs:
            node = stored.by_name[name]
            if exact.ndim == 3 and "scales" in ops.get(node.op).attrs:
                steps, total = 255.0 / np.asarray(node.attrs["scales"]), 0.0
                for rows in blocks.rows(exact.shape):
                    error = (rounded[rows] - exact[rows]) * steps
                    total += float((error**2).sum())
                squares[name] = total / exact.size
        return squares

    sums = list(parallel_map(squares_of, images))
    return {name: math.sqrt(sum(squares[name] for squares in sums) / len(images)) for name in sums[0]}


def warnings(
    layer_gains: Mapping[str, float], layer_errors: Mapping[str, float], *, calibrated: bool = False
) -> tuple[str, ...]:
    """Return a sentence about gains beyond ``MAX_GAIN``, and one about errors beyond ``MAX_ERROR``.

    Args:
        layer_gains: the result of ``gains``.
        layer_errors: the result of ``errors``, in the order of computation.
        calibrated: whether there were calibration images.
    """
    advice = "calibrate with more varied images" if calibrated else "give more varied images with --images DIR"
    sentences = []
    steep = {name: gain for name, gain in layer_gains.items() if not gain <= MAX_GAIN}
    if steep:
        first = next(iter(steep))
        steepest = max(steep, key=lambda name: np.nan_to_num(steep[name], nan=np.inf))
        count_note = (
            f" (the worst of {len(steep)} such layers is '{steepest}', {steep[steepest]:.0f})" if len(steep) > 1 else ""
        )
        sentences.append(
            f"layer '{first}': a step in what it reads may be {steep[first]:.0f} steps of its output{count_note}, and "
            f"32-bit sums carry {MAX_GAIN:.0f}: each addition rounds by up to {rounding(steep[steepest]):.2g} of a "
            "step, and GPUs will differ; a channel has large weights that cancel, or hardly changes on the calibration "
            f"images: train it with weight decay, or {advice}"
        )
    beyond = [name for name, error in layer_errors.items() if not error <= MAX_ERROR]
    if beyond:
        worst = max(beyond, key=lambda name: layer_errors[name])
        sentences.append(
            f"layer '{beyond[0]}': 8 bits are off by {layer_errors[beyond[0]]:.1f} of 255 steps here (root mean "
            f"square; {MAX_ERROR:g} is the bound), by {layer_errors[worst]:.1f} in '{worst}': the layers enlarge the "
            "rounding of those before them; calibrate on images as the network will see them, or train with 8-bit "
            "rounding (quantized: true in a recipe, docs/guide/train-x22.md), and compare with glsl-infer validate"
        )
    return tuple(sentences)


def _gain(node: Node, reader: Node, kernel: NDArray[np.float32], values: Mapping[str, Value]) -> float:
    """Return the gain of a convolution.

    Args:
        node: the layer with the sums.
        reader: the reader of the feature map; differs from ``node`` if the convolution is in two parts.
        kernel: (kernel height, kernel width, channels / groups, filters), in real units.
        values: location of each layer's output.
    """
    channel = input_channels(kernel.shape, reader.attrs["groups"])
    summed = (np.abs(kernel.astype(np.float64)) * _width(values[reader.inputs[0]])[channel]).sum(axis=(0, 1, 2))
    residuals = [name for name in node.inputs[1:] if len(shape_of(values[name])) == 3]
    for name in residuals:
        summed = summed + _width(values[name])
    return float((summed * _steepest(node, values[node.name]) / _width(values[node.name])).max())


def _width(value: Value) -> NDArray[np.float64]:
    """Return the value of 255 steps of each channel, (channels,)."""
    if isinstance(value, (FeatureMap, SixteenBitMap)):
        return np.abs(value.scale_of)
    return np.full(shape_of(value)[-1], value.scale * 255.0 / 256.0)


def _steepest(node: Node, value: Value) -> float:
    """Return the largest slope of a node's activation within the range of stored results."""
    low, high = (
        value.range.ends(value.channels) if isinstance(value, (FeatureMap, SixteenBitMap)) else (-np.inf, np.inf)
    )
    return node.activation.steepest(float(np.min(low)), float(np.max(high)))
