"""Draws of a convolution whose weights are constants in the text or a uniform array: one for each output slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import codegen, conv_draws, cut_sums
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Coordinates, Product, Tap, late_by, picked, tap_lines
from glsl_infer.lowering.weight_texture import Constants
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.lowering.fold import StoredSum


UNIT = 2.0**40
"""What a fourth component is in units of, in programs of one slice, and where its sum has no bound.

A power of two: no number loses a bit by it.
"""

_MARK = np.array([1.0, 1.0, 1.0, UNIT], np.float32)


def in_units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return columns (slices, columns, 4) with their fourth components in units of ``UNIT``, and one that says so."""
    mark = np.broadcast_to(_MARK, (len(rows), 1, 4))
    return np.concatenate([(rows / _MARK).astype(np.float32), mark], axis=1)


def out_of_units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what ``in_units`` was given; columns without its mark as they are."""
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
        build: the program in the making.
        columns: how the kernel's columns follow one another.
        constants: in that order; the factor is the residual's, None where that is added as it is.
        mode: ``baked`` or ``uniform``.
        reads: of each slice, what it reads in the roles ``source`` and ``residual``.
        target: where the slices go.
        output: what the shader applies to the sum.
    """
    factor = [] if constants.factor is None else [constants.factor[:, None]]
    rows = np.concatenate([constants.weights, *factor, constants.bias[:, None]], axis=1)
    count = rows.shape[1]
    residual = bool(reads[0]["residual"])
    plain_residual = residual and not factor
    real, least = rows, late_by(rows, plain_residual=plain_residual)
    # A slice with a program of its own takes hardly more instructions so, often fewer, and its sum loses no digits.
    fetches = columns.kernel_height * columns.kernel_width * len(columns.read_by(0)) + residual
    small = not plain_residual and (least is None or (mode == "baked" and fetches > 1))
    starts = _starts(node, build, columns, real, None if small else least, apart=mode == "baked")
    small = small and starts.late is None  # stored ranges may say that it starts lower
    if small:
        rows = in_units(rows)
    member = build.weights(node, ".f32", rows.astype("<f4").tobytes())
    late = starts.late
    cut = (starts.cut / _MARK).astype(np.float32) if small else starts.cut
    stride = 4 * rows.shape[1]
    drawn = conv_draws.draws(node, build, columns, reads)
    bindings = [entry.binding for entry in drawn]
    texts: dict[int, str] = {}
    for index, (view, entry) in enumerate(zip(target.views, drawn)):
        binding = entry.binding
        baked = rows[index, :count] if mode == "baked" else None

        def weight(at: int, lanes: str, baked: NDArray[np.float32] | None = baked) -> str | None:
            if baked is None:
                return f"weights[{at}]" if lanes == "xyzw" else f"weights[{at}].{lanes}"
            return picked(baked[at], lanes)

        behind = []
        if residual:
            product = Product(count - 2 if factor else None, "")
            behind.append(Coordinates(bindings, "residual").tap(binding, 0, 0, 0, [product]))
        defines: dict[str, int | float | str] = {"BIAS": weight(count - 1, "xyzw") or "vec4(0.0)"}
        uniforms: dict[str, Sequence[float] | Slice] = {
            **binding.texels("source", steps=columns.dilations),
            **output.uniforms(index),
        }
        if baked is None:
            defines["WEIGHT_COUNT"] = count
            uniforms["weights"] = Slice(member, index * stride, 4 * count)
        taps = [*entry.taps, *behind]
        # A constant of 0 has no product: fetches cannot wait for a texel that adds nothing to the fourth channel.
        fourth = baked is None or not _leave_out_the_fourth(taps, baked)
        waits = fourth and (small or (late is not None and late[index] > 0.0))
        if small:
            defines["UNIT"] = UNIT
        if waits and late is not None:
            defines["LATE"] = "late" if baked is None else float(late[index])
            uniforms["late"] = [float(late[index])]
        start = cut[index].tolist()
        if late is not None and late[index] > 0.0 and not waits:
            start[3] = float(rows[index, count - 1, 3])  # nothing waits, so it is not raised again by LATE either
        defines["CUT_BIAS"] = "cut_bias" if baked is None else codegen.vec(start)
        uniforms["cut_bias"] = start
        fragment = codegen.PLANNED if build.planning else texts.get(id(entry.taps)) if baked is None else None
        fragment = fragment or codegen.fragment(
            "convolution.frag",
            includes=["store.glsl", "cut_sums.glsl", *([] if waits else ["tied.glsl"])],
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


def _leave_out_the_fourth(taps: Sequence[Tap], baked: NDArray[np.float32]) -> bool:
    """Return whether constants add a texel to other components of the sum alone, as those of another group do."""
    others, fourth = (baked[:, :3] != 0.0).any(axis=1), baked[:, 3] != 0.0
    for tap in taps:
        columns = [product.column for product in tap.products]
        if None not in columns and any(others[at] for at in columns) and not any(fourth[at] for at in columns):
            return True
    return False


def _starts(
    node: Node,
    build: Builder,
    columns: Columns,
    rows: NDArray[np.float32],
    least: NDArray[np.float32] | None,
    *,
    apart: bool,
) -> cut_sums.Starts:
    """Return where sums start, and by how much the fourth component starts lower.

    Args:
        node: the layer.
        build: the program in the making.
        columns: how the kernel's columns follow one another.
        rows: those, the residual's factor if it has one, and the bias: (slices, columns, 4).
        least: by how much the fourth component of each slice starts lower at least, if it does.
        apart: whether each slice has a program of its own.
    """
    factors, biases = rows[:, :-1], rows[:, -1]
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
        strides = node.attrs["strides"]
        return cut_sums.starts(
            columns, factors, biases, texels[0], strides, least=least, apart=apart, residual=residual
        )

    key = f"{node.name} {'apart' if apart else 'in common'}"
    return cut_sums.Starts.known(build.typical, key, columns.slices, find)
