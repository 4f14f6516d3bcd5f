"""Files of TensorFlow Lite and ONNX, exported with the user's command.

model, bundle, photos = exported("detector.tflite", folder)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_networks
from numpy.typing import NDArray
from PIL import Image
from tflite_files import File

from glsl_infer import bundle as bundles
from glsl_infer.cli import main
from glsl_infer.runtime.pictures import preprocess

PHOTOS = 4

ROOT = Path(__file__).resolve().parents[1]


def detector() -> bytes:
    """Return a detector: channels of zeros, slopes, a gate, a transposed convolution, rows of two maps."""
    file = File(5)
    x = file.conv(file.input((1, 16, 12, 3)), 6, stride=2)
    x = file.op("PRELU", [x, file.random(1, 1, 6)], (1, 8, 6, 6))
    wide = file.op("PAD", [x, file.constant([[0, 0]] * 3 + [[0, 4]], "i4")], (1, 8, 6, 10))
    x = file.op("ADD", [file.conv(x, 10, 1), wide], (1, 8, 6, 10), {"Add": {"fusedActivationFunction": 1}})
    mean = file.op("MEAN", [x, file.constant([1, 2], "i4")], (1, 1, 1, 10), {"Reducer": {"keepDims": True}})
    gate = file.op("LOGISTIC", [file.conv(mean, 10, 1)], (1, 1, 1, 10))
    x = file.op("MUL", [x, gate], (1, 8, 6, 10), {"Mul": {}})
    rows = [
        file.op("RESHAPE", [file.conv(x, 4, stride=stride), file.constant([1, -1, 2], "i4")], (1, count, 2))
        for stride, count in ((1, 96), (2, 24))
    ]
    boxes = file.op("CONCATENATION", rows, (1, 120, 2), {"Concatenation": {"axis": 1}}, name="boxes")
    weights = [file.constant([1, 16, 12, 1], "i4"), file.random(1, 2, 2, 10), x]
    mask = file.op("TRANSPOSE_CONV", weights, (1, 16, 12, 1), {"TransposeConv": {"strideH": 2, "strideW": 2}})
    return file.bytes([boxes, file.op("LOGISTIC", [mask], (1, 16, 12, 1), name="mask")])


def open_sizes() -> bytes:
    """Return a network of any height and width, as Keras writes it: the shapes in the file are of 1x1 pixels."""
    file = File(7)
    x = file.input((1, 1, 1, 3))
    y = file.conv(x, 6, stride=2, fused=1)
    z = file.conv(y, 4)
    last = file.op("ADD", [z, file.conv(y, 4, 1)], (1, 1, 1, 4), {"Add": {}})
    for index in (x, y, z, *file.graph.operators[-1].inputs, last):
        file.graph.tensors[index].shapeSignature = [-1, -1, -1, file.shape(index)[3]]
    return file.bytes([last])


def onnx_detector() -> bytes:
    """Return an ONNX detector: rows of two maps are concatenated and sliced, a gate, and a mask of twice the size."""
    file = onnx_networks.File(9)
    y = file.op("Relu", [file.conv(file.input((1, 3, 24, 20)), 8, stride=2)], (1, 8, 12, 10))
    y = file.op("Mul", [y, file.op("Sigmoid", [y], (1, 8, 12, 10))], (1, 8, 12, 10))
    maps = [file.reshape(file.conv(feature_map, 4, 1), (1, 4, -1)) for feature_map in (y, file.conv(y, 8, stride=2))]
    file.output(file.op("Concat", maps, (1, 4, 150), axis=2))
    large = file.op("Resize", [y, "", file.constant([1.0, 1.0, 2.0, 2.0])], (1, 8, 24, 20), mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    file.output(file.op("Sigmoid", [file.conv(large, 1)], (1, 1, 24, 20)))
    return bytes(file.model().SerializeToString())


FILES = {"detector.tflite": detector, "open.tflite": open_sizes, "rows.onnx": onnx_detector}

RUNNER_FILES = ("detector.tflite", "rows.onnx")
"""Files for the comparison of the three runners."""


def exported(name: str, folder: Path, *options: str) -> tuple[Path, Path, Path]:
    """Return a file of a name in ``FILES``, its bundle, and the folder of its calibration images."""
    model, bundle, photos = folder / name, folder / "made.glslnn", folder / "photos"
    model.write_bytes(FILES[name]())
    photos.mkdir()
    for seed in range(PHOTOS):
        pixels = np.random.default_rng(seed).integers(0, 256, (20, 20, 3), np.uint8)
        Image.fromarray(pixels).save(photos / f"{seed}.png")
    arguments = ["export", str(model), "-o", str(bundle), "--calibrate", str(photos), "--verify", "0"]
    assert main([*arguments, *options]) == 0
    return model, bundle, photos


def example_inputs(bundle: Path) -> dict[str, NDArray[np.uint8]]:
    """Return a photograph as the bundle's input."""
    (model_input,) = bundles.read(bundle).manifest.inputs
    return {model_input.name: preprocess.load(ROOT / "docs/images/example.jpg", model_input.shape[:2])}
