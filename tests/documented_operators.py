"""The operator lists that MACE and TensorFlow Lite's GPU delegate document, and a small graph for each row.

The lists are mace.csv and tflite_gpu.csv in scripts/docs/operator_table. A row has their name, our operator, the place
where it runs (``shader``, ``CPU``, or ``folded`` into its neighbours), and the graph of this module that runs it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
from graphs import conv_node, dense_node, input_node
from numpy.typing import NDArray
from pages import ROOT

from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.host_steps import ARGMAX, HostStep

SIZE, CHANNELS = 8, 4
LISTS = ("mace", "tflite_gpu")


@dataclass(frozen=True)
class Documented:
    """A row of a list, with the columns of its CSV file."""

    list: str
    name: str
    operator: str
    runs: str
    graph: str


def rows() -> list[Documented]:
    """Return all rows of both lists."""
    results = []
    for name in LISTS:
        with (ROOT / f"scripts/docs/operator_table/{name}.csv").open(newline="", encoding="utf-8") as file:
            results += [Documented(name, **row) for row in csv.DictReader(file)]
    return results


SINGLE = {
    "average pool": ("average_pool", {"pool": (3, 3), "strides": (2, 2), "padding": (0, 1, 0, 1)}),
    "max pool": ("max_pool", {"pool": (3, 3), "strides": (2, 2), "padding": (0, 1, 0, 1)}),
    "crop": ("spatial_slice", {"begin": (1, 2), "size": (5, 4)}),
    "strided slice": ("spatial_slice", {"begin": (7, 0), "size": (4, 3), "strides": (-2, 3)}),
    "depth to space": ("depth_to_space", {"block": 2}),
    "identity": ("identity", {}),
    "mean": ("global_average_pool", {}),
    "negative": ("rescaling", {"scales": (-1.0,), "offsets": (0.0,)}),
    "padding": ("zero_padding", {"padding": (1, 2, 0, 3)}),
    "resize": ("resize", {"size": (5, 11)}),
    "response norm": ("local_response_norm", {}),
    "shuffle": ("channel_shuffle", {"step": 2}),
    "softmax": ("softmax", {}),
    "split": ("channel_gather", {"channels": (2, 3)}),
    "transposition": ("transpose", {}),
}
"""A single operator on the output of a convolution, by the graph's name."""


def graph_of(name: str) -> Graph:
    """Return an input, a convolution with a sigmoid, and the operator called ``subject``; all weights are seeded."""
    rng = np.random.default_rng(3)
    channels = 16 if name == "shuffle" else CHANNELS
    first = [input_node(SIZE), _conv(rng, "stem", "image", 3, channels)]
    kind, _, detail = name.partition(" ")
    if name in SINGLE:
        operator, attrs = SINGLE[name]
        return _ended(first, Node("subject", operator, ("stem",), attrs))
    if kind == "function":
        positive = detail in ("rsqrt", "power(1.5)")
        free = _conv(rng, "free", "stem", CHANNELS, CHANNELS, activation="clip(0.5,2)" if positive else "linear")
        return _ended([*first, free], Node("subject", "activation", ("free",), {"function": detail}))
    if kind == "binary":
        other = _conv(rng, "other", "stem", CHANNELS, CHANNELS)
        return _ended([*first, other], Node("subject", "binary", ("stem", "other"), {"operation": detail}))
    return _MORE[name](rng, first)


def _conv(rng: np.random.Generator, name: str, source: str, channels: int, filters: int, **attrs: object) -> Node:
    values = {"activation": "sigmoid", **attrs}
    return conv_node(rng, name, (source,), channels, filters, **values)  # type: ignore[arg-type]


def _ended(nodes: list[Node], *subject: Node, layers: tuple[str, ...] = ("subject",)) -> Graph:
    return Graph("documented", (*nodes, *subject), [GraphOutput("subject", layers, (), "values")])


def _add(rng: np.random.Generator, first: list[Node]) -> Graph:
    other = _conv(rng, "other", "stem", CHANNELS, CHANNELS)
    return _ended([*first, other], Node("subject", "add", ("stem", "other"), {"activation": "linear"}))


def _concatenation(rng: np.random.Generator, first: list[Node]) -> Graph:
    other = _conv(rng, "other", "stem", CHANNELS, 8)
    return _ended([*first, other], Node("subject", "concat", ("stem", "other")))


def _convolution(rng: np.random.Generator, first: list[Node]) -> Graph:
    return _ended(first, _conv(rng, "subject", "stem", CHANNELS, 5, kernel=(3, 3), padding=(1, 1, 1, 1)))


def _depthwise(rng: np.random.Generator, first: list[Node]) -> Graph:
    return _ended(first, _conv(rng, "subject", "stem", CHANNELS, CHANNELS, kernel=(3, 3), groups=CHANNELS))


def _transposed(rng: np.random.Generator, first: list[Node]) -> Graph:
    phases = _conv(rng, "phases", "stem", CHANNELS, 4 * CHANNELS, kernel=(2, 2), padding=(1, 1, 1, 1))
    return _ended([*first, phases], Node("subject", "depth_to_space", ("phases",), {"block": 2}))


def _batch_norm(rng: np.random.Generator, first: list[Node]) -> Graph:
    weights = {key: rng.uniform(0.5, 1.5, CHANNELS).astype(np.float32) for key in ("gamma", "variance")}
    weights |= {key: rng.normal(0.0, 0.5, CHANNELS).astype(np.float32) for key in ("beta", "mean")}
    free = conv_node(rng, "free", ("stem",), CHANNELS, CHANNELS, activation="linear")
    return _ended([*first, free], Node("subject", "batch_norm", ("free",), {}, weights))


def _dense(rng: np.random.Generator, first: list[Node]) -> Graph:
    mean = Node("mean", "global_average_pool", ("stem",))
    return _ended([*first, mean], dense_node(rng, "subject", "mean", CHANNELS, 6))


def _reshape(rng: np.random.Generator, first: list[Node]) -> Graph:
    mean = Node("mean", "global_average_pool", ("stem",))
    gate = Node("gate", "reshape", ("mean",), {"shape": (1, 1, CHANNELS)})
    return _ended([*first, mean, gate], Node("subject", "binary", ("stem", "gate"), {"operation": "multiply"}))


def _space_to_depth(rng: np.random.Generator, first: list[Node]) -> Graph:
    attrs = {"size": (SIZE // 2, SIZE // 2), "strides": (2, 2)}
    phases = [
        Node(f"phase{y}{x}", "spatial_slice", ("stem",), {"begin": (y, x), **attrs}) for y in (0, 1) for x in (0, 1)
    ]
    return _ended([*first, *phases], Node("subject", "concat", tuple(node.name for node in phases)))


def _argmax(rng: np.random.Generator, first: list[Node]) -> Graph:
    return Graph("documented", first, [GraphOutput("subject", ("stem",), (HostStep(ARGMAX),))])


def _rows(name: str, source: str) -> Node:
    return Node(name, "tensor_reshape", (source,), {"shape": (SIZE * SIZE, CHANNELS)})


def _matrix_product(rng: np.random.Generator, first: list[Node]) -> Graph:
    attrs = {"transpose_a": True, "scale": 1.0 / SIZE}
    return _ended([*first, _rows("rows", "stem")], Node("subject", "matmul", ("rows", "rows"), attrs))


def _gather(rng: np.random.Generator, first: list[Node]) -> Graph:
    pixels = Node("pixels", "tensor_reshape", ("image",), {"shape": (SIZE * SIZE, 3)})  # bytes have exact ties
    best = Node("best", "tensor_argmax", ("pixels",), {"axis": 0})
    return _ended([*first, _rows("rows", "stem"), pixels, best], Node("subject", "gather", ("rows", "best")))


def _stack(rng: np.random.Generator, first: list[Node]) -> Graph:
    other = _conv(rng, "other", "stem", CHANNELS, CHANNELS)
    tall = [
        Node(f"{name}-one", "tensor_reshape", (name,), {"shape": (1, SIZE, SIZE, CHANNELS)})
        for name in ("stem", "other")
    ]
    joined = Node("subject", "tensor_concat", tuple(node.name for node in tall), {"axis": 0})
    return _ended([*first, other, *tall], joined)


def _boxes(rng: np.random.Generator, first: list[Node]) -> list[Node]:
    scores = _conv(rng, "scores", "stem", CHANNELS, 1)
    deltas = conv_node(rng, "deltas", ("stem",), CHANNELS, 4, activation="sigmoid")
    attrs = {"anchors": (-6.0, -6.0, 6.0, 6.0), "stride": 8.0, "picture": (64, 64), "most": 3}
    return [*first, scores, deltas, Node("boxes", "proposals", ("scores", "deltas"), attrs)]


def _proposals(rng: np.random.Generator, first: list[Node]) -> Graph:
    return _ended(_boxes(rng, first), layers=("boxes",))


def _psroi_align(rng: np.random.Generator, first: list[Node]) -> Graph:
    attrs = {"bins": (2, 2), "scale": 1.0 / 8.0}
    return _ended(_boxes(rng, first), Node("subject", "psroi_align", ("stem", "boxes"), attrs))


def _space_to_batch(rng: np.random.Generator, first: list[Node]) -> Graph:
    """Return a graph with 2x2 phases of pixels as separate maps, in a tensor of four axes."""
    half = SIZE // 2
    moves = (
        ("blocks", "tensor_reshape", {"shape": (half, 2, half, 2, CHANNELS)}),
        ("order", "tensor_transpose", {"axes": (1, 3, 0, 2, 4)}),
        ("subject", "tensor_reshape", {"shape": (4, half, half, CHANNELS)}),
    )
    return _ended(first, *_chain("stem", moves))


def _batch_to_space(rng: np.random.Generator, first: list[Node]) -> Graph:
    """Return a graph with four maps, each after its own convolution, combined into one."""
    half = SIZE // 2
    phases = [
        Node(f"phase{y}{x}", "spatial_slice", ("stem",), {"begin": (y, x), "size": (half, half), "strides": (2, 2)})
        for y in (0, 1)
        for x in (0, 1)
    ]
    drawn = [_conv(rng, f"{phase.name}-drawn", phase.name, CHANNELS, CHANNELS) for phase in phases]
    tall = [Node(f"{n.name}-one", "tensor_reshape", (n.name,), {"shape": (1, half, half, CHANNELS)}) for n in drawn]
    batch = Node("batch", "tensor_concat", tuple(node.name for node in tall), {"axis": 0})
    moves = (
        ("blocks", "tensor_reshape", {"shape": (2, 2, half, half, CHANNELS)}),
        ("order", "tensor_transpose", {"axes": (2, 0, 3, 1, 4)}),
        ("subject", "tensor_reshape", {"shape": (SIZE, SIZE, CHANNELS)}),
    )
    return _ended([*first, *phases, *drawn, *tall, batch], *_chain("batch", moves))


def _chain(source: str, moves: tuple[tuple[str, str, dict[str, object]], ...]) -> list[Node]:
    reads = [source, *(name for name, _, _ in moves)]
    return [Node(name, op, (read,), attrs) for read, (name, op, attrs) in zip(reads, moves)]


def _equal(rng: np.random.Generator, first: list[Node]) -> Graph:
    """Return a comparison of the input with its mirror image.

    A shader only moves the bytes, so equal ones stay equal.
    """
    mirrored = Node("mirrored", "spatial_slice", ("image",), {"begin": (7, 0), "size": (8, 8), "strides": (-1, 1)})
    nodes = [*first, mirrored]
    return _ended(nodes, Node("subject", "tensor_binary", ("image", "mirrored"), {"operation": "equal"}))


def _lstm(rng: np.random.Generator, first: list[Node]) -> Graph:
    """Return one step of TensorFlow Lite's basic LSTM: gates of the input and of the previous output."""
    width, hidden = CHANNELS, 6
    nodes = [*first, Node("mean", "global_average_pool", ("stem",))]
    before = [dense_node(rng, name, "mean", width, hidden) for name in ("before", "state")]
    joined = Node("both", "concat", ("mean", "before"))
    gates = [dense_node(rng, f"gate{n}", "both", width + hidden, hidden) for n in range(4)]
    kinds = ("sigmoid", "tanh", "sigmoid", "sigmoid")
    open_ = [Node(f"open{n}", "activation", (f"gate{n}",), {"function": kind}) for n, kind in enumerate(kinds)]
    more = (
        Node("new", "binary", ("open0", "open1"), {"operation": "multiply"}),
        Node("kept", "binary", ("open2", "state"), {"operation": "multiply"}),
        Node("next", "add", ("new", "kept"), {"activation": "linear"}),
        Node("bent", "activation", ("next",), {"function": "tanh"}),
    )
    subject = Node("subject", "binary", ("open3", "bent"), {"operation": "multiply"})
    return _ended([*nodes, *before, joined, *gates, *open_, *more], subject)


_MORE = {
    "add": _add,
    "batch to space": _batch_to_space,
    "equal": _equal,
    "lstm": _lstm,
    "space to batch": _space_to_batch,
    "argmax": _argmax,
    "batch norm": _batch_norm,
    "concatenation": _concatenation,
    "convolution": _convolution,
    "dense": _dense,
    "depthwise": _depthwise,
    "gather": _gather,
    "matrix product": _matrix_product,
    "proposals": _proposals,
    "psroi align": _psroi_align,
    "reshape": _reshape,
    "space to depth": _space_to_depth,
    "stack": _stack,
    "transposed convolution": _transposed,
}


def picture(seed: int) -> NDArray[np.uint8]:
    """Return a random picture for these graphs."""
    return np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)
