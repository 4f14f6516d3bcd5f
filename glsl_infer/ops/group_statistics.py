"""Combine means and deviations of channels to those of groups of channels, in 16-bit fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder

STATISTICS = ("mean", "deviation")


class GroupStatistics(Operator):
    """Mean or standard deviation of groups of channels, from vectors of the channels' means and deviations.

    Attributes: ``groups``, the number of equal, consecutive groups; ``statistic``, ``mean`` or ``deviation``; ``scale``
    of the stored vector, which has an element for each channel.
    """

    attrs = {"groups": 1, "statistic": "mean", "scale": None}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (channels,)."""
        channels, groups = vector(node, inputs[0]), node.attrs["groups"]
        if len(inputs) != 2 or tuple(inputs[1]) != (channels,) or node.attrs["statistic"] not in STATISTICS:
            raise ModelError.layer(
                node.name, f"statistics of {list(inputs)}", "give means and deviations of the same channels"
            )
        if groups < 1 or channels % groups:
            raise ModelError.layer(node.name, f"{groups} groups of {channels} channels", "give a divisor")
        return (channels,)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Combine the statistics of each group, and repeat them for its channels."""
        means, deviations = (x.reshape(node.attrs["groups"], -1) for x in inputs)
        mean: Array = means.mean(axis=1, keepdims=True)
        if node.attrs["statistic"] == "deviation":
            mean = np.sqrt((np.square(deviations) + np.square(means - mean)).mean(axis=1, keepdims=True))
        return np.repeat(mean[:, 0], means.shape[1])

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds, equal for all channels."""
        (low, high), (_, deviation) = inputs
        if node.attrs["statistic"] == "mean":
            return np.full(shape, low.min()), np.full(shape, high.max())
        largest = np.hypot((high.max() - low.min()) / 2.0, deviation.max())
        return np.zeros(shape), np.full(shape, largest)

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the vector in one quad; each texel reads all channels of its group."""
        means, deviations = (build.fixed_point(name) for name in node.inputs)
        target = build.allocate_vector(node, means.length, node.attrs["scale"])
        needs_deviations = node.attrs["statistic"] == "deviation"
        reads = {"means": [Read(View(means.texture, 0, 0))]}
        if needs_deviations:
            reads["deviations"] = [Read(View(deviations.texture, 0, 0))]
        binding = build.bind(node, **reads)
        fragment = codegen.fragment(
            "group_statistics.frag",
            includes=["fixed_point.glsl", "turns.glsl"],
            lines={"declarations": binding.declarations(*reads)},
            defines={
                "MEMBERS": means.length // node.attrs["groups"],
                "MEANS_SCALE": means.scale,
                "INVERSE_SCALE": 1.0 / target.scale,
                **({"DEVIATIONS_SCALE": deviations.scale} if needs_deviations else {}),
            },
        )
        build.draw_tile(node, fragment, View(target.texture, 0, 0), target.size, binding, binding.texels(*reads))


OPERATOR = GroupStatistics()
