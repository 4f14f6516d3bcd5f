"""Last part of a wide convolution: partial sums are added up, with bias, residual and activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Binding, Read
from glsl_infer.ops.convolution_products import ConvolutionProducts
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap, FineMap, FixedMap, slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Graph, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value


AT_ONCE = 8
"""Texels that a draw may fetch as compilers like. Of more VideoCore IV's keeps so many that one thread is left of two:
there each waits for the sum so far (shaders/late.glsl)."""


class ConvolutionSum(Operator):
    """``activation(unit * (sum of the blocks) + bias [+ residual])``.

    Inputs: the partial sums of ``convolution_products``, and the residual if there is one. Weights: ``unit`` (powers
    of two) and ``bias``, both (filters,). Attributes: ``blocks``, ``activation``, the range ``scales`` and ``zeros``.
    """

    attrs = {"blocks": 1, "activation": "linear", "scales": None, "zeros": None}
    weights = ("unit", "bias")
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, filters)."""
        height, width, channels = feature_map(node, inputs[0])
        filters = len(node.weights["bias"])
        if node.attrs["blocks"] * 4 * slices_of(filters) != channels or node.weights["unit"].shape != (filters,):
            raise ModelError.layer(
                node.name, f"{channels} partial sums in {node.attrs['blocks']} blocks", f"{filters} filters do not fit"
            )
        out = (height, width, filters)
        if len(inputs) > 1 and inputs[1] != out:
            raise ModelError.layer(node.name, f"a residual of {inputs[1]} on an output of {out}", "make them equal")
        return out

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Add up, scale, add bias and residual, activate."""
        unit, bias = (node.weights[name].astype(inputs[0].dtype) for name in ("unit", "bias"))
        height, width, _ = inputs[0].shape
        sums = inputs[0].reshape(height, width, node.attrs["blocks"], -1).sum(axis=2)[..., : len(bias)]
        out = sums * unit + bias
        if len(inputs) > 1:
            out = out + inputs[1]
        return node.activation(out)

    def unit(self, node: Node) -> float:
        """Return the largest unit in 1/16 of the output's range: 1/128 of that is an eighth of a step of 8 bits."""
        return float((node.weights["unit"] / node.attrs["scales"]).max()) * 16.0

    def products(self, graph: Graph, node: Node) -> tuple[Node, NDArray[np.float32]] | None:
        """Return the products that it adds up, if that is what it reads: a stranger's bundle may say anything."""
        before = graph.by_name[node.inputs[0]]
        if not isinstance(before.operator, ConvolutionProducts):
            return None
        return before, before.weights["kernel"] * node.weights["unit"]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each output slice."""
        source = build.fixed_map(node.inputs[0])
        residual = build.feature_map(node.inputs[1]) if len(node.inputs) > 1 else None
        out, factor, bias, residual_factor = _constants(node, source, residual, len(node.weights["bias"]))
        rows = [fold.slices(factor * node.weights["unit"])]
        if residual is not None:
            rows.append(fold.slices(residual_factor))
        constants = np.stack([*rows, fold.slices(bias(node.weights["bias"]), out.pad)], axis=1)
        member = build.weights(node, ".f32", constants.astype("<f4").tobytes())
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        slices = len(target.views)
        for index, view in enumerate(target.views):
            tiles = [
                source.views[2 * (block * slices + index) + half]
                for block in range(node.attrs["blocks"])
                for half in range(2)
            ]
            # The first tile in each texture is where the others there are read from.
            firsts = list({tile.texture: tile for tile in reversed(tiles)}.values())[::-1]
            textures = [first.texture for first in firsts]
            binding = build.bind(
                node,
                source=[Read(first) for first in firsts],
                residual=[] if residual is None else [Read(residual.views[index])],
            )
            reads = [(tile, textures.index(tile.texture)) for tile in tiles]
            taps = [(part, (tile.x - firsts[part].x, tile.y - firsts[part].y)) for tile, part in reads]
            late = len(taps) > AT_ONCE
            defines: dict[str, int | float | str] = {"CONSTANTS": constants.shape[1]}
            if residual is not None:
                defines["RESIDUAL"] = binding.fetch("residual")
            fragment = codegen.fragment(
                "convolution_sum.frag",
                includes=["fixed_point.glsl", "store.glsl", *["late.glsl"] * late],
                activation=out.activation,
                constants=out.constants,
                saturates=True,
                lines={
                    "declarations": binding.declarations("source"),
                    "terms": _terms(binding, taps, late),
                },
                defines=defines,
            )
            size = constants[index].size
            build.draw_tile(
                node,
                fragment,
                view,
                (target.width, target.height),
                binding,
                {**binding.texels("source"), "constants": Slice(member, index * size, size), **out.uniforms(index)},
            )

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return unit and bias from the constants of each slice."""
        source, residual = inputs[0], inputs[1] if len(inputs) > 1 else None
        (filters,) = shapes["bias"]
        if not isinstance(source, FixedMap) or not isinstance(residual, (FeatureMap, FineMap, type(None))):
            raise ValueError(f"layer '{node.name}' reads the wrong kind of value")
        _, factor, bias, _ = _constants(node, source, residual, filters)
        rows = np.frombuffer(members[0], "<f4").reshape(-1, 2 if residual is None else 3, 4).astype(np.float64)
        unit = rows[:, 0].reshape(-1)[:filters] / factor
        scale, offset = bias(np.ones(filters)) - bias(np.zeros(filters)), bias(np.zeros(filters))
        return {
            "unit": unit.astype(np.float32),
            "bias": ((rows[:, -1].reshape(-1)[:filters] - offset) / scale).astype(np.float32),
        }


def _terms(binding: Binding, taps: Sequence[tuple[int, tuple[int, int]]], late: bool) -> list[str]:
    """Return the lines that add up texels: of channels 0 and 1, then of 2 and 3, which take turns in ``taps``."""
    lines = []
    for number, (part, tap) in enumerate([*taps[::2], *taps[1::2]]):
        sampler, at = binding.sampler("source", part), binding.place("source", part, tap)
        if late and number:
            at = f"LATE({at}, sum + {128 * number}.0)"  # no term is below -128
        lines.append(f"sum.{'xy' if 2 * number < len(taps) else 'zw'} += decode(texture2D({sampler}, {at}));")
    return lines


def _constants(
    node: Node, source: FixedMap, residual: FeatureMap | FineMap | None, filters: int
) -> tuple[fold.StoredSum, Array, Callable[[Array], Array], Array]:
    """Return how sums are stored, what the unit is multiplied by, how the bias is folded, and the residual's factor."""
    out = fold.output(node.activation, node.attrs, filters)
    factor, offset = (np.zeros(filters),) * 2 if residual is None else fold.addend(residual, out)

    def folded(bias: Array) -> Array:
        result: Array = bias * out.factor + out.offset + offset
        return result

    return out, out.factor * source.scale, folded, factor


OPERATOR = ConvolutionSum()
