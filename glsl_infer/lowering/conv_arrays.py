"""Convolutions with weights as constants in the shader or in a uniform array: one draw for each output slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import codegen, conv_draws, truncation
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Coordinates, Product, Tap, Weight, constant_weights, fetch_offsets, tap_lines
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap, FixedPoint

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.lowering.fold import StoredSum


UNIT = 2.0**40
"""Unit of a sum's fourth component in programs of a single slice, and for sums without a bound.

It is a power of two, so scaling is exact."""

_MARK = np.array([1.0, 1.0, 1.0, UNIT], np.float32)


def in_units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return columns (slices, columns, 4) with fourth components in units of ``UNIT``, followed by a marker column."""
    mark = np.broadcast_to(_MARK, (len(rows), 1, 4))
    return np.concatenate([(rows / _MARK).astype(np.float32), mark], axis=1)


def out_of_units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inverse of ``in_units``; columns without a marker are returned unchanged."""
    return rows[:, :-1] * _MARK if (rows[:, -1] == _MARK).all() else rows


@dataclass(frozen=True)
class _Sums:
    """The sums of a layer, with a row of constants for each output slice.

    Attributes:
        rows: columns of weights, the residual's factor if any, and the bias, (slices, columns, 4).
        truncated_starts: initial values on devices that truncate additions, (slices, 4).
        fetch_offsets: initial offset of the fourth component below its bias, (slices,); None without ordered fetches.
        has_units: whether fourth components are in units of ``UNIT``.
    """

    rows: NDArray[np.float32]
    truncated_starts: NDArray[np.float32]
    fetch_offsets: NDArray[np.float32] | None
    has_units: bool

    @cached_property
    def stored(self) -> NDArray[np.float32]:
        """The rows as a bundle stores them."""
        return in_units(self.rows) if self.has_units else self.rows

    @cached_property
    def drawn(self) -> NDArray[np.float32]:
        """The rows as shaders use them, without the marker column."""
        return self.stored[:, : self.rows.shape[1]]

    def fetch_offset(self, index: int) -> float:
        """Return the offset of a slice; 0 without ordered fetches."""
        return 0.0 if self.fetch_offsets is None else float(self.fetch_offsets[index])

    def start(self, index: int, *, waits: bool) -> list[float]:
        """Return the initial values of a slice on devices that truncate; ``waits``: whether its fetches are ordered."""
        start: list[float] = self.truncated_starts[index].tolist()
        if self.has_units:
            start = (self.truncated_starts[index] / _MARK).astype(np.float32).tolist()
        if self.fetch_offset(index) > 0.0 and not waits:
            start[3] = float(self.drawn[index, -1, 3])  # without waits, the shader does not add LATE back
        return start


def draw(
    node: Node,
    build: Builder,
    *,
    columns: Columns,
    constants: Constants,
    mode: str,
    reads: Sequence[Mapping[str, Sequence[Read]]],
    target: FeatureMap,
    output: StoredSum,
) -> None:
    """Append the passes of a convolution, and its weights as floats.

    Args:
        node: the layer.
        build: the program.
        columns: layout of the kernel's columns.
        constants: weights in this layout; the factor is the residual's, None for a factor of 1.
        mode: ``baked`` or ``uniform``.
        reads: reads of each slice, in the roles ``source`` and ``residual``.
        target: the output.
        output: activation and scaling of the sum.
    """
    is_baked, has_residual, gate = mode == "baked", bool(reads[0]["residual"]), build.gate(node)
    sums = _sums(node, build, columns, constants, is_baked=is_baked, has_residual=has_residual)
    stored, drawn = sums.stored, sums.drawn
    member = build.weights(node, ".f32", stored.astype("<f4").tobytes())
    stride, array_size = 4 * stored.shape[1], 4 * drawn.shape[1]

    layer_draws = conv_draws.draws(node, build, columns, reads)
    residual_coordinates, residual_product = None, Product(None if constants.factor is None else columns.count, "")
    if has_residual:
        residual_coordinates = Coordinates([slice_draw.binding for slice_draw in layer_draws], "residual")

    shader = _Shader(sums, output, gate, is_baked, has_residual)
    fragments: dict[int, str] = {}  # draws with an array and the same list of taps share a shader
    for index, (view, slice_draw) in enumerate(zip(target.views, layer_draws)):
        binding, taps = slice_draw.binding, [*slice_draw.taps]
        if residual_coordinates is not None:
            taps.append(residual_coordinates.tap(binding, 0, 0, 0, [residual_product]))
        # Constants of 0 have no product, and fetches cannot wait for a texel without one in the fourth channel.
        can_wait = not (is_baked and _skips_fourth_channel(taps, drawn[index]))
        waits = can_wait and (sums.has_units or sums.fetch_offset(index) > 0.0)
        start = sums.start(index, waits=waits)

        uniforms: dict[str, Sequence[float] | Slice] = {
            **binding.texels("source", steps=columns.dilations),
            **output.uniforms(index),
        }
        if not is_baked:
            uniforms["weights"] = Slice(member, index * stride, array_size)
        if waits and sums.fetch_offsets is not None:
            uniforms["late"] = [sums.fetch_offset(index)]
        uniforms["cut_bias"] = start

        taps_id = id(slice_draw.taps)
        if is_baked or taps_id not in fragments:
            fragments[taps_id] = shader.fragment(index, slice_draw, taps, start, waits=waits)
        part = str(index) if is_baked else None
        size = (target.width, target.height)
        build.draw_tile(node, fragments[taps_id], view, size, binding, uniforms, part=part)


def _sums(
    node: Node, build: Builder, columns: Columns, constants: Constants, *, is_baked: bool, has_residual: bool
) -> _Sums:
    """Return the sums of a layer, with units or offsets for their fourth components."""
    factor = [] if constants.factor is None else [constants.factor[:, None]]
    rows = np.concatenate([constants.weights, *factor, constants.bias[:, None]], axis=1)
    plain_residual = has_residual and constants.factor is None
    least_offsets = fetch_offsets(rows, plain_residual=plain_residual)
    # In a program for a single slice, units are almost free, and the sum loses no digits.
    fetches = columns.kernel_height * columns.kernel_width * len(columns.read_by(0)) + has_residual
    has_units = not plain_residual and (least_offsets is None or (is_baked and fetches > 1))
    if has_units:
        least_offsets = None
    starts = _sum_starts(node, build, columns, rows, least_offsets, own_programs=is_baked)
    has_units = has_units and starts.fetch_offsets is None  # calibration data of an older export can have offsets
    return _Sums(rows, starts.truncated, starts.fetch_offsets, has_units)


@dataclass(frozen=True)
class _Shader:
    """The shader of a layer, whose text depends on the taps of a draw.

    Attributes:
        sums: the sums of the layer.
        output: activation and scaling of the sums.
        gate: vector that multiplies the input's channels, if any.
        is_baked: whether weights are constants in the shader, which then belongs to a single slice.
        has_residual: whether a residual is added.
    """

    sums: _Sums
    output: StoredSum
    gate: FixedPoint | None
    is_baked: bool
    has_residual: bool

    def fragment(
        self, index: int, slice_draw: conv_draws.Draw, taps: Sequence[Tap], start: Sequence[float], *, waits: bool
    ) -> str:
        """Return the text for a draw.

        Args:
            index: index of the slice.
            slice_draw: its draw.
            taps: taps of the input, and of the residual if any.
            start: initial value of the sum on devices that truncate.
            waits: whether its fetches are ordered.
        """
        weight = _baked_weight(self.sums.drawn[index]) if self.is_baked else _array_weight
        count = self.sums.rows.shape[1]
        defines: dict[str, int | float | str] = {"BIAS": weight(count - 1, "xyzw") or "vec4(0.0)"}
        if self.gate is not None:
            defines["GATE_SCALE"] = self.gate.scale
        if not self.is_baked:
            defines["WEIGHT_COUNT"] = count
        if self.sums.has_units:
            defines["UNIT"] = UNIT
        if waits and self.sums.fetch_offsets is not None:
            defines["LATE"] = self.sums.fetch_offset(index) if self.is_baked else "late"
        defines["CUT_BIAS"] = codegen.vec(start) if self.is_baked else "cut_bias"
        return codegen.fragment(
            "convolution.frag",
            includes=[
                "store.glsl",
                "cut_sums.glsl",
                *([] if waits else ["tied.glsl"]),
                *([] if self.gate is None else ["gated.glsl"]),
            ],
            exact=not self.has_residual,
            activation=self.output.activation,
            constants=self.output.constants,
            saturates=True,
            lines={
                "declarations": slice_draw.declarations,
                "coordinates": slice_draw.coordinates,
                "taps": tap_lines(taps, weight, wait="WAIT" if waits else "TIED"),
            },
            defines=defines,
        )


def _array_weight(column: int, lanes: str) -> str:
    """Return the expression of some components of a column in the uniform array."""
    return f"weights[{column}]" if lanes == "xyzw" else f"weights[{column}].{lanes}"


def _baked_weight(row: NDArray[np.float32]) -> Weight:
    """Return the function from a column of a slice, and components, to an expression of constants."""
    numbers = row.tolist()
    return lambda column, lanes: constant_weights(numbers[column], lanes)


def _skips_fourth_channel(taps: Sequence[Tap], baked: NDArray[np.float32]) -> bool:
    """Return whether a tap contributes to some of the first three channels but not to the fourth, as with groups."""
    first_three, fourth = (baked[:, :3] != 0.0).any(axis=1), baked[:, 3] != 0.0
    for tap in taps:
        columns = [product.column for product in tap.products]
        if None in columns:
            continue
        if any(first_three[column] for column in columns) and not any(fourth[column] for column in columns):
            return True
    return False


def _sum_starts(
    node: Node,
    build: Builder,
    columns: Columns,
    rows: NDArray[np.float32],
    least: NDArray[np.float32] | None,
    *,
    own_programs: bool,
) -> truncation.Starts:
    """Return the initial values of sums, and the initial offset of the fourth component below its bias.

    Args:
        node: the layer.
        build: the program.
        columns: layout of the kernel's columns.
        rows: the columns, the residual's factor if any, and the bias: (slices, columns, 4).
        least: smallest offset of each slice's fourth component; None without ordered fetches.
        own_programs: whether each slice has its own program.
    """
    factors, biases = rows[:, :-1], rows[:, -1]
    sources = build.maps_of(node)
    if len(sources) > 1 and factors.shape[1] == columns.count:
        factors = np.concatenate([factors, np.ones_like(biases[:, None])], axis=1)

    def compute_starts() -> truncation.Starts:
        residual = None
        if len(sources) > 1:
            alpha = build.shows_alpha(sources[1])
            residual = build.calibration_maps.texels(node.inputs[1], sources[1], alpha=alpha)
        sums = truncation.Sums(columns, factors, biases, residual)
        texels, strides = build.calibration_input(node), node.attrs["strides"]
        return truncation.starts(sums, texels, strides, least, separate_slices=own_programs)

    key = f"{node.name} {'apart' if own_programs else 'in common'}"
    return truncation.Starts.cached(build.calibration_maps, key, columns.slices, compute_starts)
