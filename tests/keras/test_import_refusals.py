"""Unsupported layers are refused by name, with advice."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest

from glsl_infer.compiler.build import build
from glsl_infer.errors import InputError, ModelError
from glsl_infer.importers import keras as importer
from glsl_infer.tools.export import export

L = keras.layers
X = keras.Input((8, 8, 3), name="shared")  # a name unlike any later layer's


class Subclassed(keras.Model):
    """Layer that calls a method of TensorFlow tensors only."""

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(inputs.shape)

    def call(self, inputs):
        return inputs.with_values()


class Add(L.Add):
    """Layer with a name of Keras and another function."""

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(inputs[0].shape)

    def call(self, inputs):
        return inputs[0].with_values()


@pytest.mark.parametrize(
    "outputs, message",
    [
        (
            lambda: L.Resizing(4, 3, "area", name="r")(X),
            "layer 'r': interpolation='area'; use one of: nearest",
        ),
        (
            lambda: L.Conv2D(4, 3, activation="sparsemax", name="c")(X),
            "layer 'c': activation 'sparsemax'.*use one of",
        ),
        (lambda: L.Activation("glu", name="a")(X), "layer 'a': activation 'glu' cannot be exported"),
        (
            lambda: L.ReLU(1.0, threshold=2.0, name="r")(X),
            "layer 'r': a relu with a maximum of 1; .*above the threshold",
        ),
        (lambda: L.ReLU(0.0, name="r")(X), "layer 'r': a ReLU with max_value=0.0; give a positive"),
        (lambda: L.GroupNormalization(2, axis=1, name="g")(X), "layer 'g': axis=1"),
        (
            lambda: L.MaxPooling2D(2, data_format="channels_first", name="p")(X),
            "layer 'p': data_format='channels_first'; only 'channels_last'",
        ),
        (
            lambda: keras.Sequential([L.Masking(), L.LSTM(2, name="u1")], name="inner")(L.Reshape((64, 3))(X)),
            "layer 'inner/u1': LSTM on masked steps; take Masking out",
        ),
        (
            lambda: Add(name="mine")([X, X]),
            "layer 'mine': an Add cannot be exported; give the module.*--import MODULE.*traced: AttributeError",
        ),
        (lambda: Subclassed(name="inner")(X), "layer 'inner': the model Subclassed inside.*build it with keras.Input"),
    ],
)
def test_refused_layers(outputs, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        importer.to_graph(keras.Model(X, outputs()))


def test_inputs_of_free_size_several_inputs_and_outputs() -> None:
    free = keras.Input((None, None, 3))
    with pytest.raises(ModelError, match="fixed"):
        importer.to_graph(keras.Model(free, L.ReLU()(free)))
    two = importer.to_graph(keras.Model(X, [L.ReLU(name="a")(X), L.ReLU(name="b")(X)]))
    assert [output.name for output in two.outputs] == ["a", "b"]
    other = keras.Input((8, 8, 3))
    graph = importer.to_graph(keras.Model([X, other], L.Add()([X, other])))
    with pytest.raises(ModelError, match="2 inputs"):
        _ = graph.input


def test_subclassed_models() -> None:
    with pytest.raises(ModelError, match="not functional"):
        importer.to_graph(Subclassed())


@pytest.mark.parametrize("content", [None, b"", b"no model at all"])
def test_files_of_other_kinds_are_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.keras"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.keras: (no such file|not a Keras model)"):
        importer.load(path)


@pytest.mark.parametrize(
    "body, message",
    [
        (L.Conv2D(8, 3, name="bare"), "layer 'bare': the values of 'linear' have no fixed range; .*--images DIR"),
        (L.Conv2D(8, 3, activation="relu", name="bare"), r"layer 'bare'.*'relu'.*ReLU\(max_value=...\)"),
    ],
)
def test_layers_without_shaders_are_refused_by_name(body, message: str) -> None:
    outputs = L.Dense(2)(L.GlobalAveragePooling2D()(body(X)))
    with pytest.raises(ModelError, match=message):
        build(importer.to_graph(keras.Model(X, outputs)), ["a", "b"])


def test_labels_of_a_network_that_ends_in_a_map() -> None:
    graph = importer.to_graph(keras.Model(X, L.Conv2D(4, 3, activation="sigmoid")(X)))
    with pytest.raises(InputError, match="1 labels for 0 classes"):
        build(graph, ["a"])
    bundle, _, _ = build(graph, [])
    assert bundle.manifest.outputs[0].purpose == "image"


def test_every_layer_that_cannot_be_exported_is_named() -> None:
    x = L.Conv2D(4, 3)(L.Lambda(lambda y: y, name="turned")(X))
    outputs = L.Dense(2)(L.GlobalAveragePooling2D()(L.AutoContrast(name="contrast")(x)))
    with pytest.raises(ModelError, match=r"layer 'turned'(.|\n)*layer 'contrast'"):
        importer.to_graph(keras.Model(X, outputs))


def test_maps_that_cannot_be_flattened() -> None:
    picture = keras.Input((33, 33, 3))
    flat = L.Flatten(name="flat")(L.Conv2D(4, 1, activation="sigmoid")(picture))
    with pytest.raises(ModelError, match="flattening a map of 33x33 pixels and 4 channels; at most 4096 values"):
        build(importer.to_graph(keras.Model(picture, flat)), [])


def test_quantised_weights() -> None:
    model = keras.Model(X, L.Dense(4, name="dense")(L.GlobalAveragePooling2D()(X)))
    model.get_layer("dense").quantize("int4")
    with pytest.raises(ModelError, match="layer 'dense'"):
        importer.to_graph(model)


@pytest.mark.parametrize(
    "body, message",
    [
        (
            lambda x: L.Conv2D(4, 2, activation="sigmoid")(L.Reshape((2, 2, 1), name="r")(L.Dense(4)(pooled(x)))),
            "layer 'r': the values of 'linear' have no fixed range",
        ),
    ],
)
def test_layers_that_no_step_of_the_optimiser_removes_are_refused_by_name(body, message: str) -> None:
    outputs = L.Dense(2)(L.GlobalAveragePooling2D()(body(X)))
    with pytest.raises(ModelError, match=message):
        build(importer.to_graph(keras.Model(X, outputs)), ["a", "b"])


def pooled(x: keras.KerasTensor) -> keras.KerasTensor:
    return L.GlobalAveragePooling2D()(L.Conv2D(3, 1, activation="sigmoid")(x))


def test_the_existing_file_survives_a_refused_export(tmp_path: Path) -> None:
    model, out, labels = tmp_path / "m.keras", tmp_path / "m.glslnn", tmp_path / "labels.txt"
    keras.Model(X, L.Lambda(lambda x: x, name="crop")(X)).save(model)
    labels.write_text("a\nb\n")
    out.write_bytes(b"precious")
    with pytest.raises(ModelError, match="crop"):
        export(model, out, labels)
    assert out.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.txt", "m.glslnn", "m.keras"]


def test_labels_must_fit(tmp_path: Path) -> None:
    outputs = L.Dense(2)(L.GlobalAveragePooling2D()(L.Conv2D(4, 3, activation="sigmoid")(X)))
    graph = importer.to_graph(keras.Model(X, outputs))
    with pytest.raises(InputError, match="3 labels for 2 classes"):
        build(graph, ["a", "b", "c"])
    assert np.isfinite(build(graph, ["a", "b"])[0].manifest.probe.outputs[0].numbers).all()
