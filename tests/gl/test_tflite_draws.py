"""A TensorFlow Lite file from the command line to pixels, and beside LiteRT, which is no matter of the driver."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tflite_files import File

from glsl_infer.cli import main

pytestmark = pytest.mark.once

SIZE = (1, 16, 12, 3)


def network() -> bytes:
    """Channels of zeros beside a map, slopes, a gate, a transposed convolution, and rows of two maps: a detector."""
    made = File(5)
    x = made.conv(made.input(SIZE), 6, stride=2)
    x = made.op("PRELU", [x, made.random(1, 1, 6)], (1, 8, 6, 6))
    wide = made.op("PAD", [x, made.constant([[0, 0]] * 3 + [[0, 4]], "i4")], (1, 8, 6, 10))
    x = made.op("ADD", [made.conv(x, 10, 1), wide], (1, 8, 6, 10), {"Add": {"fusedActivationFunction": 1}})
    mean = made.op("MEAN", [x, made.constant([1, 2], "i4")], (1, 1, 1, 10), {"Reducer": {"keepDims": True}})
    gate = made.op("LOGISTIC", [made.conv(mean, 10, 1)], (1, 1, 1, 10))
    x = made.op("MUL", [x, gate], (1, 8, 6, 10), {"Mul": {}})
    rows = [
        made.op("RESHAPE", [made.conv(x, 4, stride=stride), made.constant([1, -1, 2], "i4")], (1, count, 2))
        for stride, count in ((1, 96), (2, 24))
    ]
    boxes = made.op("CONCATENATION", rows, (1, 120, 2), {"Concatenation": {"axis": 1}}, name="boxes")
    weights = [made.constant([1, 16, 12, 1], "i4"), made.random(1, 2, 2, 10), x]
    mask = made.op("TRANSPOSE_CONV", weights, (1, 16, 12, 1), {"TransposeConv": {"strideH": 2, "strideW": 2}})
    return made.bytes([boxes, made.op("LOGISTIC", [mask], (1, 16, 12, 1), name="mask")])


def test_from_a_file_to_agreement_with_litert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bundle, photos = tmp_path / "detector.tflite", tmp_path / "detector.glslnn", tmp_path / "photos"
    model.write_bytes(network())
    photos.mkdir()
    for seed in range(4):
        pixels = np.random.default_rng(seed).integers(0, 256, (20, 20, 3), np.uint8)
        Image.fromarray(pixels).save(photos / f"{seed}.png")
    assert main(["export", str(model), "-o", str(bundle), "--calibrate", str(photos), "--verify", "0"]) == 0
    assert main(["selfcheck", str(bundle)]) == 0
    capsys.readouterr()
    assert (
        main(["validate", str(model), str(bundle), "--data", str(photos), "--json", "--min-layer-cosine", "0.99"]) == 0
    )
    agreement = json.loads(capsys.readouterr().out)
    assert agreement["beside"].startswith("LiteRT ") and agreement["failures"] == []
    assert [end["name"] for end in agreement["outputs"]] == ["boxes", "mask"]
    assert all(end["sqnr_db"] > 25.0 for end in agreement["outputs"])
    # Zeros, phases of a transposed convolution and partial sums are nobody's tensor in the file.
    assert len(agreement["layers"]) >= 8 and len(agreement["not_compared"]) <= 3
    assert "tensorflow" not in sys.modules
