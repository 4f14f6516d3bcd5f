"""Fuse decomposed operators of an imported graph: ``x * sigmoid(x)``, a layer norm in pieces, ``1 / sqrt(x)``.

The patterns do not depend on the file format: each importer applies them to its graph. A function or a normalisation
can be written in many ways, so a subgraph is evaluated on test values, and its results identify it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Array, Graph, Node, Shape
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.convolutions import PLAIN
from glsl_infer.importers.core.elementwise import UNLIMITED
from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.core.moves import arrangement
from glsl_infer.importers.core.recognition import COARSE, EXACT, Doubles, Norm, activation_like, norm_like

_TOLERANCE = 1e-6
"""Largest difference between a constant and its nominal value: a file has 1/6 as a 32-bit float."""

_LONGEST = 28
"""Largest number of nodes of a subgraph."""

_MOST_SHOWN = 2**20
"""Largest number of elements of a test tensor for a normalisation."""

_MOST_MOVED = 2**22
"""Largest number of values of a map whose moves are traced."""

_BUDGET = 2**31
"""Largest number of elements that are computed in a search. Beyond the limit, subgraphs stay decomposed."""

_LEAST = 2**15
"""Number of elements that take as long to compute as the call of a node."""

_FUNCTIONS = ("activation", "tensor_function")
_ELEMENTWISE = frozenset(
    ("add", "binary", "constant_map", "identity", "rescaling", "select", "tensor_binary", "tensor_unary", *_FUNCTIONS)
)
_RESHAPES = ("reshape", "tensor_reshape")
_MOVES = frozenset((*_RESHAPES, "flatten", "tensor_transpose", "transpose"))
_MOVING = _MOVES | {
    "channel_gather",
    "concat",
    "depth_to_space",
    "identity",
    "spatial_slice",
    "tensor_concat",
    "tensor_slice",
}
_OF_ROWS = frozenset(("conv2d", "identity", "linear", *_RESHAPES, *_FUNCTIONS))
_STATISTICS = frozenset(("average_pool", "conv2d", "global_average_pool", "tensor_reduce"))
_OF_NORMS = _ELEMENTWISE | _MOVES | _STATISTICS | {"global_deviation", "group_statistics", "map_norm"}

_INVERSE = ("divide", "power", "reciprocal", "rsqrt")
"""Functions, of which a normalisation has at least one."""

Piece = tuple[str, list[Node]]
"""(the input of a subgraph, its nodes in order)."""

Replacement = Optional[list[Node]]
"""The nodes of which the last has the name of the replaced node; None if nothing is replaced."""


def fused(graph: Graph) -> Graph:
    """Return a graph in which each decomposed function and normalisation is one operator."""
    for rewrite in (_moves, _product_of_rows, _functions, _inverse_root, _norms, _unit_length):
        graph = _rewritten(graph, rewrite)
    return graph


def _rewritten(graph: Graph, rewrite: Callable[[_Subgraphs, Node], Replacement]) -> Graph:
    """Replace nodes by the result of ``rewrite``, the last node first. Pieces without a reader are dropped."""
    subgraphs, read = _Subgraphs(graph), set(graph.output_layers)
    nodes: list[Node] = []
    changed = False
    for node in reversed(graph.nodes):
        if node.name not in read and not node.operator.is_input and graph.consumers[node.name]:
            continue
        replacement = rewrite(subgraphs, node)
        changed |= replacement is not None
        *before, last = replacement or [node]
        if OBSERVED_RANGE in node.attrs:
            last = last.with_attrs(**{OBSERVED_RANGE: node.attrs[OBSERVED_RANGE]})
        for other in (last, *reversed(before)):
            nodes.append(other)
            read.update(other.inputs)
    return Graph(graph.name, reversed(nodes), graph.outputs) if changed else graph


@dataclass
class _Subgraphs:
    """The subgraphs of a graph with one input, apart from constants, and one output.

    Attributes:
        graph: the graph.
        positions: index of each node, by name.
        budget: the number of elements that may still be computed.
    """

    graph: Graph
    positions: dict[str, int] = field(init=False)
    budget: int = _BUDGET

    def __post_init__(self) -> None:
        self.positions = {node.name: index for index, node in enumerate(self.graph.nodes)}

    def pieces(self, last: Node, kinds: Collection[str], most: float = math.inf) -> list[Piece]:
        """Return all subgraphs that end in ``last``, longest first.

        Args:
            last: the last node.
            kinds: operators of the nodes. A subgraph is two of them, apart from ``identity``, or one like ``x * x``.
            most: largest number of elements of a result.
        """
        pieces: list[Piece] = []
        chosen: list[Node] = []
        open_nodes = {last.name}
        while open_nodes and len(chosen) < _LONGEST:
            top = max(open_nodes, key=self.positions.__getitem__)
            node = self.graph.by_name[top]
            other = (node.op == "conv2d" and kinds is _OF_NORMS and not _is_mean(node)) or "table" in node.weights
            if node.op not in kinds or other or math.prod(self.graph.shapes[top]) > most:
                break
            chosen.append(node)
            open_nodes.discard(top)
            open_nodes.update(node.inputs)
            several = len(node.inputs) > 1 or sum(node.op != "identity" for node in chosen) > 1
            if several and len(open_nodes) == 1:
                pieces.append((next(iter(open_nodes)), chosen[::-1]))
        return pieces[::-1]

    def computed(self, piece: Piece, x: Array) -> Array:
        """Return the result of a subgraph.

        Raises:
            MISFITS: the nodes do not match the shape of ``x``, or the budget is used up.
        """
        root, nodes = piece
        values = {root: x}
        readers = {name: index for index, node in enumerate(nodes) for name in node.inputs}
        for index, node in enumerate(nodes):
            inputs = [values[name] for name in node.inputs]
            text = node.attrs.get("function", "") if node.op in _FUNCTIONS else ""
            compute = UNLIMITED.get(text)
            values[node.name] = node.operator.reference(node, inputs) if compute is None else compute(inputs[0])
            self.budget -= max(values[node.name].size, _LEAST)
            if self.budget < 0:
                raise ValueError("too many values")
            for name in {name for name in node.inputs if readers[name] == index}:
                del values[name]
        return values[nodes[-1].name]


def _constants(nodes: Sequence[Node]) -> Iterator[NDArray[np.float64]]:
    """Yield the constants of nodes, with the parameters of their functions."""
    for node in nodes:
        if node.op == "rescaling":
            yield from (np.asarray(node.attrs[key], np.float64) for key in ("scales", "offsets"))
        if node.op in _FUNCTIONS:
            yield from (np.float64(number).reshape(1) for number in re.findall(r"[-+.\de]*\d", node.attrs["function"]))
        yield from (np.asarray(value, np.float64) for value in node.weights.values())
        epsilon = node.attrs.get("epsilon")
        if epsilon:
            yield np.asarray([epsilon], np.float64)


def _tolerance(constants: Sequence[float]) -> float:
    """Return the tolerance of a subgraph: constants of 16 bits are rounded."""
    with np.errstate(over="ignore"):
        short = all(float(np.float16(number)) == number for number in constants)
    return COARSE if short and any(number * 8.0 % 1.0 for number in constants) else EXACT


def _moves(subgraphs: _Subgraphs, last: Node) -> Replacement:
    """Return moves of the values of a map, some by operators of tensors, as those of ``moves.arrangement``."""
    shapes = subgraphs.graph.shapes
    if last.op not in _MOVING or len(shapes[last.name]) != 3:
        return None
    for piece in subgraphs.pieces(last, _MOVING, _MOST_MOVED):
        root, nodes = piece
        shape = shapes[root]
        if len(shape) != 3 or math.prod(shape) > _MOST_MOVED:
            continue
        if not any(node.op.startswith("tensor_") for node in nodes):  # the GPU has all these moves
            continue
        try:
            sources = subgraphs.computed(piece, np.arange(1.0, math.prod(shape) + 1.0).reshape(shape))
        except MISFITS:
            continue
        move = arrangement(sources.astype(np.int64) - 1, shape) if sources.all() else None  # 0: none of the values
        if move is not None:
            return _renamed(move.nodes(f"{last.name}~moved", root, shape), last.name)
    return None


def _product_of_rows(subgraphs: _Subgraphs, last: Node) -> Replacement:
    """Return the product of each row of a tensor, between two changes of shape, as the product of its last axis."""
    shapes = subgraphs.graph.shapes
    target = shapes[last.name]
    for root, nodes in subgraphs.pieces(last, _OF_ROWS) if last.op in _RESHAPES and len(target) == 3 else ():
        plain, text = _without_function(nodes)
        others = [node for node in plain if node.op not in (*_RESHAPES, "identity")]
        matrix = _matrix(others[0]) if len(others) == 1 else None
        if matrix is None or shapes[root] != (*target[:-1], matrix.shape[0]) or target[-1] != matrix.shape[1]:
            continue
        chain = emit.Chain(f"{last.name}~row", root, target)
        chain.extend([emit.product(chain.name, root, shapes[root], matrix, others[0].weights.get("bias"))])
        if text:
            chain.function(text)
        return _renamed(chain.nodes, last.name)
    return None


def _matrix(node: Node) -> Array | None:
    """Return the matrix (inputs, outputs) by which a node multiplies the last axis of its input, or None."""
    kernel = node.weights.get("kernel")
    if node.op == "conv2d" and kernel is not None and kernel.shape[:2] == (1, 1):
        plain = all(node.attrs.get(key, value) == value for key, value in PLAIN.items())
        return kernel[0, 0] if plain else None
    return kernel if node.op == "linear" else None


def _functions(subgraphs: _Subgraphs, last: Node) -> Replacement:
    """Return a decomposed function as one activation."""
    if last.op not in _ELEMENTWISE or last.op == "identity":
        return None
    shapes = subgraphs.graph.shapes
    for root, nodes in subgraphs.pieces(last, _ELEMENTWISE):
        if shapes[root] != shapes[last.name]:
            continue
        piece = root, [_with_single_values(node) for node in nodes]
        constants = list(_constants(piece[1]))
        if any(value.size != 1 for value in constants):
            continue
        numbers = [float(value.reshape(-1)[0]) for value in constants]

        def function(x: Doubles, piece: Piece = piece) -> Doubles:
            values: Doubles = np.asarray(subgraphs.computed(piece, x[None, None]), np.float64)
            return np.array(np.broadcast_to(values, (1, 1, *x.shape)).reshape(x.shape))

        try:
            text = activation_like(function, numbers, _tolerance(numbers))
        except MISFITS:
            continue
        if text is not None:
            op = "activation" if emit.in_textures(shapes[root]) else "tensor_function"
            return [Node(last.name, op, (root,), {"function": text})]
    return None


def _with_single_values(node: Node) -> Node:
    """Return a node whose constants of equal values are one value: converters fold ``zeros_like(x)`` to an array."""
    single = {
        name: array.reshape(-1)[:1].reshape((1,) * array.ndim)
        for name, array in node.weights.items()
        if array.size > 1 and (array == array.reshape(-1)[0]).all()
    }
    return replace(node, weights={**node.weights, **single}) if single else node


def _inverse_root(subgraphs: _Subgraphs, node: Node) -> Replacement:
    """Return ``1 / sqrt(x)`` as an inverse root."""
    if node.op not in _FUNCTIONS or node.attrs["function"] != "reciprocal":
        return None
    root = subgraphs.graph.by_name[node.inputs[0]]
    is_root = root.op == node.op and root.attrs["function"] == "sqrt"
    return [Node(node.name, node.op, root.inputs, {"function": "rsqrt"})] if is_root else None


def _norms(subgraphs: _Subgraphs, last: Node) -> Replacement:
    """Return a decomposed normalisation as one operator, or as those of a normalisation over a map."""
    shapes = subgraphs.graph.shapes
    target = shapes[last.name]
    if last.op not in _OF_NORMS or last.op in _STATISTICS or last.op == "identity":
        return None
    pieces = subgraphs.pieces(last, _OF_NORMS, _MOST_SHOWN)
    for piece in sorted(pieces, key=lambda piece: shapes[piece[0]] != target):  # without a change of shape if possible
        root, nodes = piece
        shape = shapes[root]
        if shape[-1:] != target[-1:] or math.prod(shape) != math.prod(target) or not _may_normalise(nodes):
            continue
        inner = shape if emit.in_textures(shape) else (1, math.prod(shape[:-1]), shape[-1])
        constants = [float(value.reshape(-1)[0]) for value in _constants(nodes) if value.size == 1]

        plain, text = _without_function(nodes)

        def function(x: Doubles, piece: Piece = (root, plain), shape: Shape = shape) -> Doubles:
            return np.asarray(subgraphs.computed(piece, x.reshape(shape)), np.float64).reshape(x.shape)

        try:
            norm = norm_like(function, inner, constants, _tolerance(constants), maps=inner == shape)
        except MISFITS:
            continue
        if norm is not None:
            made_of = _norm_nodes(f"{last.name}~norm", root, shape, inner, target, norm, text)
            return _renamed(made_of, last.name)
    return None


def _without_function(nodes: Sequence[Node]) -> tuple[list[Node], str]:
    """Return a subgraph without the function before its last moves, and the text of the function; "" if there is none.

    Converters fuse an activation that follows a change of shape into the sum before the change.
    """
    index = len(nodes) - 1
    while index and nodes[index].op in _MOVES:
        index -= 1
    node = nodes[index]
    if index == len(nodes) - 1 or node.op not in _FUNCTIONS:
        return list(nodes), ""
    return [*nodes[:index], Node(node.name, "identity", node.inputs), *nodes[index + 1 :]], node.attrs["function"]


def _is_mean(node: Node) -> bool:
    """Return whether a convolution is the mean of the channels of a pixel."""
    kernel = node.weights["kernel"]
    return kernel.shape == (1, 1, kernel.size, 1) and bool(np.ptp(kernel) == 0.0)


def _may_normalise(nodes: Sequence[Node]) -> bool:
    """Return whether a subgraph has a statistic and an inverse, or a normalisation between changes of shape."""
    names = {node.op for node in nodes}
    texts = {str(node.attrs.get(key, "")).partition("(")[0] for node in nodes for key in ("function", "operation")}
    in_pieces = not names.isdisjoint(_STATISTICS) and not texts.isdisjoint(_INVERSE)
    return "map_norm" not in names if in_pieces else "map_norm" in names and not names.isdisjoint(_MOVES)


def _norm_nodes(
    name: str, source: str, shape: Shape, inner: Shape, target: Shape, norm: Norm, function: str
) -> list[Node]:
    """Return the nodes of a normalisation of a tensor of ``shape`` in the shape ``inner``, then of a function."""
    chain = emit.Chain(name, source, shape)
    chain.reshaped(inner)
    own, read = chain.free("norm"), chain.last
    if norm.groups is None:
        chain.extend([emit.over_channels(own, read, inner, norm.kind, norm.epsilon, norm.gamma, norm.beta)])
    else:
        chain.extend(emit.over_map(own, read, inner, norm.groups, norm.epsilon, norm.gamma, norm.beta))
    if function:
        chain.function(function)
    chain.reshaped(target)
    return chain.nodes


def _renamed(nodes: Sequence[Node], name: str) -> list[Node]:
    """Return nodes with another name of the last."""
    *before, last = nodes
    return [*before, replace(last, name=name)]


def _unit_length(subgraphs: _Subgraphs, node: Node) -> Replacement:
    """Return a root mean square norm times a constant as a division by the vector's length, if the constants match."""
    if node.op not in ("channel_norm", "vector_norm") or node.attrs["kind"] != "rms" or node.attrs["epsilon"]:
        return None
    factors = np.asarray(node.attrs["gamma"]) * np.sqrt(subgraphs.graph.shapes[node.name][-1])
    same = np.abs(factors - 1.0).max() <= _TOLERANCE and not any(node.attrs["beta"])
    return [node.with_attrs(kind="unit", gamma=(1.0,), beta=(0.0,))] if same else None
