"""Tensors with more axes than a bundle's weights support, as in windowed attention."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.importers.onnx.reader import load


def test_a_scale_of_a_tensor_of_seven_axes(tmp_path: Path) -> None:
    divided, merged = (1, 3, 2, 2, 2, 2, 1, 1), (1, 3, 4, 4)
    constants = {
        "cut": np.array(divided),
        "half": np.full((1,) * len(divided), 0.5, np.float32),
        "whole": np.array(merged),
    }
    nodes = [
        helper.make_node("AveragePool", ["image"], ["pooled"], kernel_shape=(2, 2), strides=(2, 2)),
        helper.make_node("Reshape", ["pooled", "cut"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=(0, 2, 4, 3, 5, 1, 6, 7)),
        helper.make_node("Mul", ["b", "half"], ["c"]),
        helper.make_node("Softmax", ["c"], ["d"], axis=2),
        helper.make_node("Reshape", ["d", "whole"], ["out"]),
    ]
    shapes = {"image": (1, 3, 8, 8), "out": merged}
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in shapes.items()]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "axes", *ends, tensors), opset_imports=[helper.make_opsetid("", 17)]
    )
    onnx.save(model, tmp_path / "axes.onnx")
    graph = load(tmp_path / "axes.onnx")
    pictures = [np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)]
    bundle = build(graph, [], options=Options(), calibration=pictures).bundle
    bundles.write(bundle, tmp_path / "axes.glslnn", read_back=True)
