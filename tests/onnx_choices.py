"""ONNX operators for the CPU, each after a map of 4 channels and 8x6 pixels, for ``test_onnx_operators``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx_networks import File

Build = Callable[[File, str], str]

MAP = (1, 4, 8, 6)
FLOAT, BOOL, WHOLE = 1, 9, 7


def as_float(file: File, x: str) -> str:
    return file.op("Cast", [x], file.shapes[x], to=FLOAT)


def compared(kind: str, other: Any = 0.1) -> Build:
    def build(file: File, x: str) -> str:
        y = file.constant(other) if other is not None else file.conv(x, 4)
        return as_float(file, file.op(kind, [x, y], MAP))

    return build


def logical(kind: str) -> Build:
    def build(file: File, x: str) -> str:
        high, low = file.op("Greater", [x, file.constant(0.2)], MAP), file.op("Less", [x, file.constant(0.5)], MAP)
        return as_float(file, file.op(kind, [high] if kind == "Not" else [high, low], MAP))

    return build


def function(kind: str) -> Build:
    """Return a builder for a rounding function, on values between integers."""
    return lambda file, x: file.op(
        kind, [file.op("Add", [file.op("Mul", [x, file.constant(3.0)], MAP), file.constant(0.013)], MAP)], MAP
    )


def within_unit(kind: str, offset: float = 0.0) -> Build:
    """Return a builder for a function of values in (offset, offset + 1)."""

    def build(file: File, x: str) -> str:
        return file.op(kind, [file.op("Add", [file.op("Sigmoid", [x], MAP), file.constant(offset)], MAP)], MAP)

    return build


def chosen(yes: Any, no: Any) -> Build:
    def build(file: File, x: str) -> str:
        inputs = [x if value is None else file.constant(value) for value in (yes, no)]
        return file.op("Where", [file.op("GreaterOrEqual", [x, file.conv(x, 4)], MAP), *inputs], MAP)

    return build


def masked_softmax(file: File, x: str) -> str:
    """Add a constant mask with infinite values before a softmax."""
    rows = file.reshape(x, (1, 4, 48))
    scores = file.op("MatMul", [rows, file.transpose(rows, (0, 2, 1))], (1, 4, 4))
    masked = file.op("Add", [scores, file.constant(np.triu(np.full((4, 4), -np.inf), 1))], (1, 4, 4))
    return file.op("MatMul", [file.op("Softmax", [masked], (1, 4, 4), axis=-1), rows], (1, 4, 48))


def truncated(to: int) -> Build:
    return lambda file, x: as_float(file, file.op("Cast", [file.op("Mul", [x, file.constant(3.0)], MAP)], MAP, to=to))


def places(file: File, x: str) -> tuple[str, str]:
    """Add the best pixel of each channel: its index, and a list of all pixels."""
    flat = file.reshape(x, (1, 4, 48))
    return file.op("ArgMax", [flat], (1, 4, 1), axis=2), flat


def row_and_column(file: File, x: str) -> str:
    """Add the integer division and remainder of decoders of key points."""
    best, _ = places(file, x)
    parts = [as_float(file, file.op(kind, [best, file.constant(6, "int64")], (1, 4, 1))) for kind in ("Div", "Mod")]
    return file.op("Concat", parts, (1, 4, 2), axis=2)


def infinite(**attributes: int) -> Build:
    def build(file: File, x: str) -> str:
        """Add a test of quotients, a third of which are infinite with either sign."""
        divisors = file.op("Floor", [file.op("Mul", [x, file.constant(1.5)], MAP)], MAP)
        quotients = file.op("Div", [x, divisors], MAP)
        return as_float(file, file.op("IsInf", [quotients], MAP, **attributes))

    return build


def remainder(file: File, x: str) -> str:
    return file.op("Mod", [x, file.constant(0.7)], MAP, fmod=1)


def at_best(kind: str, **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        best, flat = places(file, x)
        if kind == "GatherElements":
            return file.op(kind, [flat, best], (1, 4, 1), axis=2)
        if kind == "Gather":
            first = file.reshape(file.slice(best, 1, range(1)), (1,))
            return file.op(kind, [flat, first], (1, 4, 1), axis=2)
        channels = file.constant(np.arange(4).reshape(1, 4, 1), "int64")
        zeros = file.constant(np.zeros((1, 4, 1)), "int64")
        return file.op(kind, [flat, file.op("Concat", [zeros, channels, best], (1, 4, 3), axis=2)], (1, 4))

    return build


def of_a_table(file: File, x: str) -> str:
    best, _ = places(file, x)
    return file.op("Gather", [file.random(48, 3), best], (1, 4, 1, 3), axis=0)


def of_each(file: File, x: str) -> str:
    """Add a GatherND with a batch axis."""
    best, flat = places(file, x)
    points = file.op("Concat", [file.constant(np.arange(4).reshape(1, 4, 1), "int64"), best], (1, 4, 2), axis=2)
    return file.op("GatherND", [flat, points], (1, 4), batch_dims=1)


def scatter(kind: str, opset: int = 17) -> Build:
    def build(file: File, x: str) -> str:
        file.opset = opset
        flat = file.reshape(x, (4, 48))
        if kind != "ScatterND":
            new = file.slice(flat, 1, range(5))
            index = np.asarray([[7, 0, 3, 9, 1]] * 4)
            return file.op(kind, [flat, file.constant(index, "int64"), new], (4, 48), axis=1)
        new = file.slice(flat, 0, range(2))
        return file.op(kind, [flat, file.constant([[3], [0]], "int64"), new], (4, 48))

    return build


def largest(axis: int, count: int, output: int = 0, **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        shape = [count if index == axis % 4 else size for index, size in enumerate(MAP)]
        result = file.several("TopK", [x, file.constant([count], "int64")], [shape] * 2, axis=axis, **attributes)
        return as_float(file, result[1]) if output else result[0]

    return build


def summed(axis: int, **attributes: Any) -> Build:
    return lambda file, x: file.op("CumSum", [x, file.constant(axis, "int64")], MAP, **attributes)


def one_hot_from_end(file: File, x: str) -> str:
    """Add a one-hot of indices from -5 to 5, some of which are outside of the 4 classes."""
    rows = file.reshape(x, (1, 192))
    indices = file.op("Cast", [file.op("Mul", [rows, file.constant(2.0)], (1, 192))], (1, 192), to=WHOLE)
    return file.op("OneHot", [indices, file.constant([4], "int64"), file.constant([0.0, 1.0])], (1, 4, 192), axis=1)


def of_affine_grid(corners: int) -> Build:
    """Return a builder of a spatial transformer: a grid of 5x7 pixels from a matrix that the network computes."""

    def build(file: File, x: str) -> str:
        file.opset = 20
        pixel = file.reshape(file.op("GlobalAveragePool", [x], (1, 4, 1, 1)), (1, 4))
        matrix = file.reshape(file.op("MatMul", [pixel, file.random(4, 6)], (1, 6)), (1, 2, 3))
        size = file.constant([1, 4, 5, 7], "int64")
        grid = file.op("AffineGrid", [matrix, size], (1, 5, 7, 2), align_corners=corners)
        return file.op("GridSample", [x, grid], (1, 4, 5, 7), align_corners=corners)

    return build


def one_hot(axis: int) -> Build:
    def build(file: File, x: str) -> str:
        best = file.op("ArgMax", [x], (1, 8, 6), axis=1, keepdims=0)
        shape = list((1, 8, 6))
        shape.insert(axis % 4, 5)
        inputs = [best, file.constant([5], "int64"), file.constant([-0.5, 2.0])]
        return file.op("OneHot", inputs, shape, axis=axis)

    return build


def suppressed(file: File, x: str) -> str:
    """Add non-maximum suppression of the best five boxes in each of two classes, which are too far apart to overlap.

    ONNX Runtime leaves out rows in other cases.
    """
    rows = file.reshape(file.transpose(x, (0, 2, 3, 1)), (1, 48, 4))
    away = file.constant(np.arange(48).reshape(1, 48, 1) * 10.0)
    corner = file.op("Add", [file.op("Sigmoid", [file.slice(rows, 2, range(2))], (1, 48, 2)), away], (1, 48, 2))
    size = file.op("Add", [corner, file.constant(2.0)], (1, 48, 2))
    boxes = file.op("Concat", [corner, size], (1, 48, 4), axis=2)
    scores = file.op("Sigmoid", [file.transpose(file.slice(rows, 2, range(2, 4)), (0, 2, 1))], (1, 2, 48))
    inputs = [boxes, scores, file.constant([5], "int64"), file.constant([0.5]), file.constant([0.01])]
    return as_float(file, file.op("NonMaxSuppression", inputs, (10, 3)))


def sampled(mode: str, padding: str, corners: int) -> Build:
    def build(file: File, x: str) -> str:
        grid = file.rng.uniform(-1.3, 1.3, (1, 5, 7, 2))
        options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        return file.op("GridSample", [x, file.constant(grid)], (1, 4, 5, 7), **options)

    return build


def summed_by_equation(file: File, x: str) -> str:
    scores = file.op("Einsum", [x, x], (1, 4, 4), equation="bchw,bdhw->bcd")
    return file.op("Einsum", [scores, file.random(4, 3)], (1, 4, 3), equation="bcd,de")


def summed_with_dots(equation: str, weights: Sequence[int], shape: Sequence[int]) -> Build:
    return lambda file, x: file.op("Einsum", [x, file.random(*weights)], shape, equation=equation)


def sequence(kind: str, gates: int, direction: str = "forward", last: bool = False, **attributes: Any) -> Build:
    def build(file: File, x: str) -> str:
        rows = file.reshape(file.transpose(x, (3, 0, 2, 1)), (6, 1, 32))
        count, hidden = 2 if direction == "bidirectional" else 1, 5
        weights = [file.random(count, gates * hidden, 32, spread=0.2), file.random(count, gates * hidden, hidden)]
        weights.append(file.random(count, 2 * gates * hidden))
        if last:
            weights += ["", file.random(count, 1, hidden)]
        shapes: Sequence[Sequence[int]] = [(6, count, 1, hidden), (count, 1, hidden)]
        options = {"hidden_size": hidden, "direction": direction, **attributes}
        return file.several(kind, [rows, *weights], shapes, **options)[int(last)]

    return build


def attention(mask: str = "", heads: tuple[int, int] = (2, 2), rank: int = 3, past: bool = False, **more: Any) -> Build:
    """Return a builder for attention with six queries and keys, in heads of eight values."""

    def build(file: File, x: str) -> str:
        file.opset = 23
        rows = file.reshape(file.transpose(x, (0, 3, 2, 1)), (1, 6, 32))

        def projected(count: int) -> str:
            flat = file.op("MatMul", [rows, file.random(32, 8 * count)], (1, 6, 8 * count))
            if rank == 3:
                return flat
            return file.transpose(file.reshape(flat, (1, 6, count, 8)), (0, 2, 1, 3))

        inputs = [projected(heads[0]), *(projected(heads[1]) for _ in range(2)), ""]
        if mask == "blind":  # the second query is fully masked
            inputs[3] = file.constant(np.arange(36).reshape(6, 6) % 3 > (np.arange(6)[:, None] == 1) * 5, "bool")
        elif mask == "bool":
            inputs[3] = file.op("Greater", [file.slice(rows, 2, range(6)), file.constant(-2.0)], (1, 6, 6))
        elif mask == "float":
            inputs[3] = file.slice(rows, 2, range(6))
        inputs += [file.random(1, heads[1], 2, 8) for _ in range(2)] if past else []
        counts = dict(zip(("q_num_heads", "kv_num_heads"), heads)) if rank == 3 else {}
        shape = (1, 6, 8 * heads[0]) if rank == 3 else (1, heads[0], 6, 8)
        cached = [(1, heads[1], 8 if past else 6, 8)] * 2 if past else []
        return file.several("Attention", inputs, [shape, *cached], **counts, **more)[0]

    return build


def triangle(shift: int | None = None, **attributes: Any) -> Build:
    return lambda file, x: file.op(
        "Trilu", [x, *([] if shift is None else [file.constant(shift, "int64")])], MAP, **attributes
    )


def in_any_order(file: File, x: str) -> str:
    """Add a Gather of more rows than are concatenated one by one, as a sliding window reads."""
    return file.op("Gather", [x, file.constant(np.arange(72) * 5 % 7, "int64")], (1, 4, 72, 6), axis=2)


CASES: dict[str, list[Build]] = {
    "Attention": [attention(), attention("bool", softcap=2.0, scale=0.5), attention("blind", (4, 2), 4, is_causal=1),
                  attention("float", (4, 1)), attention(rank=4, past=True, is_causal=1)],
    "Acos": [within_unit("Acos")],
    "Acosh": [within_unit("Acosh", 1.0)],
    "AffineGrid": [of_affine_grid(0), of_affine_grid(1)],
    "And": [logical("And")],
    "Asin": [within_unit("Asin", -0.5)],
    "Asinh": [function("Asinh")],
    "Atan": [function("Atan")],
    "Atanh": [within_unit("Atanh", -0.5)],
    "Ceil": [function("Ceil")],
    "Cos": [function("Cos")],
    "Cosh": [within_unit("Cosh", -0.5)],
    "CumSum": [summed(1), summed(2, exclusive=1), summed(3, reverse=1)],
    "Einsum": [summed_by_equation, summed_with_dots("...w,wk->k...", (6, 5), (5, 1, 4, 8)),
               summed_with_dots("b...w,...wk", (4, 8, 6, 5), (4, 8, 1, 5))],
    "Equal": [compared("Equal", None)],
    "Erf": [function("Erf")],
    "Floor": [function("Floor")],
    "GRU": [sequence("GRU", 3), sequence("GRU", 3, activations=["HardSigmoid", "Relu"]),
            sequence("GRU", 3, "bidirectional", True, linear_before_reset=1)],
    "GatherElements": [at_best("GatherElements")],
    "GatherND": [at_best("GatherND"), of_each],
    "Greater": [compared("Greater")],
    "GreaterOrEqual": [compared("GreaterOrEqual", None)],
    "GridSample": [sampled("bilinear", "zeros", 0), sampled("bilinear", "border", 1), sampled("nearest", "zeros", 1),
                   sampled("bilinear", "reflection", 0), sampled("bilinear", "reflection", 1)],
    "IsInf": [infinite(), infinite(detect_negative=0), infinite(detect_positive=0)],
    "IsNaN": [lambda file, x: as_float(file, file.op("IsNaN", [x], MAP))],
    "LSTM": [sequence("LSTM", 4), sequence("LSTM", 4, "bidirectional", True), sequence("LSTM", 4, "reverse"),
             sequence("LSTM", 4, activations=["HardSigmoid", "Softsign", "Softsign"], activation_alpha=[0.16],
                      activation_beta=[0.45])],
    "Less": [compared("Less")],
    "LessOrEqual": [compared("LessOrEqual", [0.1, -0.1, 0.2, 0.0, 0.3, 0.5])],
    "Mod": [row_and_column, remainder],
    "NonMaxSuppression": [suppressed],
    "Not": [logical("Not")],
    "OneHot": [one_hot(-1), one_hot(1), one_hot_from_end],
    "Or": [logical("Or")],
    "RNN": [sequence("RNN", 1), sequence("RNN", 1, activations=["Relu"])],
    "ReduceProd": [lambda file, x: file.op("ReduceProd", [x], (1, 4, 1, 6), axes=[2])],
    "Round": [function("Round")],
    "Scatter": [scatter("Scatter", 9)],
    "ScatterElements": [scatter("ScatterElements")],
    "ScatterND": [scatter("ScatterND")],
    "Sign": [function("Sign")],
    "Sin": [function("Sin")],
    "Sinh": [within_unit("Sinh", -0.5)],
    "Tan": [within_unit("Tan", -0.5)],
    "TopK": [largest(1, 2), largest(-1, 3, 1), largest(2, 3, largest=0)],
    "Trilu": [triangle(), triangle(-2), triangle(1, upper=0)],
    "Where": [chosen(None, 0.25), chosen(np.full((4, 1, 1), -3.0), None), masked_softmax],
    "Xor": [logical("Xor")],
}  # fmt: skip
"""Builders by the operator's type."""

MORE: dict[str, list[Build]] = {
    "Cast": [truncated(WHOLE), truncated(BOOL)],
    "Gather": [at_best("Gather"), of_a_table, in_any_order],
    "Pow": [lambda file, x: file.op("Pow", [file.constant(1.5), x], MAP)],
}
"""Builders for operators with shaders."""
