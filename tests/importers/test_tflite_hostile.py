"""Damaged and hostile files are refused with an error of the package, in little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tflite_files import File, parsed

from glsl_infer.errors import GlslInferError, ModelError
from glsl_infer.importers import tflite
from glsl_infer.importers.tflite.reader import to_graph


def sound() -> bytes:
    """Return a valid file with constants, 16-bit floats, ranges, options and several outputs."""
    file = File(3)
    x = file.conv(file.input(), 4, fused=1)
    half = file.op("DEQUANTIZE", [file.constant(np.ones((1, 1, 4)), "f2")], (1, 1, 4), {"Dequantize": {}})
    y = file.op("PRELU", [file.quantize(x, 0.1), half], (1, 8, 8, 4))
    pad = file.op("PAD", [y, file.constant([[0, 0], [1, 1], [1, 1], [0, 4]], "i4")], (1, 10, 10, 8))
    rows = file.op("RESHAPE", [pad, file.constant([1, 400, 2], "i4")], (1, 400, 2), {"Reshape": {}})
    mean = file.op("MEAN", [y, file.constant([1, 2], "i4")], (1, 4), {"Reducer": {}})
    return file.bytes([rows, mean])


def refused_or_read(data: bytes) -> None:
    """Import a file; a refusal must have a message."""
    try:
        graph = to_graph(parsed(data))
    except GlslInferError as error:
        assert str(error)
    else:
        assert graph.outputs


def test_every_length() -> None:
    data = sound()
    refused_or_read(data)
    for length in range(0, len(data), 7):
        refused_or_read(data[:length])


@pytest.mark.parametrize("seed", range(8))
def test_changed_bytes(seed: int) -> None:
    rng, data = np.random.default_rng(seed), sound()
    for _ in range(150):
        changed = np.frombuffer(data, np.uint8).copy()
        for offset in rng.integers(0, len(changed), rng.integers(1, 4)):
            changed[offset] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)])
        refused_or_read(changed.tobytes())


@pytest.mark.parametrize("seed", range(4))
def test_changed_offsets(seed: int) -> None:
    """32-bit words replaced by offsets that point backwards, in circles, or far beyond the end."""
    rng, data = np.random.default_rng(100 + seed), sound()
    for _ in range(150):
        words = np.frombuffer(data[: len(data) // 4 * 4], "<i4").copy()
        words[rng.integers(0, len(words), 2)] = rng.choice([-4, 0, 4, 8, 2**31 - 1, -(2**31), rng.integers(1000)], 2)
        refused_or_read(words.tobytes())


def harmful(fault: str) -> bytes:
    """Return a file with a fault."""
    file = File()
    x = file.input()
    if fault == "reads itself":
        y = file.tensor((1, 8, 8, 3))
        file.several("ADD", [x, y], [y], {"Add": {}})
    elif fault == "makes its input":
        y = file.op("RELU", [x], (1, 8, 8, 3))
        file.several("RESHAPE", [x], [x], {"Reshape": {}})
    elif fault == "reads a later tensor":
        later = file.tensor((1, 8, 8, 3))
        y = file.op("ADD", [x, later], (1, 8, 8, 3), {"Add": {}})
        file.several("RELU", [x], [later])
    elif fault == "an ending in a circle":
        y = file.tensor((1, 64, 3))
        file.several("RESHAPE", [y], [y], {"Reshape": {}})
    elif fault == "an ending that doubles":
        y = file.op("RESHAPE", [x], (1, 1, 192), {"Reshape": {}})
        for power in range(1, 40):
            y = file.op("CONCATENATION", [y, y], (1, 2 ** min(power, 29), 192), {"Concatenation": {"axis": 1}})
    elif fault == "many operators":
        y = x
        for _ in range(16_385):
            y = file.op("RELU", [y], (1, 8, 8, 3))
    elif fault == "made twice":
        y = file.op("RELU", [x], (1, 8, 8, 3))
        file.several("TANH", [x], [y])
    elif fault == "no such tensor":
        y = file.op("RELU", [77], (1, 8, 8, 3))
    elif fault == "weights too short":
        weights = file.tensor((2**15, 3, 3, 3), data=b"\0" * 64)
        y = file.op("CONV_2D", [x, weights, -1], (1, 8, 8, 2**15), {"Conv2D": {"strideH": 1, "strideW": 1}})
    elif fault == "sparse and huge":
        weights = file.tensor((2**15, 2**15), data=b"\0" * 64)
        file.graph.tensors[weights].sparsity = sparsity()
        y = file.op("FULLY_CONNECTED", [x, weights, -1], (1, 2**15), {"FullyConnected": {}})
    elif fault == "huge by broadcast":
        parts = [file.constant(np.zeros(shape)) for shape in ((100_000, 1), (1, 100_000))]
        y = file.op("MUL", [x, file.op("ADD", parts, (4,), {"Add": {}})], (1, 8, 8, 3), {"Mul": {}})
    elif fault == "stride 0":
        options = {"strideH": 0, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1}
        y = file.op("CONV_2D", [x, file.random(4, 3, 3, 3), -1], (1, 8, 8, 4), {"Conv2D": options})
    elif fault == "another shape than it makes":
        y = file.op("MAX_POOL_2D", [x], (1, 9, 9, 3), {"Pool2D": {"filterHeight": 2, "filterWidth": 2,
                                                                  "strideH": 2, "strideW": 2}})  # fmt: skip
    elif fault == "padded by a million":
        y = file.op("PAD", [x, file.constant([[0, 0]] * 3 + [[0, 2**30]], "i4")], (1, 8, 8, 3))
    else:
        y = file.op("MyOwn", [x], (1, 8, 8, 3), custom=b"")
    return file.bytes([y])


def sparsity() -> object:
    """Return the description of a sparse matrix of 2**15 rows and columns."""
    from tflite_files import schema

    sparsity = schema.SparsityParametersT()
    sparsity.traversalOrder, sparsity.dimMetadata = [0, 1], []
    for _ in range(2):
        level = schema.DimensionMetadataT()
        level.format, level.denseSize = 0, 2**15
        sparsity.dimMetadata.append(level)
    return sparsity


HARMFUL = {
    "reads itself": "which no earlier operator makes",
    "reads a later tensor": "which no earlier operator makes",
    "an ending in a circle": "which no earlier operator makes",
    "an ending that doubles": "more than 268435456 numbers",
    "many operators": "more than 16,384 operators",
    "made twice": "is made twice",
    "makes its input": "is made twice",
    "no such tensor": "name a tensor that is not there",
    "weights too short": "16 numbers for a shape",
    "sparse and huge": "take more than|do not fit",
    "huge by broadcast": "of constants that do not fit",
    "stride 0": r"strides \(0, 1\)",
    "another shape than it makes": r"makes \(4, 4, 3\) where the file says \(9, 9, 3\)",
    "padded by a million": r"by \[\[0, 0\], .*\[0, 1073741824\]\]",
    "custom": "the custom operator 'MyOwn' cannot be exported",
}


@pytest.mark.parametrize("fault", HARMFUL)
def test_refused_by_name(fault: str) -> None:
    with pytest.raises(ModelError, match=HARMFUL[fault]):
        to_graph(parsed(harmful(fault)))


def test_all_refusals_at_once() -> None:
    file = File()
    x = file.op("RFFT2D", [file.input()], (1, 8, 8, 3))
    y = file.op("SEGMENT_SUM", [file.conv(x, 4)], (1, 8, 8, 4))
    with pytest.raises(ModelError, match=r"a RFFT2D cannot be exported(.|\n)*a SEGMENT_SUM cannot be exported"):
        to_graph(parsed(file.bytes([y])))


def test_the_command_line_reports_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(sound()[:200])
    command = [sys.executable, "-m", "glsl_infer", "export", tmp_path / "bad.tflite", "-o", tmp_path / "x.glslnn"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "a damaged TensorFlow Lite file" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "x.glslnn").exists()


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    for contents, message in (
        (None, "no such file"),
        (b"", "not a TensorFlow Lite file"),
        (b"x" * 99, "not a TensorFlow"),
    ):
        path = tmp_path / "some.tflite"
        if contents is not None:
            path.write_bytes(contents)
        with pytest.raises(ModelError, match=message):
            tflite.read(path)
    with pytest.raises(ModelError, match="a folder"):
        tflite.read(tmp_path)


def test_without_the_package_pip_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    with pytest.raises(GlslInferError, match="pip install tflite"):
        parsed(sound())
