"""Convolution with groups, strides and padding, and its fused bias, residual and activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import conv_arrays, conv_texture, fold, texture_choice, weight_pairs, weights_plan
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.builder import FinerOffer
from glsl_infer.lowering.conv_columns import Columns, columns_of
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.ops.convolution_window import convolve, output_size
from glsl_infer.ops.operator import Operator
from glsl_infer.ops.traits import AxisWindow, window_reads
from glsl_infer.ops.zero_padding import pad
from glsl_infer.program.layout import FeatureMap, FixedPoint, SixteenBitMap, View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Graph, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value


class Conv2D(Operator):
    """``activation(convolution(input) + bias [+ residual])``.

    Inputs: the feature map, and the residual if any. Weights: ``kernel`` of shape (kernel height, kernel width,
    channels / groups, filters), as in Keras, and ``bias`` (filters,). Attributes: ``strides`` (y, x), ``padding`` (top,
    bottom, left, right), ``groups``, ``dilations`` (y, x), distances of taps in pixels; ``activation``, the range
    ``scales`` and ``zeros``; ``alpha``: whether the input is an image whose fourth lane supplies its offset. This lane
    is 1 inside and 0 in the gutter, so padding has the value 0.

    A draw reads any number of input slices in up to 8 textures (``lowering.conv_draws``). ``wide`` splits other
    convolutions first.
    """

    attrs = {
        "strides": (1, 1),
        "padding": (0, 0, 0, 0),
        "groups": 1,
        "dilations": (1, 1),
        "activation": "linear",
        "alpha": False,
        "scales": None,
        "zeros": None,
    }
    implied = ("dilations",)
    weights = ("kernel", "bias")
    convolves = True
    has_kernel = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, filters)."""
        filters = node.weights["kernel"].shape[3]
        if node.weights["bias"].shape != (filters,):
            raise ModelError.layer(node.name, f"a bias of {node.weights['bias'].shape}", f"it must be ({filters},)")
        output_shape = (*output_size(node, inputs[0]), filters)
        if len(inputs) > 1 and inputs[1] != output_shape:
            raise ModelError.layer(
                node.name, f"a residual of {inputs[1]} on an output of {output_shape}", "make them equal"
            )
        return output_shape

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        height, width = node.weights["kernel"].shape[:2]
        down, across = node.attrs["dilations"]
        return window_reads(node, (height - 1) * down + 1, (width - 1) * across + 1)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Convolve with one matrix product for each group; add the residual before the activation."""
        x = inputs[0]
        kernel, bias = (node.weights[name].astype(x.dtype, copy=False) for name in ("kernel", "bias"))
        strides, groups, dilations = (node.attrs[key] for key in ("strides", "groups", "dilations"))
        out = convolve(pad(x, node.attrs["padding"]), kernel, strides, groups, dilations)
        out += bias
        if len(inputs) > 1:
            out += inputs[1]
        return node.activation.over(out)

    def padding(self, node: Node) -> int:
        """Return the largest of the four paddings."""
        return int(max(node.attrs["padding"]))

    def products(self, graph: Graph, node: Node) -> tuple[Node, NDArray[np.float32]]:
        """Return the node itself."""
        return node, node.weights["kernel"]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice, or one for all slices with weights in a texture."""
        layer = _Layer(node, build)
        mode = build.weights_choice(layer.weights)
        if build.planning:
            layer.plan(mode)
        elif mode == "texture":
            weights = layer.pack()
            conv_texture.draw(
                node,
                build,
                columns=layer.columns,
                weights=weights,
                reads=layer.reads,
                target=layer.target,
                output=layer.kernel.output,
            )
            build.replace_weights(node, layer.as_rounded(weights))
        else:
            conv_arrays.draw(
                node,
                build,
                columns=layer.columns,
                constants=layer.constants,
                mode=mode,
                reads=layer.reads,
                target=layer.target,
                output=layer.kernel.output,
            )

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return kernel and bias from the packed columns."""
        maps = [source for source in inputs if isinstance(source, (FeatureMap, SixteenBitMap))]
        kernel = fold.Kernel(node, maps[0], maps[1] if len(maps) > 1 else None, shapes["kernel"])
        height, width, channels, filters = shapes["kernel"]
        columns = columns_of(
            (height, width, fold.ALPHA + 1 if kernel.alpha else channels, filters), node.attrs["groups"]
        )
        if len(members) == 2:
            stored = conv_texture.read(members[0], members[1], columns).unpack()
        else:
            packed = conv_arrays.out_of_units(np.frombuffer(members[0], "<f4").reshape(columns.slices, -1, 4))
            stored = Constants(packed[:, : columns.count], packed[:, -1])
        return _unfolded(kernel, columns, stored, filters)


class _Layer:
    """A convolution whose output is allocated, with the possible storage of its weights.

    Attributes:
        kernel: conversion of its weights to units of texels and of the stored output.
        columns: layout of the kernel's columns.
        constants: its weights in this layout.
        target: the output.
        reads: reads of each output slice, by role.
        texture: storage of the weights in a texture.
        weights: properties of the layer that the choice of the storage depends on.
    """

    def __init__(self, node: Node, build: Builder) -> None:
        self._node, self._build = node, build
        source, *residuals = build.maps_of(node)
        residual = residuals[0] if residuals else None
        self.kernel = fold.Kernel(node, source, residual, node.weights["kernel"].shape)
        folded, bias = self.kernel.fold(node.weights["kernel"], node.weights["bias"])
        self.columns = columns_of(folded.shape, node.attrs["groups"], node.attrs["dilations"])
        # If the residual is the input image, a factor also keeps its alpha out of padding lanes.
        shows_alpha = residual is not None and build.shows_alpha(residual)
        scales_residual = bool((self.kernel.residual_factor != 1.0).any()) or shows_alpha
        self.constants = Constants(
            self.columns.pack(folded),
            fold.slices(bias, self.kernel.output.pad),
            fold.slices(self.kernel.residual_factor) if scales_residual else None,
            tuple(self.kernel.output.numbers.values()),
        )
        self.target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        self.reads = _reads(node, self.columns, source, residual, build.gate(node))
        self._in_pairs = (
            self.target.bits == 16 and weight_pairs.fits(self.columns) and self.kernel.output.alike_in_lanes
        )
        # A 16-bit output has 16-bit weights if they can be in a texture. 8-bit weights rounded for calibration images
        # are nearly as exact, and are used unless most maps have 16 bits.
        has_images = build.calibration_maps.has_images
        tolerates_rounding = has_images and build.tolerates_rounding
        self._options = texture_choice.ConvolutionWeights(
            self.reads,
            self.columns,
            self.constants,
            alpha=self.kernel.alpha,
            steepness=self.kernel.output.steepness if self.constants.numbers else None,
            reads_16_bits=source.bits == 16,
            stores_16_bits=self.target.bits == 16,
            tolerates_rounding=tolerates_rounding,
            in_pairs=self._in_pairs,
            has_images=has_images,
            takes_root=self.kernel.output.takes_root,
        )
        self.texture = self._texture_option(prefers_16_bits=self.target.bits == 16 and not tolerates_rounding)
        self.weights = self._properties()

    def plan(self, mode: str) -> None:
        """Add the layer to a plan, and offer more than 8 bits for weights in a texture."""
        self._build.plan_convolution(self._node, self.weights, mode)
        if mode != "texture" or self.texture.bits != 8:
            return
        untextured = self._options.in_texture("16").untextured or self.kernel.output.untextured
        finer = replace(self.weights, bits=16, untextured=untextured)

        def rounded_node() -> Node:
            return replace(self._node, weights=self.as_rounded(self.pack()))

        self._build.offers[self._node.name] = FinerOffer(self.weights, finer, rounded_node)

    def pack(self) -> texture_choice.Weights:
        """Return the texture of the weights."""
        return self.texture.packed(self._node, self._build, self.columns, self.constants, in_pairs=self._in_pairs)

    def as_rounded(self, weights: texture_choice.Weights) -> dict[str, NDArray[np.float32]]:
        """Return kernel and bias as rounded in a texture."""
        return _unfolded(self.kernel, self.columns, weights.unpack(), len(self._node.weights["bias"]))

    def _texture_option(self, *, prefers_16_bits: bool) -> texture_choice.TextureOption:
        """Return the storage in a texture: 16 bits if required, or if preferred and possible."""
        if self._node.name in self._build.exact:
            return self._options.in_texture("16")
        if prefers_16_bits:
            sixteen_bit = self._options.in_texture("16")
            if not sixteen_bit.untextured:
                return sixteen_bit
        return self._options.in_texture(self._build.weight_bits)

    def _properties(self) -> weights_plan.LayerWeights:
        """Return the properties of the layer that the choice of the weights' storage depends on."""
        draws, fragments = self._build.times(self._node, self.target)
        has_factor = self.constants.factor is not None
        return weights_plan.LayerWeights(
            self._node.name,
            draws * len(self.target.views),
            fragments * self.target.height * self.target.width,
            self.columns.count,
            self.columns.count + has_factor + 1,
            self.texture.untextured or self.kernel.output.untextured,
            bits=self.texture.bits,
            depthwise=self.columns.depthwise,
            texels=weight_pairs.texels_of(self.columns) if self._in_pairs else 0,
            numbers=len(self.constants.numbers),
            in_pairs=self._in_pairs,
        )


def _reads(
    node: Node, columns: Columns, source: FeatureMap, residual: FeatureMap | None, gate: FixedPoint | None
) -> list[dict[str, Sequence[Read]]]:
    """Return the reads of each output slice's draw, by role."""
    stride_y, stride_x = node.attrs["strides"]
    top, _, left, _ = node.attrs["padding"]
    reads_by_slices: dict[tuple[int, ...], list[Read]] = {}
    reads: list[dict[str, Sequence[Read]]] = []
    gates = [] if gate is None else [Read(View(gate.texture, 0, 0), stride=(0.0, 0.0))]
    for index in range(columns.slices):
        slices = columns.read_by(index)
        if slices not in reads_by_slices:
            stride = (float(stride_x), float(stride_y))
            reads_by_slices[slices] = [Read(source.views[s], (-left, -top), stride) for s in slices]
        reads.append(
            {
                "source": reads_by_slices[slices],
                "residual": [] if residual is None else [Read(residual.views[index])],
                "gate": gates,
            }
        )
    return reads


def _unfolded(
    kernel: fold.Kernel, columns: Columns, constants: Constants, filters: int
) -> dict[str, NDArray[np.float32]]:
    """Return kernel and bias from the constants of shaders."""
    folded = columns.unpack(constants.weights.astype(np.float32))
    unfolded, offset = kernel.unfold(folded, constants.bias.reshape(-1)[:filters].astype(np.float32))
    return {"kernel": unfolded, "bias": offset}


OPERATOR = Conv2D()
