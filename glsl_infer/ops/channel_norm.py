"""Normalisation over the channels of each pixel: layer norm, root mean square and unit length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.across_channels import ROLE, AllSlices, all_slices
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.norm_rules import SMALLEST_ROOT_ARGUMENT, require_kind, require_lengths
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program.layout import per_channel

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.bindings import Binding
    from glsl_infer.lowering.builder import Builder


class ChannelNorm(Operator):
    """``activation(gamma * (x - m) / sqrt(v + epsilon) + beta)``, with statistics of the channels of a pixel.

    Attributes: ``kind``: for ``layer``, m is the mean and v the variance; for ``rms``, m is 0 and v the mean square;
    for ``unit``, m is 0 and v the sum of squares. ``gamma`` and ``beta``: one element, or one for each channel.
    ``epsilon``; ``activation``; the range ``scales`` and ``zeros``.
    """

    attrs = {
        "kind": "layer",
        "gamma": (1.0,),
        "beta": (0.0,),
        "epsilon": 1e-3,
        "activation": "linear",
        "scales": None,
        "zeros": None,
    }
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        shape = feature_map(node, inputs[0])
        require_kind(node)
        require_lengths(node, shape[2])
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Normalise along the last axis."""
        x, kind = inputs[0], node.attrs["kind"]
        x = x - x.mean(axis=-1, keepdims=True) if kind == "layer" else x
        squares = np.square(x)
        variance = (np.sum if kind == "unit" else np.mean)(squares, axis=-1, keepdims=True)
        root = np.sqrt(np.maximum(variance + node.attrs["epsilon"], SMALLEST_ROOT_ARGUMENT))
        gamma, beta = (np.asarray(node.attrs[name], x.dtype) for name in ("gamma", "beta"))
        return node.activation((gamma * (x / root) + beta).astype(x.dtype))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each slice, which reads all slices: once, or twice if a mean is subtracted."""
        source, subtracts_mean = build.feature_map(node.inputs[0]), node.attrs["kind"] == "layer"
        slices = all_slices(source, centred=not subtracts_mean)
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        out = fold.output(node.activation, node.attrs, target.channels)
        gamma, beta = (per_channel(node.attrs[name], target.channels) for name in ("gamma", "beta"))
        factor = fold.slices(out.factor * gamma)
        offset = fold.slices(out.offset + out.factor * beta, out.pad)
        count = 1 if node.attrs["kind"] == "unit" else source.channels
        for index, view in enumerate(target.views):
            binding = build.bind(node, own=[Read(source.views[index])], **{ROLE: slices.reads})
            fragment = codegen.fragment(
                "channel_norm.frag",
                includes=["store.glsl", "late.glsl"],
                activation=out.activation,
                constants=out.constants,
                saturates=True,
                lines={
                    "declarations": binding.declarations(ROLE),
                    **_sums(slices, binding, mean=subtracts_mean),
                    "own": [f"y = own_factor * {binding.fetch('own')} + own_offset;"],
                },
                defines={
                    "SHARE": 1.0 / count,
                    "EPSILON": node.attrs["epsilon"] / slices.unit**2,
                    "LEAST": SMALLEST_ROOT_ARGUMENT / slices.unit**2,
                },
            )
            uniforms = {
                **binding.texels(ROLE),
                **slices.slice_uniforms(index),
                "factor": factor[index].tolist(),
                "offset": offset[index].tolist(),
                **out.uniforms(index),
            }
            size = (target.width, target.height)
            build.draw_tile(node, fragment, view, size, binding, uniforms)


def _sums(slices: AllSlices, binding: Binding, *, mean: bool) -> dict[str, list[str]]:
    """Return the lines that add all elements (for the mean) and subtract their squares, by placeholder of the shader.

    The sum of squares is negative, because compilers remove the ordering of fetches after a sum known to be positive.
    """
    masks = [slices.mask(index) for index in range(len(slices.source.views))]
    sums = []
    if mean:
        sums = [f"sum += {_masked(text, mask)};" for text, mask in zip(slices.numbers(binding, "sum"), masks)]
    squares = []
    for text, mask in zip(slices.numbers(binding, "squares" if mean else ""), masks):
        deviation = f"({text} - mean){mask}" if mean else _masked(text, mask)
        squares += [f"x = {deviation};", "squares -= x * x;"]
    return {"sums": sums, "squares": squares}


def _masked(text: str, mask: str) -> str:
    return f"({text}){mask}" if mask else text


OPERATOR = ChannelNorm()
