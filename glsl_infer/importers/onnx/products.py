"""Converters of matrix products: dense layers of vectors, 1x1 convolutions of maps, and others on the CPU."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.core import emit
from glsl_infer.importers.core.convolutions import PLAIN
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.arithmetic import binary_operation
from glsl_infer.importers.onnx.call import Call, Converter, Operand
from glsl_infer.importers.onnx.nodes import Nodes
from glsl_infer.importers.onnx.slice_concat_pad import as_view
from glsl_infer.importers.onnx.view import Atom, View, fresh
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

Weights = NDArray[np.float64]


def by_matrix(call: Call, view: View, kernel: Weights, bias: Weights) -> View:
    """Return the product of the last axis of a tensor and a matrix (inputs, outputs), plus a bias.

    The product is a dense layer if all other axes have length 1, a convolution over entire rows or columns if a map
    allows it, else a product for each position.
    """
    nodes = call.nodes
    last = len(view.axes) - 1
    if view.shape[last] != len(kernel):
        raise call.refused(f"a matrix of {kernel.shape} on {view.shape}", "the file is damaged")
    shape = (*view.shape[:-1], kernel.shape[1])
    if math.prod(shape[:-1]) == 1:
        # Every element of the tensor is an input, so the rows of the matrix can follow the stored order.
        matrix = _with_row_order(kernel, view.axes[last], view.stored)
        source = nodes.shaped(view.node, (len(kernel),))
        node = nodes.emit("dense", source, part="sum", weights={"kernel": matrix, "bias": bias}, activation="linear")
        return fresh(node, shape)
    kept_dimension = _kept_dimension(nodes, view)
    if kept_dimension is not None:
        return _by_full_window(call, view, kept_dimension, kernel, bias)
    return _by_position(call, view, kernel, bias)


def _with_row_order(kernel: Weights, source: Sequence[Atom], target: Sequence[Atom]) -> Weights:
    """Return a matrix (inputs, outputs) with its rows in another order of the atoms of the inputs."""
    by_atoms = np.asarray(kernel).reshape([*(atom.size for atom in source), -1])
    order = [list(source).index(atom) for atom in target]
    return by_atoms.transpose([*order, len(order)]).reshape(len(kernel), -1)


def _by_position(call: Call, view: View, kernel: Weights, bias: Weights) -> View:
    """Return a product for each position: a 1x1 convolution of a map, else a product on the CPU."""
    nodes = call.nodes
    # The atoms of the last axis must be the fastest of the node, in any order: the rows of the matrix follow it.
    summed = list(view.axes[-1])
    if [atom for atom in view.stored if atom in summed] != list(view.stored[len(view.stored) - len(summed) :]):
        view = relayout.ordered(nodes, view, range(len(view.axes)))
    matrix = _with_row_order(kernel, summed, [atom for atom in view.stored if atom in summed])
    dims = nodes.shape(view.node)
    if dims[-1] != len(kernel):
        view = view.at(nodes.shaped(view.node, (view.size // len(kernel), len(kernel))))
        dims = nodes.shape(view.node)
    arrays = [np.ascontiguousarray(array, np.float32) for array in (matrix, bias)]
    node = nodes.add([emit.product(nodes.new_name("product"), view.node, dims, *arrays)])
    outputs = fresh(node, (kernel.shape[1],))
    outer = tuple(atom for atom in view.stored if atom not in summed)
    return View(node, (*outer, *outputs.stored), (*view.axes[:-1], outputs.axes[0]))


def _kept_dimension(nodes: Nodes, view: View) -> int | None:
    """Return the dimension of a map, 0 or 1, that has all axes but the last; None if both dimensions have others.

    The last axis is then in the other dimension and the channels.
    """
    dims = nodes.shape(view.node)
    split = view.merged().split_at(dims)
    if len(dims) != 3 or split is None or min(dims) == 1 or max(dims[:2]) > MAX_TEXTURE_SIZE:
        return None
    split_view, groups = split
    summed = set(split_view.axes[-1])
    inside = [bool(group) and set(group) <= summed for group in groups]
    outside = [not summed & set(group) for group in groups]
    dimension = 1 if inside[0] else 0
    return dimension if inside[2] and inside[1 - dimension] and outside[dimension] else None


def _by_full_window(call: Call, view: View, kept_dimension: int, kernel: Weights, bias: Weights) -> View:
    """Return a product as a convolution whose window is an entire row or column of the map.

    Args:
        call: the operator.
        view: the tensor.
        kept_dimension: result of ``_kept_dimension``; the window extends over the other one.
        kernel: matrix (inputs, outputs).
        bias: (outputs,).
    """
    nodes = call.nodes
    dims = nodes.shape(view.node)
    split = view.merged().split_at(dims)
    assert split is not None
    split_view, groups = split
    inputs = [*groups[1 - kept_dimension], *groups[2]]
    matrix = _with_row_order(kernel, split_view.axes[-1], inputs)
    window = (dims[0], 1) if kept_dimension else (1, dims[1])
    weights = matrix.reshape(*window, dims[2], kernel.shape[1])
    node = nodes.emit("conv2d", view.node, part="product", weights={"kernel": weights, "bias": bias}, **PLAIN)
    outputs = fresh(node, (kernel.shape[1],))
    return View(node, (*groups[kept_dimension], *outputs.stored), (*split_view.axes[:-1], outputs.axes[0]))


def _gemm(call: Call) -> list[View]:
    alpha, beta = float(call.attribute("alpha", 1.0)), float(call.attribute("beta", 1.0))
    view = call.view(0 if not call.is_constant(0) else 1)
    transpose_a, transpose_b = (bool(call.attribute(name, 0)) for name in ("transA", "transB"))
    if len(call.views) > 1 and not (call.is_constant(0) or call.is_constant(1)):
        result = product(
            call, _with_swapped_axes(call.view(0), transpose_a), _with_swapped_axes(call.view(1), transpose_b)
        )
        return [_plus(call, _scaled(call, result, alpha), beta)]
    if call.is_constant(0):
        left = call.finite(call.constant(0, "a matrix"), "a matrix")
        left = left.T if transpose_a else left
        result = _matrix_times(call, left * alpha, _with_swapped_axes(view, transpose_b))
        return [_plus(call, result, beta)]
    kernel = call.finite(call.constant(1, "a matrix"), "a matrix")
    kernel = (kernel.T if transpose_b else kernel) * alpha
    bias = np.zeros(kernel.shape[-1])
    if call.has(2) and call.is_constant(2) and call.constant(2, "a bias").size in (1, len(bias)):
        bias = bias + beta * call.finite(call.constant(2, "a bias"), "a bias").reshape(-1)
        return [by_matrix(call, _with_swapped_axes(view, transpose_a), kernel, bias)]
    return [_plus(call, by_matrix(call, _with_swapped_axes(view, transpose_a), kernel, bias), beta)]


def _with_swapped_axes(view: View, swap: bool) -> View:
    """Return a tensor, with its last two axes exchanged if ``swap``."""
    return view.transposed([*range(len(view.axes) - 2), len(view.axes) - 1, len(view.axes) - 2]) if swap else view


def _scaled(call: Call, view: View, factor: float) -> View:
    if factor == 1.0:
        return view
    return view.at(call.nodes.scaled(view.node, factor))


def _plus(call: Call, view: View, beta: float) -> View:
    """Return a product plus beta times the third input."""
    if not call.has(2):
        return view
    other = call.operands[2]
    other = _scaled(call, other, beta) if isinstance(other, View) else beta * np.asarray(other, np.float64)
    return binary_operation(call, "add", view, other)


def _matmul(call: Call) -> list[View]:
    if len(call.operands) != 2:
        raise call.refused(f"of {len(call.operands)} tensors", "the file is damaged")
    if call.is_constant(1):
        kernel = call.finite(call.constant(1, "a matrix"), "a matrix")
        view = call.view()
        if kernel.ndim == 1:
            column = by_matrix(call, view, kernel[:, None], np.zeros(1))
            return [View(column.node, column.stored, column.axes[:-1])]
        while kernel.ndim > 2 and kernel.shape[0] == 1:
            if kernel.ndim > len(view.axes):
                view = View(view.node, view.stored, ((), *view.axes))
            kernel = kernel[0]
        if kernel.ndim == 2:
            return [by_matrix(call, view, kernel, np.zeros(kernel.shape[1]))]
        return [product(call, view, as_view(call, kernel, view))]
    if call.is_constant(0):
        left = call.finite(call.constant(0, "a matrix"), "a matrix")
        if left.ndim == 2:
            return [_matrix_times(call, left, call.view(1))]
        return [product(call, as_view(call, left, call.view(1)), call.view(1))]
    return [product(call, call.view(0), call.view(1))]


def _matrix_times(call: Call, left: Weights, view: View) -> View:
    """Return a matrix times a tensor, as the transpose of the product of both transposes in reverse order."""
    return _with_swapped_axes(by_matrix(call, _with_swapped_axes(view, True), left.T, np.zeros(len(left))), True)


def product(call: Call, a: View, b: View, scale: float = 1.0) -> View:
    """Return the product of two tensors, on the CPU, times ``scale``."""
    if min(len(a.axes), len(b.axes)) < 2 or a.shape[-1] != b.shape[-2]:
        raise call.refused(f"of shapes {a.shape} and {b.shape}", "give two tensors of two axes or more")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = call.file_shape((*batch, a.shape[-2], b.shape[-1]))
    sources = []
    for view in (a, b):
        leading = view.shape[:-2]
        while leading and leading[0] == 1:
            leading = leading[1:]
        sources.append(relayout.in_file_order(call.nodes, view, (*leading, *view.shape[-2:])))
    return fresh(call.nodes.emit("matmul", *sources, part="product", scale=scale), shape)


def _with_letters(equation: str, ranks: Sequence[int]) -> str:
    """Return an equation with letters for the axes of an ellipsis: the same number in all tensors with one.

    In an equation without ``->``, these axes come first in the result.
    """
    terms, arrow, result = equation.partition("->")
    counts = [rank - len(term) + 3 for term, rank in zip(terms.split(","), ranks) if "..." in term]
    if not counts or counts[0] < 0 or len(set(counts)) > 1:
        return equation
    letters = "".join([letter for letter in string.ascii_letters if letter not in equation][: counts[0]])
    if not arrow:
        named = terms.replace("...", "").replace(",", "")
        result = "..." + "".join(sorted(letter for letter in set(named) if named.count(letter) == 1))
    return f"{terms}->{result}".replace("...", letters)


def _einsum(call: Call) -> list[View]:
    """Convert an Einsum of tensors in the file's order, with the batch."""
    equation = str(call.attribute("equation")).replace(" ", "")
    shapes = [value.shape for value in call.operands if value is not None]
    equation = _with_letters(equation, [len(shape) for shape in shapes])
    if "." in equation or not call.operands or len(shapes) < len(call.operands):
        raise call.refused(f"the equation '{equation:.60}'", "name every axis by a letter")
    if "->" not in equation:
        letters = equation.replace(",", "")
        equation += "->" + "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    terms, _, result = equation.partition("->")
    sizes: dict[str, int] = {}
    sources = []
    for term, value in zip(terms.split(","), call.operands):
        assert value is not None
        view = value if isinstance(value, View) else as_view(call, call.finite(value, "a tensor"), call.views[0])
        sizes.update(zip(term, view.shape))
        sources.append(relayout.in_file_order(call.nodes, view, view.shape or (1,)))
    shape = call.file_shape(tuple(sizes[letter] for letter in result))
    return [fresh(call.nodes.emit("einsum", *sources, part="sum", equation=equation), shape)]


CONVERTERS: dict[str, Converter] = {"Einsum": _einsum, "Gemm": _gemm, "MatMul": _matmul}


def _fused_matmul(call: Call) -> list[View]:
    """Convert a FusedMatMul: a product, with the last two axes of each tensor optionally transposed, times a factor."""
    if call.attribute("transBatchA", 0) or call.attribute("transBatchB", 0):
        raise call.refused("with batches turned", "use the file from before ONNX Runtime optimised it")
    operands: list[Operand] = []
    for index, name in enumerate(("transA", "transB")):
        value, swap = call.operands[index], bool(call.attribute(name, 0))
        if isinstance(value, View):
            value = _with_swapped_axes(value, swap and len(value.axes) > 1)
        elif value is not None and swap and value.ndim > 1:
            value = np.swapaxes(value, -1, -2)
        operands.append(value)
    (result,) = _matmul(Call(call.operator, operands, call.nodes))
    return [_scaled(call, result, float(call.attribute("alpha", 1.0)))]


ONNX_RUNTIME_OPERATORS: Mapping[str, Converter] = {"FusedMatMul": _fused_matmul, "TransposeMatMul": _fused_matmul}
