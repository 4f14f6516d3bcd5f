"""Grey images without a channel axis, and batches that a file leaves open, compared with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
from tflite_files import File, close, parsed, schema

from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import reference
from glsl_infer.graph.picture import is_picture
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.tflite.reader import survey_of, to_graph


def dense(file: File, x: int) -> int:
    inputs = [x, file.random(3, file.shape(x)[1]), file.random(3)]
    return file.op("FULLY_CONNECTED", inputs, (1, 3), {"FullyConnected": {}})


@pytest.mark.parametrize("kind", ["row", "channel", "sequence", "quantised"])
def test_a_picture_without_channels(kind: str) -> None:
    file = File(2)
    x = y = file.input((1, 6, 8))
    if kind == "quantised":
        y = file.quantize(file.op("QUANTIZE", [x], (1, 6, 8), {"Quantize": {}}, type_="INT8"), 1 / 255, -128)
        y = file.op("DEQUANTIZE", [y], (1, 6, 8), {"Dequantize": {}})
    if kind == "channel":
        y = file.op("RESHAPE", [y, file.constant([-1, 6, 8, 1], "i4")], (1, 6, 8, 1))
        y = file.op("RESHAPE", [file.conv(y, 2), file.constant([1, 96], "i4")], (1, 96))
    elif kind == "sequence":
        y = file.op("RESHAPE", [y, file.constant([1, 12, 4], "i4")], (1, 12, 4))
        y = file.op("RESHAPE", [y, file.constant([1, 48], "i4")], (1, 48))
    else:
        y = file.op("RESHAPE", [y, file.constant([-1, 48], "i4")], (1, 48))
    graph = close(file.bytes([dense(file, y)]), tolerance=0.02 if kind == "quantised" else 1e-5)
    (graph_input,) = graph.inputs
    assert is_picture(graph_input) == (kind != "sequence")
    assert graph_input.attrs["shape"] == ((1, 6, 8) if kind == "sequence" else (6, 8, 1))


@pytest.mark.parametrize("shape", [(2, 1, 5), (2, 5), (2, 1, 1, 5), (1, 2, 1, 1, 5)])
def test_the_state_of_a_recurrent_layer_is_an_input_and_an_output(shape: tuple[int, ...]) -> None:
    file = File(2)
    x, state = file.input((1, 10), name="x"), file.input(shape, name="state")
    flat = file.op("RESHAPE", [state, file.constant([1, 10], "i4")], (1, 10))
    total = file.op("ADD", [x, flat], (1, 10), {"Add": {}})
    after = file.op("MUL", [state, file.constant(np.linspace(0.5, 1.0, 10).reshape(shape))], shape, {"Mul": {}})
    graph = close(file.bytes([dense(file, total), after]))
    assert [node.name for node in graph.inputs] == ["x", "state"]


def test_a_batch_of_pictures_is_refused() -> None:
    file = File(2)
    with pytest.raises(ModelError, match=r"one image at a time.*--input-shape image=1x8x8x3"):
        to_graph(parsed(file.bytes([file.op("RELU", [file.input((2, 8, 8, 3))], (2, 8, 8, 3))])))


def test_functions_that_are_not_read_are_named() -> None:
    file = File()
    x = file.input()
    file.model.signatureDefs = []
    for key, subgraph in (("serve", 0), ("train", 1), ("reset", 2)):
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex, signature.inputs, signature.outputs = key, subgraph, [], []
        file.model.signatureDefs.append(signature)
    noted = survey_of(parsed(file.bytes([file.conv(x)]))).warnings
    assert noted == ("the file's first function alone is read, not train, reset; convert these to files of their own",)


def test_open_shapes_after_mirror_padding_and_splits() -> None:
    network = File(3)
    x = network.input((1, 6, 8, 4))
    around = network.constant([[0, 0], [1, 2], [2, 1], [0, 0]], "i4")
    y = network.op("MIRROR_PAD", [x, around], (1, 9, 11, 4), {"MirrorPad": {"mode": 0}})
    parts = [network.tensor((1, 9, 11, 1)), network.tensor((1, 9, 11, 3))]
    sizes = [network.constant([1, -1], "i4"), network.constant(3, "i4")]
    network.several("SPLIT_V", [y, *sizes], parts, {"SplitV": {"numSplits": 2}})
    data = network.conv(parts[1], 2, 1)
    for index in (y, *parts, data):
        network.graph.tensors[index].shapeSignature = [-1, -1, -1, network.shape(index)[3]]
    file = network.bytes([data])
    assert to_graph(parsed(file)).shape_of(to_graph(parsed(file)).outputs[0]) == (9, 11, 2)
    close(file)


def sound(length: int) -> bytes:
    """Return the model of a sound (1, length) with a gain, as rows of 4, and the mean of each of the 4 columns."""
    file = File(4)
    x, gain = file.input((1, length)), file.input((1,))
    y = file.op("MUL", [x, gain], (1, length), {"Mul": {}})
    y = file.op("RESHAPE", [y, file.constant([1, -1, 4], "i4")], (1, length // 4, 4))
    return file.bytes([file.op("MEAN", [y, file.constant([1], "i4")], (1, 4), {"Reducer": {"keepDims": False}})])


def test_any_size_and_a_constant() -> None:
    """A resized model equals the file of the same size: its shapes follow from its inputs."""
    model, fixed = parsed(sound(64)), to_graph(parsed(sound(24)))
    (x, _), (gain, _) = model.inputs
    graph = to_graph(model, io_options=IoOptions(shapes={x: (1, 24)}, constants={gain: (0.5,)}))
    values = np.random.default_rng(0).normal(size=24).astype(np.float32)
    (graph_input,) = graph.inputs
    fields = dict(zip([node.name for node in fixed.inputs], (values, np.full(1, 0.5, np.float32))))
    (name,), (own,) = graph.outputs, fixed.outputs
    outputs = reference.run(graph, {graph_input.name: values}, mode="float")[name.name]
    np.testing.assert_allclose(outputs, reference.run(fixed, fields, mode="float")[own.name], rtol=1e-5)


def test_a_shape_of_other_axes() -> None:
    model = parsed(sound(64))
    with pytest.raises(InputError, match="--input-shape"):
        to_graph(model, io_options=IoOptions(shapes={model.inputs[0][0]: (1, 2, 3)}))
