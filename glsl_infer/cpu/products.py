"""CPU operators for products of tensors: matrix products, einsum, attention."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from glsl_infer.cpu.kernel import Attrs, Kernel, Weights, require_rank
from glsl_infer.graph.host_steps import softmax
from glsl_infer.graph.node import Array, Shape

_EQUATION = re.compile(r"[a-zA-Z]*(,[a-zA-Z]*)*->[a-zA-Z]*")

MOST_PRODUCTS = 1 << 36
"""Largest number of multiplications of one operator. More is a mistake, or an attempt of a file to block a runner."""


def _swapped(x: Array, swap: bool) -> Array:
    return x.swapaxes(-1, -2) if swap else x


def _matmul_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    if min(map(len, shapes)) < 2:
        raise ValueError(f"a matrix product of shapes {shapes[0]} and {shapes[1]}; give two axes or more to both")
    (*a_batch, n, k), (*b_batch, inner, m) = shapes
    n, k = (k, n) if attrs["transpose_a"] else (n, k)
    inner, m = (m, inner) if attrs["transpose_b"] else (inner, m)
    if k != inner:
        raise ValueError(f"a matrix product of shapes {shapes[0]} and {shapes[1]}: {k} columns for {inner} rows")
    shape = (*np.broadcast_shapes(tuple(a_batch), tuple(b_batch)), n, m)
    _require_few(math.prod(shape) * k)
    return shape


def _matmul(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    a, b = _swapped(inputs[0], attrs["transpose_a"]), _swapped(inputs[1], attrs["transpose_b"])
    product: Array = np.matmul(a, b)
    return product if attrs["scale"] == 1.0 else product * a.dtype.type(attrs["scale"])


def _linear_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    rows, columns = require_rank(weights.get("kernel", ()), 2, "a kernel")
    if not shapes[0] or shapes[0][-1] != rows or weights.get("bias", (columns,)) != (columns,):
        raise ValueError(f"a kernel of {(rows, columns)} on a tensor of shape {shapes[0]}")
    shape = (*shapes[0][:-1], columns)
    _require_few(math.prod(shape) * rows)
    return shape


def _linear(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    product: Array = inputs[0] @ weights["kernel"].astype(inputs[0].dtype)
    return product + weights["bias"].astype(product.dtype) if "bias" in weights else product


def _terms(attrs: Attrs, shapes: Sequence[Shape]) -> tuple[dict[str, int], str]:
    """Return the length of every letter of the equation, and the letters of the result."""
    equation = str(attrs["equation"])
    terms, _, result = equation.partition("->")
    if not _EQUATION.fullmatch(equation) or terms.count(",") + 1 != len(shapes):
        raise ValueError(f"the equation '{equation:.60}' of {len(shapes)} tensors; give one like 'nk,km->nm'")
    lengths: dict[str, int] = {}
    for term, shape in zip(terms.split(","), shapes):
        if len(term) != len(shape) or any(lengths.setdefault(a, n) != n for a, n in zip(term, shape)):
            raise ValueError(f"the equation '{equation:.60}' does not fit tensors of shapes {list(shapes)}")
    if len(set(result)) != len(result) or not set(result) <= set(lengths):
        raise ValueError(f"the equation '{equation:.60}': its result repeats a letter, or has one of its own")
    return lengths, result


def _einsum_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    lengths, result = _terms(attrs, shapes)
    _require_few(math.prod(lengths.values()))
    return tuple(lengths[letter] for letter in result)


def _einsum(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    product: Array = np.einsum(str(attrs["equation"]), *inputs, optimize=len(inputs) > 1)
    return product


def _attention_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    (n, d), (m, key_width), (rows, e) = (require_rank(shape, 2, "an operand of attention") for shape in shapes)
    heads = attrs["heads"]
    if d != key_width or m != rows or heads < 1 or d % heads or e % heads:
        raise ValueError(f"attention of {heads} heads on shapes {', '.join(map(str, shapes))}")
    _require_few(n * m * (d + e))
    return n, e


def _attention(attrs: Attrs, weights: Weights, inputs: Sequence[Array]) -> Array:
    heads = attrs["heads"]
    query, key, value = (x.reshape(len(x), heads, -1).swapaxes(0, 1) for x in inputs)
    scores: Array = np.matmul(query, key.swapaxes(1, 2)) * query.dtype.type(attrs["scale"])
    if attrs["causal"]:
        n, m = scores.shape[1:]
        scores = np.where(np.arange(m) <= np.arange(n)[:, None], scores, scores.dtype.type(-1e30))
    mixed: Array = np.matmul(softmax(scores), value).swapaxes(0, 1)
    return mixed.reshape(len(mixed), -1)


def _require_few(products: int) -> None:
    if products > MOST_PRODUCTS:
        raise ValueError(f"{products} multiplications; at most {MOST_PRODUCTS} are possible")


KERNELS: Mapping[str, Kernel] = {
    "matmul": Kernel(
        "The matrix product of two tensors over their last two axes, times a scale; other axes are broadcast.",
        (2, 2),
        _matmul_shape,
        _matmul,
        {"transpose_a": False, "transpose_b": False, "scale": 1.0},
    ),
    "linear": Kernel(
        "The last axis times a matrix, plus a bias: a dense layer on a tensor of any rank.",
        (1, 1),
        _linear_shape,
        _linear,
        {},
        ("kernel", "bias"),
    ),
    "einsum": Kernel("Einstein summation.", (1, 8), _einsum_shape, _einsum, {"equation": None}),
    "attention": Kernel(
        "Attention: softmax(scale * query * transposed key) * value for each head. Query (n, heads * d), "
        "key (m, heads * d), value (m, heads * e).",
        (3, 3),
        _attention_shape,
        _attention,
        {"heads": 1, "scale": 1.0, "causal": False},
    ),
}
"""The kernels by operator name."""
