"""Convolutions with weights in a texture: one pass, with a quad for each output slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering import (
    codegen,
    conv_draws,
    rolled,
    sixteen_bit,
    truncation,
    weight_bytes,
    weight_pairs,
    weight_texture,
    weights_plan,
)
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.calibration_maps import Arrays
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Tap
from glsl_infer.lowering.texture_choice import LEAST_BYTE_COLUMNS, Weights
from glsl_infer.lowering.weight_bytes import WeightBytes
from glsl_infer.lowering.weight_pairs import WeightPairs
from glsl_infer.lowering.weight_texture import WeightTexture
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap, View

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.lowering.fold import StoredSum


MOST_ACROSS: Mapping[int, int] = {8: 16, 16: conv_draws.MOST_COLUMNS_ALIVE[8]}
"""Largest number of adjacent 8-bit tiles whose x coordinates fit into VideoCore IV's registers, by the bits of weights.
In rows of 14 and 16, slices do not compile with 16-bit weights and per-channel constants."""


def read(texels: bytes, units: bytes, columns: Columns) -> Weights:
    """Decode a texture of weights from its two members of a bundle.

    Raises:
        ValueError: the members are not a texture of weights.
    """
    weights: Weights | None = weight_pairs.read(texels, units, columns)
    if weights is None and columns.count >= LEAST_BYTE_COLUMNS:
        weights = weight_bytes.read(texels, units, columns.slices, columns.count)
    return weights or weight_texture.read(texels, units, columns.slices, columns.count)


def draw(
    node: Node,
    build: Builder,
    *,
    columns: Columns,
    weights: Weights,
    reads: Sequence[Mapping[str, Sequence[Read]]],
    target: FeatureMap,
    output: StoredSum,
) -> None:
    """Append the passes of a convolution, and its weights as a texture.

    Args:
        node: the layer.
        build: the program.
        columns: layout of the kernel's columns.
        weights: weights in this layout.
        reads: reads of each slice, in the roles ``source`` and ``residual``.
        target: the output.
        output: activation and scaling of the sum.
    """
    height, width = weights.texels.shape[:2]
    texture = build.constant_texture(node, width, height, weights.texels.tobytes())
    units = build.weights(node, ".f32", weights.units.astype("<f4").tobytes())
    in_pairs = isinstance(weights, WeightPairs)
    slices, gate = len(reads), build.gate(node)
    tiles = [(view, index, reads[index]) for index, view in enumerate(target.views)]  # view, row of weights, reads
    if in_pairs:  # second tiles use the rows of the texture's lower half
        tiles = [
            (replace(view, y=view.y + half * view.half, half=0), row + half * slices, roles)
            for view, row, roles in tiles
            for half in range(2)
        ]
    all_reads = [{**roles, "weights": [Read(View(texture, 0, row), stride=(0.0, 0.0))]} for _, row, roles in tiles]
    # An additional program costs more at start than a few coordinates cost for so few pixels (``weights_plan``).
    most_coordinates = conv_draws.MOST_COORDINATES
    if columns.taps_per_slot > 1:
        most_coordinates = weights_plan.WINDOW_READS - len(reads[0].get("residual", ()))
    in_bytes = not isinstance(weights, WeightTexture)
    reads_16_bits = build.feature_map(node.inputs[0]).bits == 16
    if reads_16_bits and not in_bytes:
        most_coordinates = min(most_coordinates, weights_plan.READS_16_BITS)
    elif target.bits == 16 and not in_bytes:  # 1x1 over 8 slices and a residual does not compile
        most_coordinates = min(most_coordinates, conv_draws.MOST_COORDINATES - len(reads[0].get("residual", ())))
    crowded = reads_16_bits or (target.bits == 16 and not in_bytes)
    alive = conv_draws.MOST_COLUMNS_ALIVE[16 if crowded else 8]
    fetching = conv_draws.Fetching(common=False, in_order=True, most=most_coordinates, alive=alive)
    layer_draws = conv_draws.draws(node, build, columns, all_reads, fetching=fetching)
    unit_declarations = ["uniform vec4 number_units[1];"] if output.numbers else []
    fetch_number = _number_of_pair if in_pairs else _number_of_bytes if in_bytes else _number
    fetches = [line for index, macro in enumerate(output.numbers) for line in fetch_number(macro.lower(), index)]
    if fetches:  # each waits for the sum; together they would need too many registers
        fetches = (
            ["float row = LATE(ROW.y, y);"] if in_bytes else ["row = LATE(row, sum);", "lower = LATE(lower, sum);"]
        ) + fetches
    weights_in_row = columns.count  # of weights in a row, as a loop counts them
    if isinstance(weights, WeightPairs):
        weights_in_row = weight_pairs.texels_of(columns) * weights.bits // 8
    texts: dict[int, str] = {}
    for (view, *_), entry in zip(tiles, layer_draws):
        binding = entry.binding
        defines: dict[str, int | float | str] = {"ROW": binding.coordinate("weights")}
        if binding.count("residual"):
            defines["RESIDUAL"] = binding.fetch("residual")
        if weights.has_factor:
            defines["FACTOR"] = 1
        if isinstance(weights, WeightPairs) and weights.bits == 16:
            defines["LOW_BYTES"] = 1
        # The coordinates of tiles exceed the registers unless fetches wait for each other.
        most_across = alive if crowded else MOST_ACROSS[8 if in_bytes else 16]
        wait_between = entry.across > most_across or columns.count > weight_bytes.MANY_SINGLE_COLUMNS
        wait_between = wait_between or (in_bytes and columns.taps_per_slot > 1)
        wait = "WAIT" if entry.by_tiles and wait_between and not columns.depthwise else ""
        lines = lines_of_pairs if in_pairs else lines_of_bytes if in_bytes else _lines
        loop = entry.loop if entry.by_tiles else rolled.loop(columns, binding)
        if gate is not None:
            defines["GATE_SCALE"], loop = gate.scale, None
        always: Sequence[str] = ()
        if loop is not None:
            defines["HAS_LOOP"] = 1
            always = rolled.loop_always(len(entry.taps) + weights_in_row * (1 if in_bytes else 2))
        cached = texts.get(id(entry.taps))
        fragment = cached or codegen.fragment(
            weights.template,
            includes=[
                "store.glsl",
                "cut_sums.glsl",
                *["late.glsl"] * bool(fetches),
                *["behind_texel.glsl"] * bool(wait and not in_bytes),
                *["gated.glsl"] * (gate is not None),
            ],
            exact=not binding.count("residual"),
            activation=output.activation,
            constants=output.constants,
            fetched=output.numbers,
            saturates=True,
            lines={
                "declarations": [*always, *entry.declarations, *unit_declarations],
                "numbers": fetches,
                "no_numbers": [f"{macro.lower()} = vec4(0.0);" for macro in output.numbers],
                "loop": loop.lines(partial(lines, wait=""), ended(weights_in_row)) if loop else [],
                "coordinates": [*entry.coordinates, *["t = vec4(0.0);"] * bool(wait and not in_bytes)],
                "taps": [line for tap in entry.taps for line in lines(tap, wait)],
            },
            defines=defines,
        )
        if in_pairs and not cached:
            fragment = sixteen_bit.storing(node.name, fragment, sixteen_bit.HALVES[0])
        texts[id(entry.taps)] = fragment
        uniforms: dict[str, Sequence[float] | Slice] = {
            **binding.texels("source", steps=columns.dilations),
            "units": Slice(units, 0, 4),
            **({"number_units": Slice(units, 4, 4)} if fetches else {}),
        }
        if not isinstance(weights, WeightTexture):
            uniforms["cut_start"] = [_truncated_start(node, build, columns, weights)]
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms)


def _truncated_start(node: Node, build: Builder, columns: Columns, weights: WeightBytes | WeightPairs) -> float:
    """Return the initial value of sums on a device that truncates them (``truncation.byte_start``)."""

    def find() -> Arrays:
        texels, strides = build.calibration_input(node), node.attrs["strides"]
        constants = weights.high_bytes.astype(np.float32) / np.float32(255.0)
        return (np.array([truncation.byte_start(columns, constants, float(weights.units[1]), texels, strides)]),)

    key = f"{node.name} in a texture"
    (start,) = build.calibration_maps.cached(key, find, lambda arrays: arrays[0].shape == (1,))
    return float(start[0])


def _lines(tap: Tap, wait: str) -> list[str]:
    """Return the lines that fetch a texel and add its products: lane by lane, or all at once if depthwise."""
    fetch = tap.lines("t", wait)
    lanes = [f"t.{product.lane}" for product in tap.products if product.lane]
    if not lanes:
        return [*fetch, "begin(t);", "add(t);"]
    return [*fetch, f"begin(vec4({' + '.join(lanes)}));", *(f"add(vec4({lane}));" for lane in lanes)]


def lines_of_bytes(tap: Tap, wait: str) -> list[str]:
    """Return the same lines for 8-bit weights (shaders/convolution_bytes.frag); ``wait`` as in ``Tap.lines``."""
    calls = [f"add(t.{product.lane});" if product.lane else "add(t);" for product in tap.products]
    if tap.products[0].lane:
        calls[0] = calls[0].replace("add", "begin")
    return [*tap.lines("t", wait), *calls]


def lines_of_pairs(tap: Tap, wait: str) -> list[str]:
    """Return the same lines for rows of two channels (shaders/convolution_pairs.frag).

    Each texel of weights has two products.
    """
    pairs = ["".join(product.lane for product in pair) for pair in weight_pairs.pairs_of(tap.products)]
    calls = [f"{'add' if index else 'begin'}(t.{lanes});" for index, lanes in enumerate(pairs)]
    return [*tap.lines("t", wait), *calls]


def _number(name: str, index: int) -> list[str]:
    """Return the lines that fetch per-channel constant ``index`` from the end of a row."""
    return [f"{name} = number() * {_unit(index)};"]


def _number_of_bytes(name: str, index: int) -> list[str]:
    """Return the same lines for rows of ``weight_bytes``."""
    return [
        f"{name} = (next(row) - MIDDLE) * 65536.0;",
        f"{name} += next(row) * 256.0;",
        f"{name} += next(row);",
        f"{name} *= 255.0 * {_unit(index)};",
    ]


def _number_of_pair(name: str, index: int) -> list[str]:
    """Return the same lines for rows of ``weight_pairs``."""
    return [f"{name} = (number(row) * {_unit(index)}).xyxy;"]


def _unit(index: int) -> str:
    return f"number_units[0].{'xyzw'[index]}"


def ended(count: int) -> str:
    """Return an expression that is true once ``count`` columns have been added."""
    return f"column > ROW.x + {codegen.number(count - 0.5)} * units[0].w"
