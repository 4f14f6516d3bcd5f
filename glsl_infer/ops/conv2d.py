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
        source, *residuals = build.maps_of(node)
        residual = residuals[0] if residuals else None
        kernel = fold.Kernel(node, source, residual, node.weights["kernel"].shape)
        folded, bias = kernel.fold(node.weights["kernel"], node.weights["bias"])
        columns = columns_of(folded.shape, node.attrs["groups"], node.attrs["dilations"])
        # If the residual is the input image, a factor also keeps its alpha out of padding lanes.
        scaled = bool((kernel.residual_factor != 1.0).any()) or (residual is not None and build.shows_alpha(residual))
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        reads = _reads(node, columns, source, residual, build.gate(node))
        constants = Constants(
            columns.pack(folded),
            fold.slices(bias, kernel.output.pad),
            fold.slices(kernel.residual_factor) if scaled else None,
            tuple(kernel.output.numbers.values()),
        )
        # A 16-bit output has 16-bit weights if they can be in a texture. 8-bit weights rounded for calibration images
        # are nearly as exact, and are used unless most maps have 16 bits.
        tolerates_rounding = build.calibration_maps.has_images and build.tolerates_rounding
        exact = target.bits == 16 and not tolerates_rounding

        in_pairs = target.bits == 16 and weight_pairs.fits(columns) and kernel.output.alike_in_lanes

        stored = texture_choice.ConvolutionWeights(
            reads,
            columns,
            constants,
            alpha=kernel.alpha,
            steepness=kernel.output.steepness if constants.numbers else None,
            reads_16_bits=source.bits == 16,
            stores_16_bits=target.bits == 16,
            tolerates_rounding=tolerates_rounding,
            in_pairs=in_pairs,
            has_images=build.calibration_maps.has_images,
            takes_root=kernel.output.takes_root,
        )
        texture = stored.in_texture("16" if exact or node.name in build.exact else build.weight_bits)
        if exact and texture.untextured and node.name not in build.exact:
            texture = stored.in_texture(build.weight_bits)
        draws, fragments = build.times(node, target)
        layer = weights_plan.LayerWeights(
            node.name,
            draws * len(target.views),
            fragments * target.height * target.width,
            columns.count,
            columns.count + scaled + 1,
            texture.untextured or kernel.output.untextured,
            bits=texture.bits,
            depthwise=columns.depthwise,
            texels=weight_pairs.texels_of(columns) if in_pairs else 0,
            numbers=len(constants.numbers),
            in_pairs=in_pairs,
        )
        mode = build.weights_choice(layer)

        def packed() -> texture_choice.Weights:
            return texture.packed(node, build, columns, constants, in_pairs=in_pairs)

        def rounded(weights: texture_choice.Weights) -> dict[str, NDArray[np.float32]]:
            return _unfolded(kernel, columns, weights.unpack(), len(bias))

        if build.planning:
            build.plan_convolution(node, layer, mode)
            if mode == "texture" and texture.bits == 8:
                untextured = stored.in_texture("16").untextured or kernel.output.untextured
                finer = replace(layer, bits=16, untextured=untextured)
                build.offers[node.name] = FinerOffer(layer, finer, lambda: replace(node, weights=rounded(packed())))
            return
        if mode == "texture":
            weights = packed()
            conv_texture.draw(
                node,
                build,
                columns=columns,
                weights=weights,
                reads=reads,
                target=target,
                output=kernel.output,
            )
            build.replace_weights(node, rounded(weights))
            return
        conv_arrays.draw(
            node,
            build,
            columns=columns,
            constants=constants,
            mode=mode,
            reads=reads,
            target=target,
            output=kernel.output,
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
