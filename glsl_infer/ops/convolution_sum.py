"""Last part of a wide convolution: add the partial sums, bias and residual, and activate."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold, number_texture
from glsl_infer.lowering.bindings import MAX_TEXTURES, Binding, Read
from glsl_infer.ops.convolution_products import ConvolutionProducts
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap, FixedMap, SixteenBitMap, View, slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Graph, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value


MAX_UNORDERED_FETCHES = 8
"""Largest number of texels fetched without ordering. More fetches need so many registers that VideoCore IV runs one
thread instead of two. Above this limit, late.glsl makes each fetch depend on the sum so far."""


MIN_SAVED_DRAWS = 4
"""Smallest number of saved draws for which a texture of constants, created at each start, is worthwhile."""


class ConvolutionSum(Operator):
    """``activation(unit * (sum of the blocks) + bias [+ residual])``.

    Inputs: the partial sums of ``convolution_products``, and the residual if any. Weights: ``unit`` (powers of two) and
    ``bias``, both (filters,). Attributes: ``blocks``, ``activation``, the range ``scales`` and ``zeros``.
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
        output_shape = (height, width, filters)
        if len(inputs) > 1 and inputs[1] != output_shape:
            raise ModelError.layer(
                node.name, f"a residual of {inputs[1]} on an output of {output_shape}", "make them equal"
            )
        return output_shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Add the blocks, scale, add bias and residual, and activate."""
        unit, bias = (node.weights[name].astype(inputs[0].dtype) for name in ("unit", "bias"))
        height, width, _ = inputs[0].shape
        sums = inputs[0].reshape(height, width, node.attrs["blocks"], -1).sum(axis=2)[..., : len(bias)]
        out = sums * unit
        out += bias
        if len(inputs) > 1:
            out += inputs[1]
        return node.activation.over(out)

    def unit(self, node: Node) -> float:
        """Return the largest value of a stored unit of the partial sums, relative to 1/16 of a filter's output range.

        The choice of the scale accepts 1/128, an eighth of an 8-bit step.
        """
        return float((node.weights["unit"] / node.attrs["scales"]).max()) * 16.0

    def products(self, graph: Graph, node: Node) -> tuple[Node, NDArray[np.float32]] | None:
        """Return the node of the products, and its kernel in real units.

        The result is None for another input, which untrusted bundles can have.
        """
        product_node = graph.by_name[node.inputs[0]]
        if not isinstance(product_node.operator, ConvolutionProducts):
            return None
        return product_node, product_node.weights["kernel"] * node.weights["unit"]

    def passes(self, node: Node, build: Builder) -> None:
        """Draw all output slices: a pass each, or one pass with the constants in a texture."""
        source = build.fixed_map(node.inputs[0])
        residual = build.feature_map(node.inputs[1]) if len(node.inputs) > 1 else None
        folded = _FoldedConstants.of(node, source, residual, len(node.weights["bias"]))
        out = folded.stored_sum
        constants = {"unit": fold.slices(folded.unit_factor * node.weights["unit"])}
        if residual is not None:
            constants["added"] = fold.slices(folded.residual_factor)
        constants["bias"] = fold.slices(folded.fold_bias(node.weights["bias"]), out.pad)
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        tiles = [_tiles(source, node.attrs["blocks"], len(target.views), index) for index in range(len(target.views))]

        texture_constants = {**constants, **{macro.lower(): rows for macro, rows in out.numbers.items()}}
        if _texture_is_faster(build, node, texture_constants, out, target, tiles, residual):
            _draw_with_texture(node, build, target, out, _LayerInputs(tiles, residual), texture_constants)
        else:
            _draw_with_uniforms(node, build, target, out, _LayerInputs(tiles, residual), constants)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return unit and bias from the constants of each slice."""
        source, residual = inputs[0], inputs[1] if len(inputs) > 1 else None
        (filters,) = shapes["bias"]
        if not isinstance(source, FixedMap) or not isinstance(residual, (FeatureMap, SixteenBitMap, type(None))):
            raise ValueError(f"layer '{node.name}' reads the wrong kind of value")
        folded = _FoldedConstants.of(node, source, residual, filters)
        names = ["unit", *["added"] * (residual is not None), "bias"]
        if len(members) > 1:
            units = np.frombuffer(members[1], "<f4").astype(np.float64).tolist()
            rows = number_texture.read(members[0], units, slices_of(filters))[:, : len(names)]
        else:
            rows = np.frombuffer(members[0], "<f4").reshape(-1, len(names), 4).astype(np.float64)
        unit = rows[:, 0].reshape(-1)[:filters] / folded.unit_factor
        bias = folded.unfold_bias(rows[:, -1].reshape(-1)[:filters])
        return {"unit": unit.astype(np.float32), "bias": bias.astype(np.float32)}


@dataclass(frozen=True)
class _LayerInputs:
    """Inputs of a layer.

    Attributes:
        tiles: tiles with the partial sums of each output slice.
        residual: the residual, if any.
    """

    tiles: Sequence[Sequence[View]]
    residual: FeatureMap | None

    def of_slice(self, index: int) -> dict[str, list[Read]]:
        """Return the reads of an output slice's draw, by role: the first tile of each texture, and the residual."""
        residual = [] if self.residual is None else [Read(self.residual.views[index])]
        return {"source": [Read(tile) for tile in self._first_tiles(index)], "residual": residual}

    def taps(self, index: int) -> list[tuple[int, tuple[int, int]]]:
        """Return (read, distance (x, y) in texels) of each tile of a slice, relative to the first of its texture."""
        first_tiles = self._first_tiles(index)
        textures = [first.texture for first in first_tiles]
        taps = []
        for tile in self.tiles[index]:
            texture_index = textures.index(tile.texture)
            first = first_tiles[texture_index]
            taps.append((texture_index, (tile.x - first.x, tile.y - first.y)))
        return taps

    def _first_tiles(self, index: int) -> list[View]:
        first_tiles: dict[str, View] = {}
        for tile in self.tiles[index]:
            first_tiles.setdefault(tile.texture, tile)
        return list(first_tiles.values())


def _draw_with_uniforms(
    node: Node,
    build: Builder,
    target: FeatureMap,
    out: fold.StoredSum,
    reads: _LayerInputs,
    constants: number_texture.Rows,
) -> None:
    """Append a pass for each slice, with its constants in a uniform array; ``constants`` are (slices, 4) by name."""
    rows = np.stack(list(constants.values()), axis=1)
    member = build.weights(node, ".f32", rows.astype("<f4").tobytes())
    for index, view in enumerate(target.views):
        binding, taps = build.bind(node, **reads.of_slice(index)), reads.taps(index)
        ordered_fetches = len(taps) > MAX_UNORDERED_FETCHES
        defines: dict[str, int | float | str] = {"CONSTANTS": rows.shape[1]}
        if reads.residual is not None:
            defines["RESIDUAL"] = binding.fetch("residual")
        fragment = codegen.fragment(
            "convolution_sum.frag",
            includes=["fixed_point.glsl", "store.glsl", *["late.glsl"] * ordered_fetches],
            activation=out.activation,
            constants=out.constants,
            saturates=True,
            lines={"declarations": binding.declarations("source"), "terms": _terms(binding, taps, ordered_fetches)},
            defines=defines,
        )
        uniforms: dict[str, Sequence[float] | Slice] = {
            **binding.texels("source"),
            "constants": Slice(member, index * rows[0].size, rows[0].size),
            **out.uniforms(index),
        }
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms)


def _draw_with_texture(
    node: Node,
    build: Builder,
    target: FeatureMap,
    out: fold.StoredSum,
    reads: _LayerInputs,
    constants: number_texture.Rows,
) -> None:
    """Append one pass for all slices, with the constants in a texture; ``constants`` are (slices, 4) by name."""
    texels, units = number_texture.pack(constants, target.bits)
    texture = build.constant_texture(node, texels.shape[1], texels.shape[0], texels.tobytes())
    build.weights(node, ".f32", np.array(list(units.values()), "<f4").tobytes())
    for index, view in enumerate(target.views):
        row = [Read(View(texture, 0, index), stride=(0.0, 0.0))]
        binding, taps = build.bind(node, **reads.of_slice(index), **{number_texture.ROLE: row}), reads.taps(index)
        fragment = codegen.fragment(
            "convolution_sum_texture.frag",
            includes=["fixed_point.glsl", "store.glsl", "late.glsl"],
            activation=out.activation,
            constants=out.constants,
            fetched=out.numbers,
            saturates=True,
            lines={
                "declarations": [
                    *binding.declarations("source", number_texture.ROLE),
                    *number_texture.declarations(constants),
                ],
                "terms": _terms(binding, taps, ordered_fetches=len(taps) > MAX_UNORDERED_FETCHES),
                "no_numbers": [f"{macro.lower()} = vec4(0.0);" for macro in out.numbers],
                "numbers": _products(constants, target.bits, binding, len(taps)),
            },
        )
        uniforms = {**binding.texels("source"), **binding.texels(number_texture.ROLE), **units}
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms)


def _tiles(source: FixedMap, blocks: int, slices: int, index: int) -> list[View]:
    """Return the tiles with the partial sums of an output slice."""
    return [source.views[2 * (block * slices + index) + half] for block in range(blocks) for half in range(2)]


def _texture_is_faster(
    build: Builder,
    node: Node,
    constants: number_texture.Rows,
    out: fold.StoredSum,
    target: FeatureMap,
    tiles: Sequence[Sequence[View]],
    residual: FeatureMap | None,
) -> bool:
    """Return whether a texture of constants, which saves a draw for each slice, reduces the frame time."""
    if out.untextured or (out.numbers and target.bits == 16):  # so many texels leave VideoCore IV only one thread
        return False
    draws_per_slice, stores_per_pixel = build.times(node, target)
    slice_textures = [[tile.texture for tile in slice_tiles] for slice_tiles in tiles]
    draw_keys: Sequence[Sequence[Hashable]] = slice_textures
    if residual is not None:
        draw_keys = [[*textures, (view.texture, view.half)] for textures, view in zip(slice_textures, residual.views)]
    saved = number_texture.draws_saved(target, draw_keys, draws_per_slice, separate_last_slice=False)
    textures_of_constants = 1
    most_textures = max(len({*textures}) for textures in slice_textures) + (residual is not None)
    if saved < MIN_SAVED_DRAWS or most_textures + textures_of_constants > MAX_TEXTURES:
        return False
    pixels = draws_per_slice * stores_per_pixel * target.width * target.height
    addends = ("bias", "added", "range_offset")
    return number_texture.pays(constants, target.bits, pixels, saved, build.draw_cost, addends)


def _products(constants: number_texture.Rows, bits: int, binding: Binding, terms: int) -> list[str]:
    """Return the lines that fetch the constants after the sum of ``terms`` texels, and apply them."""
    lines = []
    terms_by_name = {"unit": "unit * sum", "bias": "bias"}
    if "added" in constants:
        terms_by_name["added"] = f"added * {binding.fetch('residual')}"
    all_lines = number_texture.lines(constants, bits, binding, lambda index: f"LATE({index}, sum + {128 * terms}.0)")
    lines_per_constant = len(all_lines) // len(constants)
    for index, name in enumerate(constants):
        constant_lines = all_lines[lines_per_constant * index : lines_per_constant * (index + 1)]
        if name in terms_by_name:
            lines += [*constant_lines, f"y += {terms_by_name[name]};"]
        else:  # parameters of the activation or the range have a variable
            lines += [constant_lines[0].removeprefix("vec4 "), *constant_lines[1:]]
    return lines


def _terms(binding: Binding, taps: Sequence[tuple[int, tuple[int, int]]], ordered_fetches: bool) -> list[str]:
    """Return the lines that add texels: those of channels 0 and 1, then of 2 and 3, which alternate in ``taps``."""
    lines = []
    for index, (texture_index, tap) in enumerate([*taps[::2], *taps[1::2]]):
        sampler, coordinate = binding.sampler("source", texture_index), binding.place("source", texture_index, tap)
        if ordered_fetches and index:
            coordinate = f"LATE({coordinate}, sum + {128 * index}.0)"  # no term is below -128
        lines.append(f"sum.{'xy' if 2 * index < len(taps) else 'zw'} += decode(texture2D({sampler}, {coordinate}));")
    return lines


@dataclass(frozen=True)
class _FoldedConstants:
    """Conversion of a layer's constants to units of the stored output.

    Attributes:
        stored_sum: conversion of sums.
        unit_factor: factor of the weights ``unit``, (filters,).
        residual_factor: factor of the residual's texels, (filters,).
        residual_offset: addend of the residual, (filters,).
    """

    stored_sum: fold.StoredSum
    unit_factor: Array
    residual_factor: Array
    residual_offset: Array

    @classmethod
    def of(
        cls, node: Node, source: FixedMap, residual: FeatureMap | SixteenBitMap | None, filters: int
    ) -> _FoldedConstants:
        """Return the conversion for a layer with the given inputs."""
        out = fold.output(node.activation, node.attrs, filters)
        factor, offset = (np.zeros(filters),) * 2 if residual is None else fold.addend(residual, out)
        return cls(out, out.factor * source.scale, factor, offset)

    def fold_bias(self, bias: Array) -> Array:
        """Return a bias in units of the stored output, with the offsets of the range and the residual."""
        result: Array = bias * self.stored_sum.factor + self.stored_sum.offset + self.residual_offset
        return result

    def unfold_bias(self, stored: Array) -> Array:
        """Return the bias of a value of ``fold_bias``."""
        result: Array = (stored - (self.stored_sum.offset + self.residual_offset)) / self.stored_sum.factor
        return result


OPERATOR = ConvolutionSum()
