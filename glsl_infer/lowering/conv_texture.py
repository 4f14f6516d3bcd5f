"""Convolutions with weights in a texture: one pass, with a quad for each output slice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from glsl_infer.lowering.bindings import Binding, Read
from glsl_infer.lowering.calibration_maps import Arrays
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Tap
from glsl_infer.lowering.texture_choice import LEAST_BYTE_COLUMNS, Weights
from glsl_infer.lowering.weight_bytes import WeightBytes
from glsl_infer.lowering.weight_pairs import WeightPairs
from glsl_infer.lowering.weight_texture import WeightTexture
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap, FixedPoint, View

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.lowering.fold import StoredSum


MOST_ACROSS: Mapping[int, int] = {8: 16, 16: conv_draws.MOST_COLUMNS_ALIVE[8]}
"""Largest number of adjacent 8-bit tiles whose x coordinates fit into VideoCore IV's registers, by the bits of weights.
In rows of 14 and 16, slices do not compile with 16-bit weights and per-channel constants."""

CENTRED_AFTER = 1
"""Number of a texel's lanes whose products with 16-bit weights come before the offset of the high bytes is subtracted.

Three programs of X22 take 672, 753 and 1,411 instructions with 0; 663, 744 and 1,398 with 1; 661, 735 and 1,374 with 3
(Mesa 22.3.6). With 3, sums are larger and lose more by truncation: of 51,200 values of a 1x1 convolution, 11 differ
from the reference instead of 5."""


def read(texels: bytes, units: bytes, columns: Columns) -> Weights:
    """Decode a texture of weights from its two members of a bundle.

    Raises:
        ValueError: the members are not a texture of weights.
    """
    weights: Weights | None = weight_pairs.read(texels, units, columns)
    if weights is None and columns.count >= LEAST_BYTE_COLUMNS:
        weights = weight_bytes.read(texels, units, columns.slices, columns.count)
    return weights or weight_texture.read(texels, units, columns.slices, columns.count)


@dataclass(frozen=True)
class _Tile:
    """A quad of the pass: its tile of the output, its row of the texture of weights, and its other reads by role."""

    view: View
    row: int
    reads: Mapping[str, Sequence[Read]]


@dataclass(frozen=True)
class _RegisterLimits:
    """Limits of a layer's draws, from the registers of VideoCore IV.

    Attributes:
        own_coordinates: largest number of slices with their own coordinate.
        shared_columns: largest number of x coordinates that taps of several tiles share.
        across: largest number of x coordinates with which fetches need not wait for each other.
    """

    own_coordinates: int
    shared_columns: int
    across: int


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
    layer_uniforms: dict[str, Sequence[float] | Slice] = {"units": Slice(units, 0, 4)}
    if output.numbers:
        layer_uniforms["number_units"] = Slice(units, 4, 4)
    if not isinstance(weights, WeightTexture):
        layer_uniforms["cut_start"] = [_truncated_start(node, build, columns, weights)]
    if isinstance(weights, WeightTexture):
        layer_uniforms["byte_units"] = [1.0, 1.0 / 256.0]
    elif isinstance(weights, WeightBytes) or weights.bits == 16:
        layer_uniforms["one"] = [1.0]

    reads_16_bits = build.feature_map(node.inputs[0]).bits == 16
    residuals = len(reads[0].get("residual", ()))
    limits = _register_limits(
        columns, weights, residuals, reads_16_bits=reads_16_bits, stores_16_bits=target.bits == 16
    )
    fetching = conv_draws.Fetching(
        common=False, in_order=True, own_coordinates=limits.own_coordinates, shared_columns=limits.shared_columns
    )
    tiles = _tiles(weights, target, reads)
    tile_reads = [{**tile.reads, "weights": [Read(View(texture, 0, tile.row), stride=(0.0, 0.0))]} for tile in tiles]
    layer_draws = conv_draws.draws(node, build, columns, tile_reads, fetching=fetching)

    shader = _Shader(node.name, columns, weights, output, build.gate(node), limits)
    fragments: dict[int, str] = {}  # draws with the same list of taps share a shader
    for tile, tile_draw in zip(tiles, layer_draws):
        taps_id = id(tile_draw.taps)
        if taps_id not in fragments:
            fragments[taps_id] = shader.fragment(tile_draw)
        binding = tile_draw.binding
        uniforms = {**binding.texels("source", steps=columns.dilations), **layer_uniforms}
        build.draw_tile(node, fragments[taps_id], tile.view, (target.width, target.height), binding, uniforms)


def _tiles(weights: Weights, target: FeatureMap, reads: Sequence[Mapping[str, Sequence[Read]]]) -> list[_Tile]:
    """Return the quads of the pass: one for each slice, or two if the weights have a row for every two channels."""
    tiles = []
    for index, (view, slice_reads) in enumerate(zip(target.views, reads)):
        if not isinstance(weights, WeightPairs):
            tiles.append(_Tile(view, index, slice_reads))
            continue
        first = replace(view, half=0)
        second = replace(first, y=view.y + view.half)
        second_row = index + len(reads)  # second tiles use the rows of the texture's lower half
        tiles += [_Tile(first, index, slice_reads), _Tile(second, second_row, slice_reads)]
    return tiles


def _register_limits(
    columns: Columns, weights: Weights, residuals: int, *, reads_16_bits: bool, stores_16_bits: bool
) -> _RegisterLimits:
    """Return the limits of a layer's draws, from its weights, its number of residuals and the bits of its maps."""
    # An additional program costs more at start than a few coordinates cost for so few pixels (``weights_plan``).
    own_coordinates = conv_draws.MOST_COORDINATES
    if columns.taps_per_slot > 1:
        own_coordinates = weights_plan.WINDOW_READS - residuals
    in_16_bits = isinstance(weights, WeightTexture)
    if in_16_bits and reads_16_bits:
        own_coordinates = min(own_coordinates, weights_plan.READS_16_BITS)
    elif in_16_bits and stores_16_bits:  # 1x1 over 8 slices and a residual does not compile
        own_coordinates = min(own_coordinates, conv_draws.MOST_COORDINATES - residuals)
    if reads_16_bits or (in_16_bits and stores_16_bits):
        shared_columns = conv_draws.MOST_COLUMNS_ALIVE[16]
        return _RegisterLimits(own_coordinates, shared_columns, shared_columns)
    return _RegisterLimits(own_coordinates, conv_draws.MOST_COLUMNS_ALIVE[8], MOST_ACROSS[16 if in_16_bits else 8])


@dataclass(frozen=True)
class _Shader:
    """The shader of a layer, whose text depends on the taps of a draw.

    Attributes:
        layer: name of the layer, for messages.
        columns, weights, output: as for ``draw``.
        gate: the vector that multiplies the input's channels, if any.
        limits: limits of registers.
    """

    layer: str
    columns: Columns
    weights: Weights
    output: StoredSum
    gate: FixedPoint | None
    limits: _RegisterLimits

    def fragment(self, tile_draw: conv_draws.Draw) -> str:
        """Return the text for a draw."""
        binding, numbers = tile_draw.binding, self._number_lines()
        wait = "WAIT" if self._waits(tile_draw) else ""
        waits_for_texel = bool(wait) and isinstance(self.weights, WeightTexture)
        loop = self._loop(tile_draw)
        declarations = [*tile_draw.declarations, *["uniform vec4 number_units[1];"] * bool(numbers)]
        if loop is not None:
            declarations = [*rolled.loop_always(self._fetches(tile_draw)), *declarations]
        tap_lines = self._tap_lines
        fragment = codegen.fragment(
            self.weights.template,
            includes=[
                "store.glsl",
                "cut_sums.glsl",
                *["late.glsl"] * bool(numbers),
                *["after_texel.glsl"] * waits_for_texel,
                *["gated.glsl"] * (self.gate is not None),
            ],
            exact=not binding.count("residual"),
            activation=self.output.activation,
            constants=self.output.constants,
            fetched=self.output.numbers,
            saturates=True,
            lines={
                "declarations": declarations,
                "numbers": numbers,
                "no_numbers": [f"{macro.lower()} = vec4(0.0);" for macro in self.output.numbers],
                "loop": loop.lines(lambda tap: tap_lines(tap, ""), loop_end(self._columns_in_row)) if loop else [],
                "coordinates": [*tile_draw.coordinates, *["t = vec4(0.0);"] * waits_for_texel],
                "taps": [line for tap in tile_draw.taps for line in tap_lines(tap, wait)],
            },
            defines=self._defines(binding, has_loop=loop is not None),
        )
        if isinstance(self.weights, WeightPairs):
            return sixteen_bit.storing(self.layer, fragment, sixteen_bit.HALVES[0])
        return fragment

    def _defines(self, binding: Binding, *, has_loop: bool) -> dict[str, int | float | str]:
        """Return the macros of the shader of a draw with these reads."""
        defines: dict[str, int | float | str] = {"ROW": binding.coordinate("weights")}
        if binding.count("residual"):
            defines["RESIDUAL"] = binding.fetch("residual")
        if self.weights.has_factor:
            defines["FACTOR"] = 1
        if isinstance(self.weights, WeightPairs) and self.weights.bits == 16:
            defines["LOW_BYTES"] = 1
        if self.gate is not None:
            defines["GATE_SCALE"] = self.gate.scale
        if has_loop:
            defines["HAS_LOOP"] = 1
        return defines

    def _waits(self, tile_draw: conv_draws.Draw) -> bool:
        """Return whether fetches wait for each other, because the coordinates of tiles would exceed the registers."""
        if not tile_draw.by_tiles or self.columns.depthwise:
            return False
        in_bytes = not isinstance(self.weights, WeightTexture)
        return (
            tile_draw.across > self.limits.across
            or self.columns.count > weight_bytes.SERIAL_FETCH_COLUMNS
            or (in_bytes and self.columns.taps_per_slot > 1)
        )

    def _loop(self, tile_draw: conv_draws.Draw) -> rolled.Loop | None:
        """Return the loop over a draw's taps, if they are regular and have no gates."""
        if self.gate is not None:
            return None
        return tile_draw.loop if tile_draw.by_tiles else rolled.loop(self.columns, tile_draw.binding)

    def _fetches(self, tile_draw: conv_draws.Draw) -> int:
        """Return the number of fetches of a draw without a loop."""
        fetches_per_column = 2 if isinstance(self.weights, WeightTexture) else 1
        return len(tile_draw.taps) + self._columns_in_row * fetches_per_column

    @property
    def _columns_in_row(self) -> int:
        """Number of a row's texels of weights, as a loop counts them."""
        if isinstance(self.weights, WeightPairs):
            return weight_pairs.texels_of(self.columns) * self.weights.bits // 8
        return self.columns.count

    @property
    def _tap_lines(self) -> Callable[[Tap, str], list[str]]:
        """Function that returns the lines of a tap: they fetch its texel and add its products."""
        if isinstance(self.weights, WeightPairs):
            return lines_of_pairs
        return lines_of_bytes if isinstance(self.weights, WeightBytes) else _lines

    def _number_lines(self) -> list[str]:
        """Return the lines that fetch the per-channel constants of the activation and the range from a row.

        Each fetch waits for the sum, because together they would need too many registers.
        """
        if not self.output.numbers:
            return []
        if isinstance(self.weights, WeightTexture):
            number_lines, lines = _number, ["row = LATE(row, sum);", "lower = LATE(lower, sum);"]
        else:
            number_lines = _number_of_pair if isinstance(self.weights, WeightPairs) else _number_of_bytes
            lines = ["float row = LATE(ROW.y, y);"]
        for index, macro in enumerate(self.output.numbers):
            lines += number_lines(macro.lower(), index)
        return lines


def _truncated_start(node: Node, build: Builder, columns: Columns, weights: WeightBytes | WeightPairs) -> float:
    """Return the initial value of sums on a device that truncates them (``truncation.byte_start``)."""

    def compute_start() -> Arrays:
        texels, strides = build.calibration_input(node), node.attrs["strides"]
        constants = weights.high_bytes.astype(np.float32) / np.float32(255.0)
        return (np.array([truncation.byte_start(columns, constants, float(weights.units[1]), texels, strides)]),)

    key = f"{node.name} in a texture"
    (start,) = build.calibration_maps.cached(key, compute_start, lambda arrays: arrays[0].shape == (1,))
    return float(start[0])


def _lines(tap: Tap, wait: str) -> list[str]:
    """Return the lines that fetch a texel and add its products: lane by lane, or all at once if depthwise."""
    fetch = tap.lines("t", wait)
    lanes = [f"t.{product.lane}" for product in tap.products if product.lane]
    if not lanes:
        return ["next();", *fetch, "add(t);"]
    adds = [f"add({lane});" for lane in lanes]
    centre = f"centre({' + '.join(lanes)});"
    return [*fetch, *adds[:CENTRED_AFTER], centre, *adds[CENTRED_AFTER:]]


def lines_of_bytes(tap: Tap, wait: str) -> list[str]:
    """Return the same lines for 8-bit weights (shaders/convolution_bytes.frag); ``wait`` as in ``Tap.lines``."""
    fetch = tap.lines("t", wait)
    if not tap.products[0].lane:
        return ["weight = next(ROW.y);", *fetch, "add(t);"]
    calls = [f"{'add' if index else 'begin'}(t.{product.lane});" for index, product in enumerate(tap.products)]
    return [*fetch, *calls]


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


def loop_end(count: int) -> str:
    """Return an expression that is true once ``count`` columns have been added."""
    return f"column > ROW.x + {codegen.number(count - 0.5)} * units[0].w"
