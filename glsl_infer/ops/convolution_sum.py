"""Last part of a wide convolution: partial sums are added up, with bias, residual and activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold, number_texture
from glsl_infer.lowering.bindings import MAX_TEXTURES, Binding, Read
from glsl_infer.ops.convolution_products import ConvolutionProducts
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap, FineMap, FixedMap, View, slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Graph, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value


AT_ONCE = 8
"""Texels that a draw may fetch as compilers like. Of more VideoCore IV's keeps so many that one thread is left of two:
there each waits for the sum so far (shaders/late.glsl)."""


LEAST_SAVED = 4
"""Fewer draws are not worth a texture, which is made at each start."""


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
        out = sums * unit
        out += bias
        if len(inputs) > 1:
            out += inputs[1]
        return node.activation.over(out)

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
        """Draw every output slice: a pass each, or one for all whose numbers are in a texture."""
        source = build.fixed_map(node.inputs[0])
        residual = build.feature_map(node.inputs[1]) if len(node.inputs) > 1 else None
        out, factor, bias, residual_factor = _constants(node, source, residual, len(node.weights["bias"]))
        numbers = {"unit": fold.slices(factor * node.weights["unit"])}
        if residual is not None:
            numbers["added"] = fold.slices(residual_factor)
        numbers["bias"] = fold.slices(bias(node.weights["bias"]), out.pad)
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        tiles = [_tiles(source, node.attrs["blocks"], len(target.views), index) for index in range(len(target.views))]
        constants = np.stack(list(numbers.values()), axis=1)
        size = constants[0].size
        texture, units, member = None, dict[str, list[float]](), ""
        fetched = {**numbers, **{macro.lower(): rows for macro, rows in out.numbers.items()}}
        if _pays(build, node, fetched, out, target, tiles, residual):
            texels, units = number_texture.pack(fetched, target.bits)
            texture = build.constant_texture(node, texels.shape[1], texels.shape[0], texels.tobytes())
            build.weights(node, ".f32", np.array(list(units.values()), "<f4").tobytes())
        else:
            member = build.weights(node, ".f32", constants.astype("<f4").tobytes())
        for index, view in enumerate(target.views):
            # The first tile in each texture is where the others there are read from.
            firsts = list({tile.texture: tile for tile in reversed(tiles[index])}.values())[::-1]
            textures = [first.texture for first in firsts]
            binding = build.bind(
                node,
                source=[Read(first) for first in firsts],
                residual=[] if residual is None else [Read(residual.views[index])],
                **{} if texture is None else {number_texture.ROLE: [Read(View(texture, 0, index), stride=(0.0, 0.0))]},
            )
            reads = [(tile, textures.index(tile.texture)) for tile in tiles[index]]
            taps = [(part, (tile.x - firsts[part].x, tile.y - firsts[part].y)) for tile, part in reads]
            late = len(taps) > AT_ONCE
            lines = {"declarations": binding.declarations("source"), "terms": _terms(binding, taps, late)}
            uniforms: dict[str, Sequence[float] | Slice] = {**binding.texels("source")}
            defines: dict[str, int | float | str] = {}
            if texture is None:
                defines["CONSTANTS"] = constants.shape[1]
                if residual is not None:
                    defines["RESIDUAL"] = binding.fetch("residual")
                uniforms |= {"constants": Slice(member, index * size, size), **out.uniforms(index)}
            else:
                lines["declarations"] = [
                    *binding.declarations("source", number_texture.ROLE),
                    *number_texture.declarations(fetched),
                ]
                lines["no_numbers"] = [f"{macro.lower()} = vec4(0.0);" for macro in out.numbers]
                lines["numbers"] = _products(fetched, target.bits, binding, len(taps))
                uniforms |= {**binding.texels(number_texture.ROLE), **units}
            fragment = codegen.fragment(
                "convolution_sum.frag" if texture is None else "convolution_sum_texture.frag",
                includes=["fixed_point.glsl", "store.glsl", *["late.glsl"] * (late or texture is not None)],
                activation=out.activation,
                constants=out.constants,
                fetched=() if texture is None else out.numbers,
                saturates=True,
                lines=lines,
                defines=defines,
            )
            build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return unit and bias from the constants of each slice."""
        source, residual = inputs[0], inputs[1] if len(inputs) > 1 else None
        (filters,) = shapes["bias"]
        if not isinstance(source, FixedMap) or not isinstance(residual, (FeatureMap, FineMap, type(None))):
            raise ValueError(f"layer '{node.name}' reads the wrong kind of value")
        _, factor, bias, _ = _constants(node, source, residual, filters)
        names = ["unit", *["added"] * (residual is not None), "bias"]
        if len(members) > 1:
            units = np.frombuffer(members[1], "<f4").astype(np.float64).tolist()
            rows = number_texture.read(members[0], units, slices_of(filters))[:, : len(names)]
        else:
            rows = np.frombuffer(members[0], "<f4").reshape(-1, len(names), 4).astype(np.float64)
        unit = rows[:, 0].reshape(-1)[:filters] / factor
        scale, offset = bias(np.ones(filters)) - bias(np.zeros(filters)), bias(np.zeros(filters))
        return {
            "unit": unit.astype(np.float32),
            "bias": ((rows[:, -1].reshape(-1)[:filters] - offset) / scale).astype(np.float32),
        }


def _tiles(source: FixedMap, blocks: int, slices: int, index: int) -> list[View]:
    """Return the tiles with the partial sums of an output slice."""
    return [source.views[2 * (block * slices + index) + half] for block in range(blocks) for half in range(2)]


def _pays(
    build: Builder,
    node: Node,
    numbers: number_texture.Rows,
    out: fold.StoredSum,
    target: FeatureMap,
    tiles: Sequence[Sequence[View]],
    residual: FeatureMap | None,
) -> bool:
    """Return whether a texture of numbers, so that slices need no draw each, saves time."""
    if out.untextured or (out.numbers and target.bits == 16):  # so many texels leave VideoCore IV one thread of two
        return False
    others = [None] * len(tiles) if residual is None else [(view.texture, view.half) for view in residual.views]
    reads = [[tile.texture for tile in read] for read in tiles]
    times, pixels = build.times(node, target)
    each = [[*read, other] for read, other in zip(reads, others)]
    saved = number_texture.draws_saved(target, each, times, separate_last_slice=False)
    pixels *= times * target.width * target.height
    most_read = max(len({*read}) for read in reads) + (residual is not None) + 1  # the numbers' own
    if saved < LEAST_SAVED or most_read > MAX_TEXTURES:
        return False
    added = ("bias", "added", "range_offset")
    return number_texture.pays(numbers, target.bits, pixels, saved, build.draw_cost, added)


def _products(numbers: number_texture.Rows, bits: int, binding: Binding, terms: int) -> list[str]:
    """Return the lines that fetch numbers, when the sum of so many texels is there, and what they do to it."""
    lines = []
    meets = {"unit": "unit * sum", "bias": "bias"}
    if "added" in numbers:
        meets["added"] = f"added * {binding.fetch('residual')}"
    fetched = number_texture.lines(numbers, bits, binding, lambda at: f"LATE({at}, sum + {128 * terms}.0)")
    each = len(fetched) // len(numbers)
    for at, name in enumerate(numbers):
        mine = fetched[each * at : each * (at + 1)]
        if name in meets:
            lines += [*mine, f"y += {meets[name]};"]
        else:  # one that the activation or the store wants has a variable
            lines += [mine[0].removeprefix("vec4 "), *mine[1:]]
    return lines


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
