"""Two dense layers in one pass, the first of which has partial sums: the second pass of a squeeze-and-excite block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph.activations import Activation, activation
from glsl_infer.lowering import codegen, fold
from glsl_infer.ops.dense_at_once import draw_pairs
from glsl_infer.ops.operator import Bounds, Operator
from glsl_infer.program import quantize
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value

STRIP = 8
"""Largest number of adjacent partial sums whose bytes are added before the sum is rounded to integers."""


SUMMED_ERROR = 8.0
"""Error of a sum of 64 rounded values, relative to that of one value."""


class DenseOfSums(Operator):
    """From partial sums (columns, hidden) to a vector (outputs,).

    ``activation(inner(sums * hidden_row_scale + hidden_bias) @ kernel * row_scale + bias)``. Each two outputs compute
    the hidden values again, and these are not rounded.

    Attributes: ``inner`` (the activation of the hidden values), ``activation``; ``scale`` of the stored result;
    ``hidden_bias_scale``, ``hidden_row_unit``, ``bias_scale`` and ``row_unit``, the units of the constants (powers of
    two). Weights: ``kernel`` (hidden, outputs) in units of each row's scale, multiples of 1/256 in [-128, 128);
    ``hidden_row_scale`` and ``row_scale`` (powers of two), ``hidden_bias`` and ``bias``.
    """

    attrs = {
        "inner": "linear",
        "activation": "linear",
        "scale": None,
        "hidden_bias_scale": 1.0,
        "hidden_row_unit": 1.0,
        "bias_scale": 1.0,
        "row_unit": 1.0,
    }
    weights = ("kernel", "hidden_row_scale", "hidden_bias", "row_scale", "bias")

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (outputs,)."""
        rows, outputs = node.weights["kernel"].shape
        if len(inputs[0]) != 2 or inputs[0][1] != rows:
            given = f"a kernel of {(rows, outputs)} on sums of {inputs[0]}"
            raise ModelError.layer(node.name, given, "check the weights")
        return (outputs,)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Add the columns, and compute both layers."""
        total = inputs[0].sum(axis=0)
        hidden = inner(node)(_scaled(node, total, "hidden_"))
        return node.activation(_scaled(node, hidden @ node.weights["kernel"].astype(hidden.dtype)))

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the result from bounds of the partial sums."""
        hidden = inner(node).range(*(_scaled(node, bound.sum(axis=0), "hidden_") for bound in inputs[0]))
        kernel = node.weights["kernel"].astype(np.float64)
        ends = np.stack([kernel * bound[:, None] for bound in hidden])
        return node.activation.range(
            *(_scaled(node, extreme.sum(axis=0)) for extreme in (ends.min(axis=0), ends.max(axis=0)))
        )

    def unit(self, node: Node) -> float:
        """Return the largest row scale of the hidden values, times the error of a sum in steps of its terms."""
        return SUMMED_ERROR * float(node.weights["hidden_row_scale"].max())

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one quad, or one for each pair of rows if the activation has parameters for each row."""
        source = build.fixed_point(node.inputs[0])
        (outputs,) = build.shapes[node.name]
        texels = _texels(node)
        height, width = texels.shape[:2]
        if max(height, width) > MAX_TEXTURE_SIZE:
            advice = f"at most {MAX_TEXTURE_SIZE - 2} outputs are supported"
            raise ModelError.layer(node.name, f"a dense layer of {outputs} outputs", advice)
        kernel = build.constant_texture(node, width, height, texels.tobytes())
        target = build.allocate_vector(node, outputs, node.attrs["scale"])
        # Two rows share a texel and are computed twice, because constants of the activation have four lanes.
        halves = fold.function_constants(node.activation, outputs, lanes=2)
        macros = {name: np.tile(rows, 2) for name, rows in halves.items()}
        strips, lines = _strips(source.columns)
        fragment = codegen.fragment(
            "dense_of_sums.frag",
            activation=node.activation,
            functions={"hidden_activation": inner(node)},
            constants=macros,
            includes=["fixed_point.glsl", "turns.glsl"],
            lines=lines,
            defines={
                "STRIPS": strips,
                "PAIRS": height - 1,
                "OFFSET": 128.0 * source.columns,
                "HIDDEN_SCALE": source.scale * 256.0 * node.attrs["hidden_row_unit"],
                "HIDDEN_BIAS": node.attrs["hidden_bias_scale"],
                "ROW_SCALE": 256.0 * node.attrs["row_unit"],
                "BIAS_SCALE": node.attrs["bias_scale"],
                "INVERSE_SCALE": 1.0 / target.scale,
            },
        )
        textures = {"source": source.texture, "kernel": kernel}
        draw_pairs(node, build, fragment, target, macros, textures, constants=[width - 2])

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return kernel, row scales and biases from their texture."""
        hidden, outputs = shapes["kernel"]
        pairs = slices_of(hidden, 2)
        texels = np.frombuffer(members[0], np.uint8).reshape(pairs + 1, -1, 2, 2)
        integers = quantize.join_fixed16(texels)
        kernel = integers[:-1, :outputs].transpose(0, 2, 1).reshape(2 * pairs, outputs)[:hidden]
        first, last = integers[:-1, -2:].reshape(-1, 2)[:hidden], integers[-1, :outputs]
        attrs = node.attrs
        arrays = {
            "kernel": kernel / 256.0,
            "hidden_row_scale": first[:, 0] * attrs["hidden_row_unit"],
            "hidden_bias": first[:, 1] / 256.0 * attrs["hidden_bias_scale"],
            "row_scale": last[:, 0] * attrs["row_unit"],
            "bias": last[:, 1] / 256.0 * attrs["bias_scale"],
        }
        return {name: array.astype(np.float32) for name, array in arrays.items()}


def inner(node: Node) -> Activation:
    """Return the activation of the hidden values."""
    return activation(node.attrs["inner"])


def supports_inner(function: Activation) -> bool:
    """Return whether a shader can compute a function in addition to the activation of the outputs."""
    if function.constants or function.pieces is not None:
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(function(np.zeros(1))).all())


def _scaled(node: Node, sums: Array, layer: str = "") -> Array:
    row_scale, bias = (node.weights[f"{layer}{name}"].astype(sums.dtype) for name in ("row_scale", "bias"))
    return sums * row_scale + bias


def _texels(node: Node) -> NDArray[np.uint8]:
    """Return the texture of weights and constants, uint8 (pairs of hidden values + 1, outputs + 2, 4)."""
    hidden, outputs = node.weights["kernel"].shape
    pairs, width = slices_of(hidden, 2), outputs + outputs % 2
    integers = np.zeros((pairs + 1, width + 2, 2), np.int64)
    kernel = np.zeros((2 * pairs, outputs), np.int64)
    kernel[:hidden] = np.rint(node.weights["kernel"].astype(np.float64) * 256.0)
    integers[:-1, :outputs] = kernel.reshape(pairs, 2, outputs).transpose(0, 2, 1)
    first = np.zeros((2 * pairs, 2), np.int64)
    first[:hidden] = _constants(node, "hidden_")
    integers[:-1, width:] = first.reshape(pairs, 2, 2)
    integers[-1, :outputs] = _constants(node)
    return quantize.split_fixed16(integers).reshape(pairs + 1, width + 2, 4)


def _constants(node: Node, layer: str = "") -> NDArray[np.int64]:
    """Return the integers of row scales and biases, (rows, 2)."""
    row_scale, bias = (node.weights[f"{layer}{name}"].astype(np.float64) for name in ("row_scale", "bias"))
    scales, biases = row_scale / node.attrs[f"{layer}row_unit"], bias / node.attrs[f"{layer}bias_scale"] * 256.0
    integers: NDArray[np.int64] = np.rint(np.stack([scales, biases], axis=1)).astype(np.int64)
    return integers


def _strips(columns: int) -> tuple[int, dict[str, Sequence[str]]]:
    """Return iterations of the template's inner loop, and its lines: strips of columns, and the remaining columns.

    The coordinate of a strip depends on the sum so far. Otherwise a compiler would fetch all texels first.
    """
    strips = slices_of(columns, STRIP)
    strip = columns // strips

    def lines(count: int) -> list[str]:
        advance = "at.x += source_texel.x;"
        fetches = [
            f"vec4 t = texture2D(source, at); {advance}",
            *[f"t += texture2D(source, at); {advance}"] * (count - 1),
        ]
        wait = "at.x = max(at.x, min(dot(bytes, vec4(1.0)), 0.0));"
        return [wait, *fetches, "bytes += floor(t * 255.0 + 0.5);"] if count else []

    return strips, {"fetch": lines(strip), "next": lines(columns - strips * strip)}


OPERATOR = DenseOfSums()
