"""Features of published .tflite files: a matrix per row, windows in the batch, quantised tensors of five axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tflite_files import File, close, parsed
from tflite_pieces import two

from glsl_infer.compiler.optimize import optimize
from glsl_infer.importers.tflite.reader import to_graph
from glsl_infer.tools.validate.job import ends_file
from glsl_infer.tools.validate.litert_outputs import work

MAP = (1, 8, 6, 4)


def reshaped(made: File, x: int, shape: tuple[int, ...], told: tuple[int, ...] | None = None) -> int:
    return made.op("RESHAPE", [x, made.constant(shape, "i4")], told or shape, {"Reshape": {}})


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_a_matrix_for_each_row(first: bool, turned: bool) -> None:
    made = File(3)
    rows = reshaped(made, made.conv(made.input((1, 8, 6, 3)), 4), (1, 8, 6, 4))
    rows = reshaped(made, rows, (8, 6, 4))
    weights = made.random(*((8, 5, 6) if first else (8, 4, 5)))
    shape = (8, 5, 4) if first else (8, 6, 5)
    if turned:
        weights = made.random(*((8, 6, 5) if first else (8, 5, 4)))
    adjoint = {"adjX": turned and first, "adjY": turned and not first}
    product = made.op("BATCH_MATMUL", [weights, rows] if first else [rows, weights], shape, {"BatchMatMul": adjoint})
    close(made.bytes([reshaped(made, product, (1, *shape))]), tolerance=2e-5)


def test_windows_that_a_reshape_puts_into_a_batch_that_the_file_calls_1() -> None:
    """Converters write 1 for an unknown batch, so (-1, 4, 3, 4) is stored as (1, 4, 3, 4)."""
    made = File(3)
    x = made.conv(made.input((1, 8, 6, 3)), 4)
    five = reshaped(made, x, (-1, 2, 4, 2, 3, 4), (1, 2, 4, 2, 3, 4))
    order = made.constant([0, 1, 3, 2, 4, 5], "i4")
    parts = made.op("TRANSPOSE", [five, order], (1, 2, 2, 4, 3, 4), version=4)
    window = made.conv(reshaped(made, parts, (-1, 4, 3, 4), (1, 4, 3, 4)), 4)
    back = reshaped(made, window, (-1, 2, 2, 4, 3, 4), (1, 2, 2, 4, 3, 4))
    moved = made.op("TRANSPOSE", [back, order], (1, 2, 4, 2, 3, 4), version=4)
    graph = to_graph(parsed(made.bytes([reshaped(made, moved, (-1, 8, 6, 4), MAP)])))
    assert sum(node.op == "conv2d" for node in graph.nodes) == 5  # one before, and one for each window


def test_a_change_of_quantisation_of_five_axes() -> None:
    made = File(3)
    x = made.quantize(made.input((1, 8, 6, 4), "INT8"), 0.1)
    five = (1, 8, 6, 2, 2)
    parts = made.op("RESHAPE", [x, made.constant(five, "i4")], five, {"Reshape": {}}, type_="INT8")
    made.quantize(parts, 0.1)
    floats = made.op("DEQUANTIZE", [parts], (1, 8, 6, 2, 2))
    back = reshaped(made, two(made, "MUL", floats, made.random(2, 2)), MAP)
    close(made.bytes([made.conv(back, 4)]), tolerance=2e-5)


def test_numbers_of_each_row_by_its_own_indices() -> None:
    made = File(3)
    x = reshaped(made, made.conv(made.input((1, 8, 6, 3)), 4), (1, 4, 48))
    best = [made.tensor((1, 4, 3)), made.tensor((1, 4, 3), "INT32")]
    made.several("TOPK_V2", [x, made.constant(3, "i4")], best, {"TopKV2": {}})
    rows, places = reshaped(made, x, (-1, 48), (1, 48)), made.constant([-1, 3], "i4")
    own = made.op("RESHAPE", [best[1], places], (1, 3), {"Reshape": {}}, type_="INT32")
    taken = made.op("GATHER", [rows, own], (1, 3), {"Gather": {"axis": 1, "batchDims": 1}})
    graph = to_graph(parsed(made.bytes([reshaped(made, taken, (-1, 4, 3), (1, 4, 3))])))
    assert "gather_elements" in [node.op for node in graph.nodes]


@pytest.mark.parametrize("softmax", [True, False])
def test_validation_beside_litert(softmax: bool, tmp_path: Path) -> None:
    """Validation compares logits in place of a softmax of bytes, and all rows of an output without a batch axis."""
    made = File(3)
    y = made.conv(made.input((1, 8, 6, 3)), 4)
    if softmax:
        y = made.quantize(made.op("QUANTIZE", [y], MAP, {"Quantize": {}}, type_="INT8"), 0.05)
        shares = made.op("SOFTMAX", [y], MAP, {"Softmax": {"beta": 1.0}}, type_="INT8")
        y = made.op("DEQUANTIZE", [made.quantize(shares, 1 / 256, -128)], MAP, {"Dequantize": {}})
    else:
        y = reshaped(made, y, (48, 4))
    path = tmp_path / "net.tflite"
    path.write_bytes(made.bytes([y]))
    graph = to_graph(parsed(path.read_bytes()))
    (output,) = graph.outputs
    (layer,) = optimize(graph).outputs[0].layers
    np.save(tmp_path / "image.npy", np.random.default_rng(0).integers(0, 256, (1, 8, 6, 3)).astype(np.uint8))
    work({"model": str(path), "inputs": {"image": str(tmp_path / "image.npy")}, "numbers": [], "input_ranges": {},
          "outputs": [{"name": output.name, "layers": [layer], "steps": 0}], "layers": [],
          "count": 1, "layer_pictures": 0, "out": str(tmp_path)})  # fmt: skip
    ends = np.load(tmp_path / ends_file(0))
    assert ends.size == 48 * 4 and ends.min() < 0.0
