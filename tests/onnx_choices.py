"""ONNX operators for the CPU, each after a map of 4 channels and 8x6 pixels, for ``test_onnx_operators``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx_networks import File

Build = Callable[[File, str], str]

MAP = (1, 4, 8, 6)
FLOAT, BOOL, WHOLE = 1, 9, 7


def as_float(made: File, x: str) -> str:
    return made.op("Cast", [x], made.shapes[x], to=FLOAT)


def compared(kind: str, other: Any = 0.1) -> Build:
    def build(made: File, x: str) -> str:
        y = made.constant(other) if other is not None else made.conv(x, 4)
        return as_float(made, made.op(kind, [x, y], MAP))

    return build


def logical(kind: str) -> Build:
    def build(made: File, x: str) -> str:
        high, low = made.op("Greater", [x, made.constant(0.2)], MAP), made.op("Less", [x, made.constant(0.5)], MAP)
        return as_float(made, made.op(kind, [high] if kind == "Not" else [high, low], MAP))

    return build


def function(kind: str) -> Build:
    """Return a builder for a rounding function, on values between integers."""
    return lambda made, x: made.op(
        kind, [made.op("Add", [made.op("Mul", [x, made.constant(3.0)], MAP), made.constant(0.013)], MAP)], MAP
    )


def within_unit(kind: str, offset: float = 0.0) -> Build:
    """Return a builder for a function of values in (offset, offset + 1)."""

    def build(made: File, x: str) -> str:
        return made.op(kind, [made.op("Add", [made.op("Sigmoid", [x], MAP), made.constant(offset)], MAP)], MAP)

    return build


def chosen(yes: Any, no: Any) -> Build:
    def build(made: File, x: str) -> str:
        given = [x if value is None else made.constant(value) for value in (yes, no)]
        return made.op("Where", [made.op("GreaterOrEqual", [x, made.conv(x, 4)], MAP), *given], MAP)

    return build


def masked_softmax(made: File, x: str) -> str:
    """Add a constant mask with infinite values before a softmax."""
    rows = made.reshape(x, (1, 4, 48))
    scores = made.op("MatMul", [rows, made.transpose(rows, (0, 2, 1))], (1, 4, 4))
    masked = made.op("Add", [scores, made.constant(np.triu(np.full((4, 4), -np.inf), 1))], (1, 4, 4))
    return made.op("MatMul", [made.op("Softmax", [masked], (1, 4, 4), axis=-1), rows], (1, 4, 48))


def truncated(to: int) -> Build:
    return lambda made, x: as_float(made, made.op("Cast", [made.op("Mul", [x, made.constant(3.0)], MAP)], MAP, to=to))


def places(made: File, x: str) -> tuple[str, str]:
    """Add the best pixel of each channel: its index, and a list of all pixels."""
    flat = made.reshape(x, (1, 4, 48))
    return made.op("ArgMax", [flat], (1, 4, 1), axis=2), flat


def row_and_column(made: File, x: str) -> str:
    """Add the integer division and remainder of decoders of key points."""
    best, _ = places(made, x)
    parts = [as_float(made, made.op(kind, [best, made.constant(6, "int64")], (1, 4, 1))) for kind in ("Div", "Mod")]
    return made.op("Concat", parts, (1, 4, 2), axis=2)


def remainder(made: File, x: str) -> str:
    return made.op("Mod", [x, made.constant(0.7)], MAP, fmod=1)


def at_best(kind: str, **attributes: Any) -> Build:
    def build(made: File, x: str) -> str:
        best, flat = places(made, x)
        if kind == "GatherElements":
            return made.op(kind, [flat, best], (1, 4, 1), axis=2)
        if kind == "Gather":
            first = made.reshape(made.slice(best, 1, range(1)), (1,))
            return made.op(kind, [flat, first], (1, 4, 1), axis=2)
        channels = made.constant(np.arange(4).reshape(1, 4, 1), "int64")
        zeros = made.constant(np.zeros((1, 4, 1)), "int64")
        return made.op(kind, [flat, made.op("Concat", [zeros, channels, best], (1, 4, 3), axis=2)], (1, 4))

    return build


def of_a_table(made: File, x: str) -> str:
    best, _ = places(made, x)
    return made.op("Gather", [made.random(48, 3), best], (1, 4, 1, 3), axis=0)


def of_each(made: File, x: str) -> str:
    """Add a GatherND with a batch axis."""
    best, flat = places(made, x)
    points = made.op("Concat", [made.constant(np.arange(4).reshape(1, 4, 1), "int64"), best], (1, 4, 2), axis=2)
    return made.op("GatherND", [flat, points], (1, 4), batch_dims=1)


def written(kind: str) -> Build:
    def build(made: File, x: str) -> str:
        flat = made.reshape(x, (4, 48))
        if kind == "ScatterElements":
            new = made.slice(flat, 1, range(5))
            index = np.asarray([[7, 0, 3, 9, 1]] * 4)
            return made.op(kind, [flat, made.constant(index, "int64"), new], (4, 48), axis=1)
        new = made.slice(flat, 0, range(2))
        return made.op(kind, [flat, made.constant([[3], [0]], "int64"), new], (4, 48))

    return build


def largest(axis: int, count: int, output: int = 0, **attributes: Any) -> Build:
    def build(made: File, x: str) -> str:
        shape = [count if place == axis % 4 else size for place, size in enumerate(MAP)]
        found = made.several("TopK", [x, made.constant([count], "int64")], [shape] * 2, axis=axis, **attributes)
        return as_float(made, found[1]) if output else found[0]

    return build


def summed(axis: int, **attributes: Any) -> Build:
    return lambda made, x: made.op("CumSum", [x, made.constant(axis, "int64")], MAP, **attributes)


def one_hot(axis: int) -> Build:
    def build(made: File, x: str) -> str:
        best = made.op("ArgMax", [x], (1, 8, 6), axis=1, keepdims=0)
        shape = list((1, 8, 6))
        shape.insert(axis % 4, 5)
        given = [best, made.constant([5], "int64"), made.constant([-0.5, 2.0])]
        return made.op("OneHot", given, shape, axis=axis)

    return build


def suppressed(made: File, x: str) -> str:
    """Add non-maximum suppression of the best five boxes in each of two classes, which are too far apart to overlap.

    ONNX Runtime leaves out rows in other cases.
    """
    rows = made.reshape(made.transpose(x, (0, 2, 3, 1)), (1, 48, 4))
    away = made.constant(np.arange(48).reshape(1, 48, 1) * 10.0)
    corner = made.op("Add", [made.op("Sigmoid", [made.slice(rows, 2, range(2))], (1, 48, 2)), away], (1, 48, 2))
    size = made.op("Add", [corner, made.constant(2.0)], (1, 48, 2))
    boxes = made.op("Concat", [corner, size], (1, 48, 4), axis=2)
    scores = made.op("Sigmoid", [made.transpose(made.slice(rows, 2, range(2, 4)), (0, 2, 1))], (1, 2, 48))
    given = [boxes, scores, made.constant([5], "int64"), made.constant([0.5]), made.constant([0.01])]
    return as_float(made, made.op("NonMaxSuppression", given, (10, 3)))


def sampled(mode: str, padding: str, corners: int) -> Build:
    def build(made: File, x: str) -> str:
        grid = made.rng.uniform(-1.3, 1.3, (1, 5, 7, 2))
        options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        return made.op("GridSample", [x, made.constant(grid)], (1, 4, 5, 7), **options)

    return build


def summed_by_equation(made: File, x: str) -> str:
    scores = made.op("Einsum", [x, x], (1, 4, 4), equation="bchw,bdhw->bcd")
    return made.op("Einsum", [scores, made.random(4, 3)], (1, 4, 3), equation="bcd,de")


def summed_with_dots(equation: str, weights: Sequence[int], shape: Sequence[int]) -> Build:
    return lambda made, x: made.op("Einsum", [x, made.random(*weights)], shape, equation=equation)


def sequence(kind: str, gates: int, direction: str = "forward", last: bool = False, **attributes: Any) -> Build:
    def build(made: File, x: str) -> str:
        rows = made.reshape(made.transpose(x, (3, 0, 2, 1)), (6, 1, 32))
        count, hidden = 2 if direction == "bidirectional" else 1, 5
        weights = [made.random(count, gates * hidden, 32, spread=0.2), made.random(count, gates * hidden, hidden)]
        weights.append(made.random(count, 2 * gates * hidden))
        if last:
            weights += ["", made.random(count, 1, hidden)]
        shapes: Sequence[Sequence[int]] = [(6, count, 1, hidden), (count, 1, hidden)]
        options = {"hidden_size": hidden, "direction": direction, **attributes}
        return made.several(kind, [rows, *weights], shapes, **options)[int(last)]

    return build


def attention(mask: str = "", heads: tuple[int, int] = (2, 2), rank: int = 3, past: bool = False, **more: Any) -> Build:
    """Return a builder for attention with six queries and keys, in heads of eight values."""

    def build(made: File, x: str) -> str:
        made.opset = 23
        rows = made.reshape(made.transpose(x, (0, 3, 2, 1)), (1, 6, 32))

        def projected(count: int) -> str:
            flat = made.op("MatMul", [rows, made.random(32, 8 * count)], (1, 6, 8 * count))
            if rank == 3:
                return flat
            return made.transpose(made.reshape(flat, (1, 6, count, 8)), (0, 2, 1, 3))

        given = [projected(heads[0]), *(projected(heads[1]) for _ in range(2)), ""]
        if mask == "blind":  # the second query is fully masked
            given[3] = made.constant(np.arange(36).reshape(6, 6) % 3 > (np.arange(6)[:, None] == 1) * 5, "bool")
        elif mask == "bool":
            given[3] = made.op("Greater", [made.slice(rows, 2, range(6)), made.constant(-2.0)], (1, 6, 6))
        elif mask == "float":
            given[3] = made.slice(rows, 2, range(6))
        given += [made.random(1, heads[1], 2, 8) for _ in range(2)] if past else []
        counts = dict(zip(("q_num_heads", "kv_num_heads"), heads)) if rank == 3 else {}
        shape = (1, 6, 8 * heads[0]) if rank == 3 else (1, heads[0], 6, 8)
        cached = [(1, heads[1], 8 if past else 6, 8)] * 2 if past else []
        return made.several("Attention", given, [shape, *cached], **counts, **more)[0]

    return build


def triangle(shift: int | None = None, **attributes: Any) -> Build:
    return lambda made, x: made.op(
        "Trilu", [x, *([] if shift is None else [made.constant(shift, "int64")])], MAP, **attributes
    )


def in_any_order(made: File, x: str) -> str:
    """Add a Gather of more rows than are concatenated one by one, as a sliding window reads."""
    return made.op("Gather", [x, made.constant(np.arange(72) * 5 % 7, "int64")], (1, 4, 72, 6), axis=2)


CASES: dict[str, list[Build]] = {
    "Attention": [attention(), attention("bool", softcap=2.0, scale=0.5), attention("blind", (4, 2), 4, is_causal=1),
                  attention("float", (4, 1)), attention(rank=4, past=True, is_causal=1)],
    "Acos": [within_unit("Acos")],
    "Acosh": [within_unit("Acosh", 1.0)],
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
    "IsNaN": [lambda made, x: as_float(made, made.op("IsNaN", [x], MAP))],
    "LSTM": [sequence("LSTM", 4), sequence("LSTM", 4, "bidirectional", True), sequence("LSTM", 4, "reverse"),
             sequence("LSTM", 4, activations=["HardSigmoid", "Softsign", "Softsign"], activation_alpha=[0.16],
                      activation_beta=[0.45])],
    "Less": [compared("Less")],
    "LessOrEqual": [compared("LessOrEqual", [0.1, -0.1, 0.2, 0.0, 0.3, 0.5])],
    "Mod": [row_and_column, remainder],
    "NonMaxSuppression": [suppressed],
    "Not": [logical("Not")],
    "OneHot": [one_hot(-1), one_hot(1)],
    "Or": [logical("Or")],
    "RNN": [sequence("RNN", 1), sequence("RNN", 1, activations=["Relu"])],
    "ReduceProd": [lambda made, x: made.op("ReduceProd", [x], (1, 4, 1, 6), axes=[2])],
    "Round": [function("Round")],
    "ScatterElements": [written("ScatterElements")],
    "ScatterND": [written("ScatterND")],
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
    "Pow": [lambda made, x: made.op("Pow", [made.constant(1.5), x], MAP)],
}
"""Builders for operators with shaders."""
