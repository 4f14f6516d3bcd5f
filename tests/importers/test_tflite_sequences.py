"""Tensors with several maps in a batch, and LSTMs, compared with LiteRT."""

from __future__ import annotations

from typing import Any

import pytest
from tflite_files import File, close, parsed

from glsl_infer.errors import ModelError
from glsl_infer.importers.tflite.reader import to_graph

WIDTH, HIDDEN, LENGTH = 5, 3, 4
POOL = {"Pool2D": {"padding": 1, "strideH": 1, "strideW": 1, "filterHeight": 2, "filterWidth": 2}}


def space_to_batch(file: File, x: int, sides: list[list[int]]) -> int:
    """Return a SPACE_TO_BATCH_ND in blocks of 2x2, with padding on the ((top, bottom), (left, right)) sides."""
    shape = file.shape(x)
    size = [(length + sum(side)) // 2 for length, side in zip(shape[1:3], sides)]
    read = [x, file.constant([2, 2], "i4"), file.constant(sides, "i4")]
    return file.op("SPACE_TO_BATCH_ND", read, (4, *size, shape[3]))


def batch_to_space(file: File, x: int, cuts: list[list[int]]) -> int:
    """Return a BATCH_TO_SPACE_ND from blocks of 2x2 to one map, cropped by ((top, bottom), (left, right))."""
    shape = file.shape(x)
    size = [length * 2 - sum(crop) for length, crop in zip(shape[1:3], cuts)]
    read = [x, file.constant([2, 2], "i4"), file.constant(cuts, "i4")]
    return file.op("BATCH_TO_SPACE_ND", read, (1, *size, shape[3]))


@pytest.mark.parametrize("kind", ["MAX_POOL_2D", "AVERAGE_POOL_2D", "CONV_2D", "TANH"])
def test_operators_between_space_to_batch_and_batch_to_space(kind: str) -> None:
    file = File(1)
    x = space_to_batch(file, file.conv(file.input((1, 8, 6, 3)), 4), [[1, 1], [0, 2]])
    count, height, width, channels = file.shape(x)
    if kind == "CONV_2D":  # of stride 2, which excludes dilation
        options = {"strideH": 2, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 0}
        weights = [file.random(6, 3, 3, channels), file.random(6)]
        x = file.op(kind, [x, *weights], (count, -(-height // 2), width, 6), {"Conv2D": options})
    elif kind == "TANH":
        x = file.op(kind, [x], file.shape(x))
    else:
        x = file.op(kind, [x], (count, height - 1, width - 1, channels), POOL)
    graph = close(file.bytes([batch_to_space(file, x, [[0, 1], [1, 0]])]))
    assert {node.op for node in graph.nodes} >= {"tensor_transpose", "conv2d"}
    drawn = {"MAX_POOL_2D": "max_pool", "AVERAGE_POOL_2D": "average_pool", "CONV_2D": "conv2d"}.get(kind, "")
    assert sum(node.op == drawn for node in graph.nodes) == {"": 0, "conv2d": 5}.get(drawn, 4)


def test_space_to_batch_with_blocks_that_do_not_fit_is_refused() -> None:
    file = File()
    x = file.op("SPACE_TO_BATCH_ND", [file.conv(file.input((1, 8, 6, 3)), 4), file.constant([3, 3], "i4"),
                                      file.constant([[0, 0], [0, 0]], "i4")], (9, 2, 2, 4))  # fmt: skip
    with pytest.raises(ModelError, match="8x6 pixels in blocks of 3x3"):
        to_graph(parsed(file.bytes([batch_to_space(file, x, [[0, 0], [0, 0]])])))


def basic_lstm(file: File, kernel: int = 1) -> list[int]:
    inputs = [file.input((1, WIDTH), name="x"), file.input((1, HIDDEN), name="before"),
             file.random(4 * HIDDEN, WIDTH + HIDDEN), file.random(4 * HIDDEN),
             file.input((1, HIDDEN), name="state")]  # fmt: skip
    results = [file.tensor((1, size)) for size in (HIDDEN, HIDDEN, WIDTH + HIDDEN, 4 * HIDDEN)]
    file.several("LSTM", inputs, results, {"LSTM": {"kernelType": kernel, "fusedActivationFunction": 4}}, version=2)
    return results[:2]


def test_a_basic_lstm_has_shaders() -> None:
    file = File(3)
    graph = close(file.bytes(basic_lstm(file)))
    assert not {node.op for node in graph.nodes if node.operator.on_cpu}


def test_a_full_lstm_keeps_its_state() -> None:
    file = File(3)
    with pytest.raises(ModelError, match="LSTM: a full one, which keeps its state from frame to frame; make the state"):
        to_graph(parsed(file.bytes(basic_lstm(file, kernel=0))))


def sequence_lstm(file: File, **options: Any) -> int:
    major = bool(options.get("timeMajor"))
    x = file.op("RESHAPE", [file.input((1, LENGTH * WIDTH), name="x"),
                            file.constant([LENGTH, 1, WIDTH] if major else [1, LENGTH, WIDTH], "i4")],
                (LENGTH, 1, WIDTH) if major else (1, LENGTH, WIDTH))  # fmt: skip
    weights = [file.random(HIDDEN, WIDTH) for _ in range(4)] + [file.random(HIDDEN, HIDDEN) for _ in range(4)]
    biases = [file.random(HIDDEN) for _ in range(4)]
    states = [file.tensor((1, HIDDEN)), file.tensor((1, HIDDEN))]
    for state in states:
        file.graph.tensors[state].isVariable = True
    inputs = [x, *weights, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1]
    shape = (LENGTH, 1, HIDDEN) if major else (1, LENGTH, HIDDEN)
    own_options = {"UnidirectionalSequenceLSTM": {"fusedActivationFunction": 4, **options}}
    return file.op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, shape, own_options)


@pytest.mark.parametrize("major", [False, True])
def test_a_sequence_begins_with_a_state_of_zeros(major: bool) -> None:
    file = File(4)
    graph = close(file.bytes([sequence_lstm(file, timeMajor=major)]))
    assert "lstm" in {node.op for node in graph.nodes}


def test_a_clipped_sequence_is_refused() -> None:
    file = File(4)
    with pytest.raises(ModelError, match=r"UNIDIRECTIONAL_SEQUENCE_LSTM: with another function than tanh, or clipped"):
        to_graph(parsed(file.bytes([sequence_lstm(file, cellClip=2.0)])))
