"""Convolution with groups, strides and padding, and what is fused into it: bias, residual, activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph.activations import activation
from glsl_infer.lowering import (
    codegen,
    conv_draws,
    conv_texture,
    cut_sums,
    fold,
    weight_texture,
    weights_plan,
)
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.conv_columns import Columns, columns_of
from glsl_infer.lowering.taps import Coordinates, Product, late_by, picked, tap_lines
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.ops.zero_padding import pad
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value


class Conv2D(Operator):
    """``activation(convolution(input) + bias [+ residual])``.

    Inputs: the feature map, and the residual if there is one. Weights: ``kernel`` of shape (kernel height,
    kernel width, channels / groups, filters), as Keras has it, and ``bias`` (filters,).
    Attributes: ``strides`` (y, x), ``padding`` (top, bottom, left, right), ``groups``, ``activation``, the range
    ``scales`` and ``zeros``; ``alpha``: the input is the picture, and its offset comes from its fourth lane, which
    is 1 inside and 0 in the gutter, so that what is padded is 0.

    A draw reads any number of input slices that lie in 8 textures or fewer (``lowering.conv_draws``); ``wide`` splits
    the others before they come here.
    """

    attrs = {
        "strides": (1, 1),
        "padding": (0, 0, 0, 0),
        "groups": 1,
        "activation": "linear",
        "alpha": False,
        "scales": None,
        "zeros": None,
    }
    weights = ("kernel", "bias")

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, filters)."""
        filters = node.weights["kernel"].shape[3]
        if node.weights["bias"].shape != (filters,):
            raise ModelError.layer(node.name, f"a bias of {node.weights['bias'].shape}", f"it must be ({filters},)")
        out = (*output_size(node, inputs[0]), filters)
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
        """Draw one pass for each output slice, or one for all where the weights lie in a texture."""
        source = build.feature_map(node.inputs[0])
        residual = build.feature_map(node.inputs[1]) if len(node.inputs) > 1 else None
        kernel = fold.Kernel(node, source, residual, node.weights["kernel"].shape)
        folded, bias = kernel.fold(node.weights["kernel"], node.weights["bias"])
        columns = columns_of(folded.shape, node.attrs["groups"])
        # A factor also keeps the picture's alpha, where the picture is the residual, out of lanes beyond the last.
        scaled = bool((kernel.residual_factor != 1.0).any()) or (residual is not None and build.shows_alpha(residual))
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        reads = _reads(node, columns, source, residual)
        count = columns.count + scaled + 1
        mode = build.weights_choice(
            weights_plan.Layer(
                node.name,
                len(target.views),
                target.height * target.width,
                columns.count,
                count,
                conv_texture.untextured(reads, columns, largest=float(np.abs(folded).max()), alpha=kernel.alpha),
            )
        )
        packed, factors, biases = (
            columns.pack(folded),
            fold.slices(kernel.residual_factor) if scaled else None,
            fold.slices(bias, kernel.output.pad),
        )
        if mode == "texture":
            weights = weight_texture.pack(Constants(packed, biases, factors))
            conv_texture.draw(
                node,
                build,
                columns=columns,
                weights=weights,
                reads=reads,
                target=target,
                activation=kernel.output.activation,
            )
            build.replace_weights(node, _unfolded(kernel, columns, weights.unpack(), len(bias)))
            return

        rows = [packed, *([] if factors is None else [factors[:, None]]), biases[:, None]]
        constants = np.concatenate(rows, axis=1)
        member = build.weights(node, ".f32", constants.astype("<f4").tobytes())
        least = late_by(constants, plain_residual=residual is not None and not scaled)
        starts = self._starts(node, build, columns, constants, least)
        late = starts.late
        drawn = conv_draws.draws(node, build, columns, reads)
        bindings = [draw.binding for draw in drawn]
        texts: dict[int, str] = {}
        for index, (view, draw) in enumerate(zip(target.views, drawn)):
            binding = draw.binding
            baked = constants[index] if mode == "baked" else None

            def weight(at: int, some: str, baked: NDArray[np.float32] | None = baked) -> str | None:
                if baked is None:
                    return f"weights[{at}]" if some == "xyzw" else f"weights[{at}].{some}"
                return picked(baked[at], some)

            behind = []
            if residual is not None:
                factor = Product(count - 2 if scaled else None, "")
                behind.append(Coordinates(bindings, "residual").tap(binding, 0, 0, 0, [factor]))
            defines: dict[str, int | float | str] = {"BIAS": weight(count - 1, "xyzw") or "vec4(0.0)"}
            uniforms: dict[str, Sequence[float] | Slice] = {**binding.texels("source")}
            if baked is None:
                defines["WEIGHT_COUNT"] = count
                uniforms["weights"] = Slice(member, index * 4 * count, 4 * count)
            # Where the fourth channel is missing, constants of it fold, and nothing can wait for its sum.
            waits = late is not None and (baked is None or bool(baked[:-1, 3].any()))
            if waits and late is not None:
                defines["LATE"] = "late" if baked is None else float(late[index])
                uniforms["late"] = [float(late[index])]
            defines["CUT_BIAS"] = "cut_bias" if baked is None else codegen.vec(starts.cut[index].tolist())
            uniforms["cut_bias"] = starts.cut[index].tolist()
            fragment = texts.get(id(draw.taps)) if baked is None else None
            fragment = fragment or codegen.fragment(
                "convolution.frag",
                includes=["store.glsl", "cut_sums.glsl", *([] if waits else ["tied.glsl"])],
                activation=kernel.output.activation,
                saturates=True,
                lines={
                    "declarations": draw.declarations,
                    "coordinates": draw.coordinates,
                    "taps": tap_lines([*draw.taps, *behind], weight, wait="WAIT" if waits else "TIED"),
                },
                defines=defines,
            )
            texts[id(draw.taps)] = fragment
            build.draw_tile(
                node,
                fragment,
                view,
                (target.width, target.height),
                binding,
                uniforms,
                part=str(index) if mode == "baked" else None,
            )

    def _starts(
        self, node: Node, build: Builder, columns: Columns, constants: NDArray[np.float32], least: NDArray[np.float32] | None
    ) -> cut_sums.Starts:
        """Return where sums start, and by how much the fourth component starts lower.

        Args:
            node: the layer.
            build: the program in the making.
            columns: how the kernel's columns follow one another.
            constants: those, the residual's factor if it has one, and the bias: (slices, columns, 4).
            least: by how much the fourth component of each slice starts lower at least, if it does.
        """
        factors, biases = constants[:, :-1], constants[:, -1]
        if len(node.inputs) > 1 and factors.shape[1] == columns.count:
            factors = np.concatenate([factors, np.ones_like(biases[:, None])], axis=1)

        def find() -> cut_sums.Starts:
            values = [build.feature_map(name) for name in node.inputs]
            paddings = (node.attrs["padding"], (0, 0, 0, 0))
            texels = [
                build.typical.texels(name, value, padding, alpha=build.shows_alpha(value))
                for name, value, padding in zip(node.inputs, values, paddings)
            ]
            residual = texels[1] if len(texels) > 1 else None
            return cut_sums.starts(
                columns, factors, biases, texels[0], node.attrs["strides"], least=least, residual=residual
            )

        return build.typical.starts(node.name, find)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return kernel and bias from the packed columns."""
        maps = [one for one in inputs if isinstance(one, FeatureMap)]
        kernel = fold.Kernel(node, maps[0], maps[1] if len(maps) > 1 else None, shapes["kernel"])
        height, width, channels, filters = shapes["kernel"]
        columns = columns_of((height, width, channels + kernel.alpha, filters), node.attrs["groups"])
        if len(members) == 2:
            stored = weight_texture.read(members[0], members[1], columns.slices, columns.count).unpack()
        else:
            packed = np.frombuffer(members[0], "<f4").reshape(columns.slices, -1, 4)
            stored = Constants(packed[:, : columns.count], packed[:, -1])
        return _unfolded(kernel, columns, stored, filters)


def _reads(
    node: Node, columns: Columns, source: FeatureMap, residual: FeatureMap | None
) -> list[dict[str, Sequence[Read]]]:
    """Return what the draw of each output slice reads, by roles."""
    stride_y, stride_x = node.attrs["strides"]
    top, _, left, _ = node.attrs["padding"]
    known: dict[tuple[int, ...], list[Read]] = {}
    reads: list[dict[str, Sequence[Read]]] = []
    for index in range(columns.slices):
        slices = columns.read_by(index)
        if slices not in known:
            stride = (float(stride_x), float(stride_y))
            known[slices] = [Read(source.views[s], (-left, -top), stride) for s in slices]
        reads.append({"source": known[slices], "residual": [] if residual is None else [Read(residual.views[index])]})
    return reads


def _unfolded(
    kernel: fold.Kernel, columns: Columns, constants: Constants, filters: int
) -> dict[str, NDArray[np.float32]]:
    """Return kernel and bias that some constants of shaders stand for."""
    folded = columns.unpack(constants.weights.astype(np.float32))
    unfolded, offset = kernel.unfold(folded, constants.bias.reshape(-1)[:filters].astype(np.float32))
    return {"kernel": unfolded, "bias": offset}


_PATCHES = 512
"""Output pixels whose patches are laid out at a time: those of X22 then stay in a processor's second cache."""


def output_size(node: Node, shape: Shape) -> tuple[int, int]:
    """Return (height, width) of a convolution's output on an input of ``shape``, by its kernel, strides and padding.

    Raises:
        ModelError: kernel, groups and input do not fit together.
    """
    height, width, channels = feature_map(node, shape)
    kernel_height, kernel_width, group_channels, filters = node.weights["kernel"].shape
    groups = node.attrs["groups"]
    if group_channels * groups != channels or filters % groups:
        raise ModelError.layer(
            node.name,
            f"a kernel of {node.weights['kernel'].shape} in {groups} groups on {channels} channels",
            "kernel, groups and channels must fit together",
        )
    return window_size(node, (height, width), (kernel_height, kernel_width))


def window_size(node: Node, size: tuple[int, int], window: tuple[int, int]) -> tuple[int, int]:
    """Return how many windows of (height, width) fit into a padded map, by ``padding`` and ``strides`` of the node.

    Raises:
        ModelError: not even one.
    """
    top, bottom, left, right = node.attrs["padding"]
    out_height = (size[0] + top + bottom - window[0]) // node.attrs["strides"][0] + 1
    out_width = (size[1] + left + right - window[1]) // node.attrs["strides"][1] + 1
    if out_height < 1 or out_width < 1:
        raise ModelError.layer(
            node.name,
            f"a {window[0]}x{window[1]} window on {size[0]}x{size[1]} pixels",
            "the input is too small; use a larger picture or fewer strided layers",
        )
    return out_height, out_width


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
    channels = groups * group_channels
    taps = [(ky, kx) for ky in range(kernel_height) for kx in range(kernel_width)]
    grouped_kernel = kernel.reshape(-1, groups, filters // groups).transpose(1, 0, 2)
    rows = max(1, _PATCHES // width)
    patches = np.empty((rows, width, groups, len(taps), group_channels), x.dtype)
    out: Array = np.empty((height, width, filters), np.result_type(x, kernel))
    for top in range(0, height, rows):
        count = min(rows, height - top)
        for tap, (ky, kx) in enumerate(taps):
            first = strides[0] * top + ky
            window = x[first : first + strides[0] * count : strides[0], kx : kx + strides[1] * width : strides[1]]
            patches[:count, :, :, tap] = window[:, :width, :channels].reshape(count, width, groups, group_channels)
        columns = patches[:count].reshape(count * width, groups, -1).transpose(1, 0, 2)
        out[top : top + count] = (columns @ grouped_kernel).transpose(1, 0, 2).reshape(count, width, filters)
    return out


OPERATOR = Conv2D()
