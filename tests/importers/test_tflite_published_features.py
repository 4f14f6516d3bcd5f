"""Features of published .tflite files: a matrix per row, windows in the batch, quantised tensors of five axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tflite_files import File, close, parsed
from tflite_pieces import binary

from glsl_infer.compiler.optimize import optimize
from glsl_infer.importers.tflite.reader import to_graph
from glsl_infer.tools.validate.job import outputs_file
from glsl_infer.tools.validate.litert_outputs import work

MAP = (1, 8, 6, 4)


def reshaped(file: File, x: int, shape: tuple[int, ...], file_shape: tuple[int, ...] | None = None) -> int:
    return file.op("RESHAPE", [x, file.constant(shape, "i4")], file_shape or shape, {"Reshape": {}})


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("matrix_first", [False, True])
def test_a_matrix_for_each_row(matrix_first: bool, transposed: bool) -> None:
    file = File(3)
    rows = reshaped(file, file.conv(file.input((1, 8, 6, 3)), 4), (1, 8, 6, 4))
    rows = reshaped(file, rows, (8, 6, 4))
    weights = file.random(*((8, 5, 6) if matrix_first else (8, 4, 5)))
    shape = (8, 5, 4) if matrix_first else (8, 6, 5)
    if transposed:
        weights = file.random(*((8, 6, 5) if matrix_first else (8, 5, 4)))
    adjoint = {"adjX": transposed and matrix_first, "adjY": transposed and not matrix_first}
    factors = [weights, rows] if matrix_first else [rows, weights]
    product = file.op("BATCH_MATMUL", factors, shape, {"BatchMatMul": adjoint})
    close(file.bytes([reshaped(file, product, (1, *shape))]), tolerance=2e-5)


def test_windows_in_an_unknown_batch() -> None:
    """Converters write 1 for an unknown batch, so (-1, 4, 3, 4) is stored as (1, 4, 3, 4)."""
    file = File(3)
    x = file.conv(file.input((1, 8, 6, 3)), 4)
    split = reshaped(file, x, (-1, 2, 4, 2, 3, 4), (1, 2, 4, 2, 3, 4))
    order = file.constant([0, 1, 3, 2, 4, 5], "i4")
    parts = file.op("TRANSPOSE", [split, order], (1, 2, 2, 4, 3, 4), version=4)
    window = file.conv(reshaped(file, parts, (-1, 4, 3, 4), (1, 4, 3, 4)), 4)
    back = reshaped(file, window, (-1, 2, 2, 4, 3, 4), (1, 2, 2, 4, 3, 4))
    transposed = file.op("TRANSPOSE", [back, order], (1, 2, 4, 2, 3, 4), version=4)
    graph = to_graph(parsed(file.bytes([reshaped(file, transposed, (-1, 8, 6, 4), MAP)])))
    assert sum(node.op == "conv2d" for node in graph.nodes) == 5  # one before, and one for each window


def test_a_change_of_quantisation_of_five_axes() -> None:
    file = File(3)
    x = file.quantize(file.input((1, 8, 6, 4), "INT8"), 0.1)
    five = (1, 8, 6, 2, 2)
    parts = file.op("RESHAPE", [x, file.constant(five, "i4")], five, {"Reshape": {}}, type_="INT8")
    file.quantize(parts, 0.1)
    floats = file.op("DEQUANTIZE", [parts], (1, 8, 6, 2, 2))
    back = reshaped(file, binary(file, "MUL", floats, file.random(2, 2)), MAP)
    close(file.bytes([file.conv(back, 4)]), tolerance=2e-5)


def test_numbers_of_each_row_by_its_own_indices() -> None:
    file = File(3)
    x = reshaped(file, file.conv(file.input((1, 8, 6, 3)), 4), (1, 4, 48))
    best = [file.tensor((1, 4, 3)), file.tensor((1, 4, 3), "INT32")]
    file.several("TOPK_V2", [x, file.constant(3, "i4")], best, {"TopKV2": {}})
    rows, index_shape = reshaped(file, x, (-1, 48), (1, 48)), file.constant([-1, 3], "i4")
    row_indices = file.op("RESHAPE", [best[1], index_shape], (1, 3), {"Reshape": {}}, type_="INT32")
    output = file.op("GATHER", [rows, row_indices], (1, 3), {"Gather": {"axis": 1, "batchDims": 1}})
    graph = to_graph(parsed(file.bytes([reshaped(file, output, (-1, 4, 3), (1, 4, 3))])))
    assert "gather_elements" in [node.op for node in graph.nodes]


@pytest.mark.parametrize("softmax", [True, False])
def test_validation_compares_with_litert(softmax: bool, tmp_path: Path) -> None:
    """Validation compares logits in place of a softmax of bytes, and all rows of an output without a batch axis."""
    file = File(3)
    y = file.conv(file.input((1, 8, 6, 3)), 4)
    if softmax:
        y = file.quantize(file.op("QUANTIZE", [y], MAP, {"Quantize": {}}, type_="INT8"), 0.05)
        shares = file.op("SOFTMAX", [y], MAP, {"Softmax": {"beta": 1.0}}, type_="INT8")
        y = file.op("DEQUANTIZE", [file.quantize(shares, 1 / 256, -128)], MAP, {"Dequantize": {}})
    else:
        y = reshaped(file, y, (48, 4))
    path = tmp_path / "net.tflite"
    path.write_bytes(file.bytes([y]))
    graph = to_graph(parsed(path.read_bytes()))
    (output,) = graph.outputs
    (layer,) = optimize(graph).outputs[0].layers
    np.save(tmp_path / "image.npy", np.random.default_rng(0).integers(0, 256, (1, 8, 6, 3)).astype(np.uint8))
    work({"model": str(path), "inputs": {"image": str(tmp_path / "image.npy")}, "numbers": [], "input_ranges": {},
          "outputs": [{"name": output.name, "layers": [layer], "steps": 0}], "layers": [],
          "count": 1, "layer_pictures": 0, "out": str(tmp_path)})  # fmt: skip
    output_values = np.load(tmp_path / outputs_file(0))
    assert output_values.size == 48 * 4 and output_values.min() < 0.0  # logits, and not probabilities
