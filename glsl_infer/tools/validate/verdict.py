"""Cause of a difference between a bundle and its model: rounding at the export, or errors of this driver.

The exact reference (``graph.reference``) computes a bundle in NumPy with its stored precision. The self-check compares
the driver with the reference, layer by layer. If it passes, the bundle causes the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.ranges.sensitivity import loses_most
from glsl_infer.graph import reference
from glsl_infer.graph.host_steps import softmax
from glsl_infer.program.layout import FeatureMap, Range, SixteenBitMap
from glsl_infer.tools.validate.measures import Agreement

PICTURES = 2
"""Number of samples computed by the reference, which takes seconds for each."""

_OF_EXPORT = (
    "the exported model differs: it was made with another --input-range than given here, or its 8 bits are too few"
)
_EXPORT = "to come nearer, export with --images and more typical images, with --tolerance 0.01, or with --precision 16"


class Verdict:
    """Cause of the difference over the added samples.

    Args:
        bundle: the bundle.
        softmax: the outputs compared after a softmax.
    """

    def __init__(self, bundle: Bundle, softmax: Sequence[str]) -> None:
        self._bundle, self._softmax = bundle, frozenset(softmax)
        self._exact: dict[str, Agreement] = {}
        self._drawn: dict[str, Agreement] = {}

    def add(
        self,
        sample: Mapping[str, NDArray[Any]],
        drawn: Mapping[str, NDArray[Any]],
        expected: Mapping[str, NDArray[Any]],
    ) -> None:
        """Add a sample.

        Args:
            sample: inputs of the network.
            drawn: outputs of the GPU by name, before any softmax.
            expected: outputs of the model, after the softmax if it is compared.
        """
        for name, exact in reference.run(self._bundle, sample).items():
            model = np.asarray(expected[name])
            self._exact.setdefault(name, Agreement()).add(self._compared(name, exact), model)
            self._drawn.setdefault(name, Agreement()).add(
                np.asarray(drawn[name], np.float64), np.asarray(exact, np.float64).reshape(np.shape(drawn[name]))
            )

    def _compared(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        return softmax(np.asarray(values, np.float64)) if name in self._softmax else np.asarray(values)

    def as_json(self) -> dict[str, dict[str, float]]:
        """Return by output: cosine of the reference with the model, and of the GPU with the reference."""
        return {
            name: {"reference_cosine": exact.cosine, "driver_cosine": self._drawn[name].cosine}
            for name, exact in self._exact.items()
        }


def lost(bundle: Bundle, samples: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, Any] | None:
    """Return the loss of the map whose rounding affects the outputs most, as plain data; None without a loss.

    The result is None for a bundle with parts on the CPU.
    """
    layer = None if len(bundle.parts) > 1 else loses_most(bundle.graph, samples[:PICTURES])
    return None if layer is None or not layer.alone else asdict(layer)


def blamed(agreement: Mapping[str, Any]) -> list[str]:
    """Return a sentence about the layer that loses most, if ``compare`` has determined it."""
    layer = agreement.get("loses_most")
    if not layer:
        return []
    name = layer["layer"]
    gains = (
        f"--precision-for {name}=16 makes the error {layer['in_sixteen']:.2%} instead of {layer['error']:.2%}"
        if layer["in_sixteen"] < layer["error"]
        else f"--precision-for {name}=16 alone gains nothing: other layers lose as much"
    )
    return [
        f"layer '{name}' loses most: its 8 bits alone move the outputs by {layer['alone']:.2%} of their spread; {gains}"
    ]


def sentences(agreement: Mapping[str, Any]) -> list[str]:
    """Return sentences for the user about outputs beyond a threshold, from the result of ``compare``."""
    lines = blamed(agreement)
    for end in agreement["outputs"]:
        whose = "" if len(agreement["outputs"]) == 1 else f"output '{end['name']}': "
        if "reference_cosine" in end:
            exact, driver = end["reference_cosine"], end["driver_cosine"]
            sentence = f"{whose}on {agreement['judged']} images the exact reference (NumPy) has a cosine of {exact:.6g}"
            sentence += f" with the model, and the GPU {driver:.6g} with the reference: "
            if agreement["wrong"] is None:
                lines.append(f"{sentence}this driver is right, {_OF_EXPORT}; {_EXPORT}")
            else:
                where = f"(first in '{agreement['wrong']}')"
                lines.append(f"{sentence}this driver computes something else {where}; run 'glsl-infer selfcheck' on it")
        if end.get("top1", 1.0) < 1.0:
            lines.append(
                f"{whose}where the first labels differ, the model itself has them at most {end['margin']:.2g} apart, "
                f"{end['margin_share']:.1%} of its outputs' spread"
                + (
                    "; such close labels mean nothing: untrained weights, or images that the model is not for"
                    if end["margin_share"] < 0.2
                    else ""
                )
            )
    return lines


def stored_ranges(bundle: Bundle) -> dict[str, Range]:
    """Return the ranges of the feature maps stored by a bundle, by layer."""
    return {
        layer.name: layer.output.range
        for part in bundle.gpu_parts
        for layer in part.network.layers
        if "scales" in layer.attrs and isinstance(layer.output, (FeatureMap, SixteenBitMap))
    }


class ClippedCount:
    """Values of a layer at the bounds of its range where the model's are beyond them by half a step or more.

    Args:
        range_: range of the layer; None if it has none: nothing is then counted.

    Attributes:
        zeros: number of values clipped to the minimum.
        full: number of values clipped to the maximum.
    """

    def __init__(self, range_: Range | None) -> None:
        self._range, self._count = range_, 0
        self.zeros = self.full = 0

    def add(self, actual: NDArray[np.floating], expected: NDArray[np.floating]) -> None:
        """Add an output, (height, width, channels), and the model's."""
        if self._range is None or actual.ndim != 3:
            return
        low, high = self._range.ends(actual.shape[2])
        half = 0.5 * (high - low) / (255.0 if self._range.bits == 8 else 65280.0)
        self._count += actual.size
        self.zeros += int(((actual < low + half) & (expected < low - half)).sum())
        self.full += int(((actual > high - half) & (expected > high + half)).sum())

    def as_json(self) -> dict[str, float]:
        """Return both counts and their share of all values, as plain data; empty for a layer without a range."""
        if not self._count:
            return {}
        share = (self.zeros + self.full) / self._count
        return {"clipped_zeros": self.zeros, "clipped_full": self.full, "clipped_share": share}
