"""Tensors with several maps in a batch, and LSTMs, compared with LiteRT."""

from __future__ import annotations

from typing import Any

import pytest
from tflite_files import File, close, parsed

from glsl_infer.errors import ModelError
from glsl_infer.importers.tflite.reader import to_graph

WIDTH, HIDDEN, LENGTH = 5, 3, 4
POOL = {"Pool2D": {"padding": 1, "strideH": 1, "strideW": 1, "filterHeight": 2, "filterWidth": 2}}


def apart(made: File, x: int, sides: list[list[int]]) -> int:
    shape = made.shape(x)
    size = [(length + sum(side)) // 2 for length, side in zip(shape[1:3], sides)]
    read = [x, made.constant([2, 2], "i4"), made.constant(sides, "i4")]
    return made.op("SPACE_TO_BATCH_ND", read, (4, *size, shape[3]))


def together(made: File, x: int, cuts: list[list[int]]) -> int:
    shape = made.shape(x)
    size = [length * 2 - sum(cut) for length, cut in zip(shape[1:3], cuts)]
    read = [x, made.constant([2, 2], "i4"), made.constant(cuts, "i4")]
    return made.op("BATCH_TO_SPACE_ND", read, (1, *size, shape[3]))


@pytest.mark.parametrize("kind", ["MAX_POOL_2D", "AVERAGE_POOL_2D", "CONV_2D", "TANH"])
def test_operators_between_space_to_batch_and_batch_to_space(kind: str) -> None:
    made = File(1)
    x = apart(made, made.conv(made.input((1, 8, 6, 3)), 4), [[1, 1], [0, 2]])
    count, height, width, channels = made.shape(x)
    if kind == "CONV_2D":  # of stride 2, which excludes dilation
        options = {"strideH": 2, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 0}
        weights = [made.random(6, 3, 3, channels), made.random(6)]
        x = made.op(kind, [x, *weights], (count, -(-height // 2), width, 6), {"Conv2D": options})
    elif kind == "TANH":
        x = made.op(kind, [x], made.shape(x))
    else:
        x = made.op(kind, [x], (count, height - 1, width - 1, channels), POOL)
    graph = close(made.bytes([together(made, x, [[0, 1], [1, 0]])]))
    assert {node.op for node in graph.nodes} >= {"tensor_transpose", "conv2d"}
    drawn = {"MAX_POOL_2D": "max_pool", "AVERAGE_POOL_2D": "average_pool", "CONV_2D": "conv2d"}.get(kind, "")
    assert sum(node.op == drawn for node in graph.nodes) == {"": 0, "conv2d": 5}.get(drawn, 4)


def test_a_batch_that_makes_no_sense() -> None:
    made = File()
    x = made.op("SPACE_TO_BATCH_ND", [made.conv(made.input((1, 8, 6, 3)), 4), made.constant([3, 3], "i4"),
                                      made.constant([[0, 0], [0, 0]], "i4")], (9, 2, 2, 4))  # fmt: skip
    with pytest.raises(ModelError, match="8x6 pixels in blocks of 3x3"):
        to_graph(parsed(made.bytes([together(made, x, [[0, 0], [0, 0]])])))


def basic(made: File, kernel: int = 1) -> list[int]:
    given = [made.input((1, WIDTH), name="x"), made.input((1, HIDDEN), name="before"),
             made.random(4 * HIDDEN, WIDTH + HIDDEN), made.random(4 * HIDDEN),
             made.input((1, HIDDEN), name="state")]  # fmt: skip
    made_ = [made.tensor((1, size)) for size in (HIDDEN, HIDDEN, WIDTH + HIDDEN, 4 * HIDDEN)]
    made.several("LSTM", given, made_, {"LSTM": {"kernelType": kernel, "fusedActivationFunction": 4}}, version=2)
    return made_[:2]


def test_a_basic_lstm_has_shaders() -> None:
    made = File(3)
    graph = close(made.bytes(basic(made)))
    assert not {node.op for node in graph.nodes if node.operator.on_cpu}


def test_a_full_lstm_keeps_its_state() -> None:
    made = File(3)
    with pytest.raises(ModelError, match="LSTM: a full one, which keeps its state from frame to frame; make the state"):
        to_graph(parsed(made.bytes(basic(made, kernel=0))))


def sequence(made: File, **options: Any) -> int:
    major = bool(options.get("timeMajor"))
    x = made.op("RESHAPE", [made.input((1, LENGTH * WIDTH), name="x"),
                            made.constant([LENGTH, 1, WIDTH] if major else [1, LENGTH, WIDTH], "i4")],
                (LENGTH, 1, WIDTH) if major else (1, LENGTH, WIDTH))  # fmt: skip
    weights = [made.random(HIDDEN, WIDTH) for _ in range(4)] + [made.random(HIDDEN, HIDDEN) for _ in range(4)]
    biases = [made.random(HIDDEN) for _ in range(4)]
    states = [made.tensor((1, HIDDEN)), made.tensor((1, HIDDEN))]
    for state in states:
        made.graph.tensors[state].isVariable = True
    given = [x, *weights, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1]
    shape = (LENGTH, 1, HIDDEN) if major else (1, LENGTH, HIDDEN)
    own = {"UnidirectionalSequenceLSTM": {"fusedActivationFunction": 4, **options}}
    return made.op("UNIDIRECTIONAL_SEQUENCE_LSTM", given, shape, own)


@pytest.mark.parametrize("major", [False, True])
def test_a_sequence_begins_with_a_state_of_zeros(major: bool) -> None:
    made = File(4)
    graph = close(made.bytes([sequence(made, timeMajor=major)]))
    assert "lstm" in {node.op for node in graph.nodes}


def test_a_clipped_sequence_is_refused() -> None:
    made = File(4)
    with pytest.raises(ModelError, match=r"UNIDIRECTIONAL_SEQUENCE_LSTM: with another function than tanh, or clipped"):
        to_graph(parsed(made.bytes([sequence(made, cellClip=2.0)])))
