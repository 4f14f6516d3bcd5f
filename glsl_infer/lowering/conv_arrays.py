"""Convolutions with weights as constants in the shader or in a uniform array: one draw for each output slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import codegen, conv_draws, truncation
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Coordinates, Product, Tap, constant_weights, fetch_offsets, tap_lines
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap

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
    factor = [] if constants.factor is None else [constants.factor[:, None]]
    rows = np.concatenate([constants.weights, *factor, constants.bias[:, None]], axis=1)
    count = rows.shape[1]
    residual = bool(reads[0]["residual"])
    plain_residual = residual and not factor
    true_rows, least_offset = rows, fetch_offsets(rows, plain_residual=plain_residual)
    # In a program for a single slice this scaling is almost free, and the sum loses no digits.
    fetches = columns.kernel_height * columns.kernel_width * len(columns.read_by(0)) + residual
    scaled_fourth = not plain_residual and (least_offset is None or (mode == "baked" and fetches > 1))
    least = None if scaled_fourth else least_offset
    starts = _sum_starts(node, build, columns, true_rows, least, own_programs=mode == "baked")
    scaled_fourth = scaled_fourth and starts.fetch_offsets is None  # calibration data of an older export can require it
    if scaled_fourth:
        rows = in_units(rows)
    member = build.weights(node, ".f32", rows.astype("<f4").tobytes())
    fourth_offset = starts.fetch_offsets
    start_rows = (starts.truncated / _MARK).astype(np.float32) if scaled_fourth else starts.truncated
    stride, gate = 4 * rows.shape[1], build.gate(node)
    layer_draws = conv_draws.draws(node, build, columns, reads)
    bindings = [entry.binding for entry in layer_draws]
    residual_coordinates = Coordinates(bindings, "residual") if residual else None
    texts: dict[int, str] = {}
    for index, (view, entry) in enumerate(zip(target.views, layer_draws)):
        binding = entry.binding
        baked = rows[index, :count] if mode == "baked" else None
        numbers = None if baked is None else baked.tolist()

        def weight(column: int, lanes: str, numbers: list[list[float]] | None = numbers) -> str | None:
            if numbers is None:
                return f"weights[{column}]" if lanes == "xyzw" else f"weights[{column}].{lanes}"
            return constant_weights(numbers[column], lanes)

        residual_taps = []
        if residual_coordinates is not None:
            product = Product(count - 2 if factor else None, "")
            residual_taps.append(residual_coordinates.tap(binding, 0, 0, 0, [product]))
        defines: dict[str, int | float | str] = {"BIAS": weight(count - 1, "xyzw") or "vec4(0.0)"}
        if gate is not None:
            defines["GATE_SCALE"] = gate.scale
        uniforms: dict[str, Sequence[float] | Slice] = {
            **binding.texels("source", steps=columns.dilations),
            **output.uniforms(index),
        }
        if baked is None:
            defines["WEIGHT_COUNT"] = count
            uniforms["weights"] = Slice(member, index * stride, 4 * count)
        taps = [*entry.taps, *residual_taps]
        # Constants of 0 have no product, and fetches cannot wait for a texel without one in the fourth channel.
        fourth = baked is None or not _skips_fourth_channel(taps, baked)
        waits = fourth and (scaled_fourth or (fourth_offset is not None and fourth_offset[index] > 0.0))
        if scaled_fourth:
            defines["UNIT"] = UNIT
        if waits and fourth_offset is not None:
            defines["LATE"] = "late" if baked is None else float(fourth_offset[index])
            uniforms["late"] = [float(fourth_offset[index])]
        start = start_rows[index].tolist()
        if fourth_offset is not None and fourth_offset[index] > 0.0 and not waits:
            start[3] = float(rows[index, count - 1, 3])  # without waits, the shader does not add LATE back
        defines["CUT_BIAS"] = "cut_bias" if baked is None else codegen.vec(start)
        uniforms["cut_bias"] = start
        fragment = texts.get(id(entry.taps)) if baked is None else None
        fragment = fragment or codegen.fragment(
            "convolution.frag",
            includes=[
                "store.glsl",
                "cut_sums.glsl",
                *([] if waits else ["tied.glsl"]),
                *([] if gate is None else ["gated.glsl"]),
            ],
            exact=not residual,
            activation=output.activation,
            constants=output.constants,
            saturates=True,
            lines={
                "declarations": entry.declarations,
                "coordinates": entry.coordinates,
                "taps": tap_lines(taps, weight, wait="WAIT" if waits else "TIED"),
            },
            defines=defines,
        )
        texts[id(entry.taps)] = fragment
        build.draw_tile(
            node,
            fragment,
            view,
            (target.width, target.height),
            binding,
            uniforms,
            part=str(index) if mode == "baked" else None,
        )


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

    def find() -> truncation.Starts:
        residual = None
        if len(sources) > 1:
            alpha = build.shows_alpha(sources[1])
            residual = build.calibration_maps.texels(node.inputs[1], sources[1], alpha=alpha)
        sums = truncation.Sums(columns, factors, biases, residual)
        texels, strides = build.calibration_input(node), node.attrs["strides"]
        return truncation.starts(sums, texels, strides, least, separate_slices=own_programs)

    key = f"{node.name} {'apart' if own_programs else 'in common'}"
    return truncation.Starts.cached(build.calibration_maps, key, columns.slices, find)
