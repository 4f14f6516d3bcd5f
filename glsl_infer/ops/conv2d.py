"""Convolution with groups, strides and padding, and what is fused into it: bias, residual, activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer import codegen
from glsl_infer.activations import activation
from glsl_infer.conv_columns import Columns
from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.ops.zero_padding import pad
from glsl_infer.program import Quad, Slice

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering import Builder

MAX_SLICES = 8
"""Most slices an output slice may read: ES 2.0 promises 8 textures, and planar layout uses one each."""


class Conv2D(Operator):
    """``activation(convolution(input) + bias [+ residual])``.

    Inputs: the feature map, and the residual if there is one. Weights: ``kernel`` of shape (kernel height,
    kernel width, channels / groups, filters), as Keras has it, and ``bias`` (filters,).
    Attributes: ``strides`` (y, x), ``padding`` (top, bottom, left, right), ``groups``, ``activation``.
    """

    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": 1, "activation": "linear"}
    weights = ("kernel", "bias")

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, filters)."""
        height, width, channels = feature_map(node, inputs[0])
        kernel_height, kernel_width, group_channels, filters = node.weights["kernel"].shape
        groups = node.attrs["groups"]
        if group_channels * groups != channels or filters % groups or node.weights["bias"].shape != (filters,):
            raise ModelError.layer(
                node.name,
                f"a kernel of {node.weights['kernel'].shape} in {groups} groups on {channels} channels",
                "kernel, groups and channels must fit together",
            )
        top, bottom, left, right = node.attrs["padding"]
        out_height = (height + top + bottom - kernel_height) // node.attrs["strides"][0] + 1
        out_width = (width + left + right - kernel_width) // node.attrs["strides"][1] + 1
        if out_height < 1 or out_width < 1:
            raise ModelError.layer(
                node.name,
                f"a {kernel_height}x{kernel_width} kernel on {height}x{width} pixels",
                "the input is too small; use a larger picture or fewer strided layers",
            )
        out = (out_height, out_width, filters)
        if len(inputs) > 1 and inputs[1] != out:
            raise ModelError.layer(node.name, f"a residual of {inputs[1]} on an output of {out}", "make them equal")
        return out

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Convolve by one matrix product a group; the residual comes before the activation."""
        x = inputs[0]
        kernel, bias = node.weights["kernel"].astype(x.dtype), node.weights["bias"].astype(x.dtype)
        out = convolve(pad(x, node.attrs["padding"]), kernel, node.attrs["strides"], node.attrs["groups"]) + bias
        if len(inputs) > 1:
            out = out + inputs[1]
        return activation(node.attrs["activation"]).reference(out)

    def padding(self, node: Node) -> int:
        """Return the widest of the four paddings."""
        return int(max(node.attrs["padding"]))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice."""
        source = build.feature_map(node.inputs[0])
        columns = Columns.of(node, source.channels)
        if columns.slots > MAX_SLICES:
            wide = columns.group_channels > 4 * MAX_SLICES
            raise ModelError.layer(
                node.name,
                f"4 output channels read {4 * columns.slots} input channels ({columns.group_channels} in a group)",
                f"at most {4 * MAX_SLICES} are supported; "
                + (
                    "use more groups"
                    if wide
                    else "make the filters of a group a multiple of 4, so that fewer groups meet"
                ),
            )
        build.require_8_bits(node, node.attrs["activation"])
        packed = columns.pack(node.weights["kernel"], node.weights["bias"], activation(node.attrs["activation"]).zero)
        member = build.weights(node, ".f32", packed.astype("<f4").tobytes())
        target = build.allocate_map(node)
        residual = build.feature_map(node.inputs[1]) if len(node.inputs) > 1 else None
        mode = build.weights_mode(node, slices=len(target.views), vectors=columns.count)

        stride_y, stride_x = node.attrs["strides"]
        top, _, left, _ = node.attrs["padding"]
        samplers = [("source", source.views[0].texture)]
        sources = [(0, float(stride_x), float(stride_y))] * columns.slots
        if residual is not None:
            samplers.append(("residual", residual.views[0].texture))
            sources.append((1, 1.0, 1.0))
        for index, view in enumerate(target.views):
            origins = [(source.views[s].x - left, source.views[s].y - top) for s in columns.read_by(index)]
            if residual is not None:
                origins.append((residual.views[index].x, residual.views[index].y))
            weights = packed[index] if mode == "baked" else None
            uniforms: dict[str, Sequence[float] | Slice] = {"texel": build.texel(source.views[0].texture)}
            if mode == "uniform":
                uniforms["weights"] = Slice(member, index * packed[index].size, packed[index].size)
            build.draw(
                node,
                self._fragment(node, columns, weights, residual is not None),
                target.views[0].texture,
                samplers=samplers,
                sources=sources,
                quads=[Quad(view.x, view.y, target.width, target.height, tuple(origins))],
                uniforms=uniforms,
                part=index if mode == "baked" else None,
            )

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return kernel and bias from the packed columns."""
        groups = node.attrs["groups"]
        columns = Columns(shapes["kernel"], groups, shapes["kernel"][2] * groups)
        kernel, bias = columns.unpack(np.frombuffer(members[0], "<f4"))
        return {"kernel": kernel, "bias": bias}

    def _fragment(self, node: Node, columns: Columns, weights: NDArray[np.float32] | None, residual: bool) -> str:
        samplers = ["source", *(["residual"] if residual else [])]
        defines: dict[str, int | float | str] = {}
        if weights is None:
            defines["WEIGHT_COUNT"] = columns.count
            defines["BIAS"] = f"weights[{columns.count - 1}]"
        else:
            defines["BIAS"] = codegen.vec(weights[-1])
        if residual:
            defines["RESIDUAL_COORD"] = codegen.coordinate(columns.slots)
        return codegen.fragment(
            "convolution.frag",
            includes=["store.glsl"],
            activation=node.attrs["activation"],
            lines={
                "declarations": codegen.declarations(columns.slots + residual, samplers),
                "taps": columns.taps(weights, codegen.coordinate),
            },
            defines=defines,
        )


def convolve(x: Array, kernel: Array, strides: Sequence[int], groups: int) -> Array:
    """Convolve padded ``x`` (height, width, channels) without further padding.

    Args:
        x: the input.
        kernel: (kernel height, kernel width, channels / groups, filters).
        strides: (y, x).
        groups: number of groups; channels and filters are split evenly and in order.

    Returns:
        (output height, output width, filters) in the type of ``x``.
    """
    kernel_height, kernel_width, group_channels, filters = kernel.shape
    height = (x.shape[0] - kernel_height) // strides[0] + 1
    width = (x.shape[1] - kernel_width) // strides[1] + 1
    patches = np.empty((groups, height * width, kernel_height * kernel_width * group_channels), x.dtype)
    tap = 0
    for ky in range(kernel_height):
        for kx in range(kernel_width):
            window = x[ky : ky + strides[0] * height : strides[0], kx : kx + strides[1] * width : strides[1]]
            grouped = window[:height, :width].reshape(height * width, groups, group_channels)
            patches[:, :, tap : tap + group_channels] = grouped.transpose(1, 0, 2)
            tap += group_channels
    grouped_kernel = kernel.reshape(tap, groups, filters // groups).transpose(1, 0, 2)
    out: Array = (patches @ grouped_kernel).transpose(1, 0, 2).reshape(height, width, filters)
    return out


OPERATOR = Conv2D()
