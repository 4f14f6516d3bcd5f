"""Files with constant operators that only onnxslim computes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from onnx_networks import File, TensorProto, helper, onnx

from glsl_infer.errors import ModelError
from glsl_infer.graph import reference
from glsl_infer.importers import onnx as importer
from glsl_infer.importers.onnx import slimmed

needs_onnxslim = pytest.mark.skipif(
    not find_spec("onnxslim") or not find_spec("onnxruntime"), reason="onnxslim works with ONNX Runtime"
)


def network(folder: Path) -> Path:
    """Write a convolution of any height and width whose weights are a product of constants in another file."""
    file = File(3, 17)
    x = file.input((1, 3, "height", "width"))
    parts = [file.random(4, 5), file.random(5, 27)]
    kernel = file.op("Reshape", [file.op("Einsum", parts, (4, 27), equation="ij,jk->ik"),
                                 file.constant([4, 3, 3, 3], "int64")], (4, 3, 3, 3))  # fmt: skip
    y = file.op("Conv", [x, kernel], (1, 4, "height", "width"), pads=[1, 1, 1, 1])
    y = file.op("Relu", [y], (1, 4, "height", "width"))
    file.outputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, (1, 4, "height", "width")))
    path = folder / "product.onnx"
    onnx.save(file.model(), path, save_as_external_data=True, size_threshold=128, location="product.bin")
    return path


@needs_onnxslim
def test_products_of_constants(tmp_path: Path) -> None:
    import onnxruntime

    path = network(tmp_path)
    imported = importer.imported(path, ends=importer.IoOptions(sizes={"": (6, 8)}))
    graph = imported.survey.whole()
    picture = np.random.default_rng(1).integers(0, 256, (6, 8, 3)).astype(np.uint8)
    values = (picture / np.float32(255.0)).transpose(2, 0, 1)[None].astype(np.float32)
    name = graph.input.name
    outputs = reference.run(graph, {name: picture}, mode="float")
    (output,) = outputs
    expected = onnxruntime.InferenceSession(str(path)).run(None, {name: values})[0]
    np.testing.assert_allclose(imported.returned(output, outputs[output]), expected, rtol=1e-4, atol=1e-5)
    assert set(imported.names.values()) <= importer.tensors(path) | {name}


def test_without_it_pip_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slimmed, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"Einsum: of constants alone; .* -m pip install onnxslim onnxruntime"):
        importer.load(network(tmp_path), ends=importer.IoOptions(sizes={"": (6, 8)}))


@needs_onnxslim
def test_what_takes_too_much_is_refused_as_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of 2**36 values exceeds the process's memory, and the file is refused as without onnxslim."""
    file = File(0, 17)
    x = file.input((1, 4, 8, 6))
    vectors = [file.constant(np.zeros(2**18)), file.constant(np.zeros(2**18))]
    huge = file.op("ReduceL2", [file.op("Einsum", vectors, (2**18, 2**18), equation="i,j->ij")], (1, 1), keepdims=1)
    y = file.op("Add", [x, huge], (1, 4, 8, 6))
    file.outputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, (1, 4, 8, 6)))
    path = tmp_path / "huge.onnx"
    onnx.save(file.model(), path)
    with pytest.raises(ModelError, match="Einsum: of constants alone"):
        importer.load(path)
