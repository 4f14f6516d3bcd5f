"""Unsupported layers are refused by name, and hostile files before Keras reads them."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
from keras import layers

from glsl_infer.compiler.build import build
from glsl_infer.errors import InputError, ModelError
from glsl_infer.importers import keras as importer
from glsl_infer.importers.core import limits
from glsl_infer.importers.keras import installed
from glsl_infer.importers.keras.reader import load, survey
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
        (lambda: L.Resizing(4, 3, "area", name="r")(X), "layer 'r': interpolation='area'; use one of: nearest"),
        (lambda: L.Conv2D(4, 3, activation="sparsemax", name="c")(X), "layer 'c': activation 'sparsemax'.*use one of"),
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
        (
            lambda x: L.Conv2D(4, 2, activation="sigmoid")(L.Reshape((2, 2, 1), name="r")(L.Dense(4)(pooled(x)))),
            "layer 'r': the values of 'linear' have no fixed range",
        ),
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


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    image = keras.Input((8, 8, 3), name="image")
    classes = layers.Dense(2, name="classes")(layers.Flatten()(layers.Conv2D(4, 3, name="stem")(image)))
    path = tmp_path_factory.mktemp("sound") / "sound.keras"
    keras.Model(image, classes).save(path)
    return path


def rewritten(source: Path, target: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def layer_of(config: dict[str, Any], name: str) -> dict[str, Any]:
    return next(layer for layer in config["config"]["layers"] if layer["config"].get("name") == name)


def with_config(source: Path, target: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    def change_both(members: dict[str, bytes]) -> None:
        config = json.loads(members["config.json"])
        change(config)
        members["config.json"] = json.dumps(config).encode()

    return rewritten(source, target, change_both)


def memory() -> int:
    """Return the peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_a_sound_file_is_read(sound: Path) -> None:
    assert load(sound).outputs


def function(module: str, name: str) -> dict[str, Any]:
    return {"module": module, "class_name": "function", "config": name, "registered_name": name}


NAMES = {
    "a function of another module": (function("os", "system"), "names the function 'os.system'"),
    "one of Python": (function("builtins", "eval"), "not a model that Keras can load|cannot"),
    "a download": (function("keras.utils", "get_file"), "names 'keras.utils.get_file'"),
    "the safe mode": (function("keras.config", "enable_unsafe_deserialization"), "names 'keras.config.enable_unsafe"),
    "another way to it": (function("keras.src.saving.saving_lib", "load_model"), "names 'keras.src.saving.saving_lib."),
    "a lambda": ({"class_name": "__lambda__", "config": {"value": "AAAA"}}, "executes code of the file"),
    "a layer inside": (
        {"module": "keras.layers", "class_name": "TorchModuleWrapper", "config": {"name": "x", "module": "AAAA"}},
        "holds a TorchModuleWrapper, which executes code",
    ),
    "a table of words": (
        {"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}},
        "holds a StringLookup, which reads files",
    ),
}


@pytest.mark.parametrize("kind", NAMES)
def test_forbidden_names_in_a_config_are_refused(sound: Path, tmp_path: Path, kind: str) -> None:
    change, expected = NAMES[kind]
    path = with_config(
        sound, tmp_path / "x.keras", lambda config: layer_of(config, "stem")["config"].update(activation=change)
    )
    with pytest.raises(ModelError, match=expected):
        load(path)


@pytest.mark.parametrize("length", [0, 1000])
def test_a_file_that_was_not_copied_whole(sound: Path, tmp_path: Path, length: int) -> None:
    (tmp_path / "cut.keras").write_bytes(sound.read_bytes()[:length])
    with pytest.raises(ModelError, match="not a Keras model, or cut off before its end; save or copy"):
        load(tmp_path / "cut.keras")


@pytest.mark.parametrize("backend", ["theano", "torch"])
def test_a_missing_backend_is_named(sound: Path, backend: str) -> None:
    """The message names an unknown backend and an uninstalled one."""
    script = "import sys; sys.modules['torch'] = None; from glsl_infer.cli import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "KERAS_BACKEND": backend}
    command = [sys.executable, "-c", script, "inspect", str(sound)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"error: KERAS_BACKEND={backend}: Keras cannot be imported with it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_layer_that_runs_code_is_a_row_of_the_survey(sound: Path, tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        layer_of(config, "classes").update(class_name="TorchModuleWrapper")

    (problem,) = survey(with_config(sound, tmp_path / "x.keras", change)).problems
    assert "layer 'classes': a TorchModuleWrapper cannot be exported: it may run code or read files" in str(problem)


def test_a_short_config_that_needs_all_memory_is_refused(sound: Path, tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        layer_of(config, "classes")["config"]["units"] = 100_000_000

    before = memory()
    with pytest.raises(ModelError, match="'classes'"):
        load(with_config(sound, tmp_path / "x.keras", change))
    assert memory() - before < 200e6


def test_zeros_that_are_packed_well(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "50")

    def in_zip(members: dict[str, bytes]) -> None:
        members["assets/zeros"] = bytes(60_000_000)

    def in_h5(members: dict[str, bytes]) -> None:
        file = io.BytesIO(members["model.weights.h5"])
        with h5py.File(file, "a") as root:
            root.create_dataset("zeros", (20_000_000,), "f4", compression="gzip", chunks=True)
        members["model.weights.h5"] = file.getvalue()

    for change in (in_zip, in_h5):
        path = rewritten(sound, tmp_path / "x.keras", change)
        assert path.stat().st_size < 1_000_000
        with pytest.raises(ModelError, match=r"weights take more than 50 MB, at '(assets|/zeros)"):
            load(path)
        monkeypatch.setenv(limits.VARIABLE, "500")
        assert load(path).outputs
        monkeypatch.setenv(limits.VARIABLE, "50")
    monkeypatch.setenv(limits.VARIABLE, "many")
    with pytest.raises(InputError, match="GLSL_INFER_MAX_WEIGHTS=many; give megabytes"):
        load(sound)


@pytest.mark.parametrize("where", ["a link", "a file of numbers", "a virtual one"])
def test_weights_linked_to_other_files_are_refused(sound: Path, tmp_path: Path, where: str) -> None:
    def change(members: dict[str, bytes]) -> None:
        file = io.BytesIO(members["model.weights.h5"])
        with h5py.File(file, "a") as root:
            if where == "a link":
                root["x"] = h5py.ExternalLink("/etc/passwd", "/")
            elif where == "a file of numbers":
                root.create_dataset("x", (10,), "u1", external=[("/etc/passwd", 0, 10)])
            else:
                layout = h5py.VirtualLayout((4,), "f4")
                layout[:] = h5py.VirtualSource("other.h5", "y", (4,))
                root.create_virtual_dataset("x", layout)
        members["model.weights.h5"] = file.getvalue()

    with pytest.raises(ModelError, match=r"is a link to another place|are in another file"):
        load(rewritten(sound, tmp_path / "x.keras", change))


def test_a_member_that_is_there_twice(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.keras"
    shutil.copy(sound, path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("config.json", "{}")
    with pytest.raises(ModelError, match="has a member twice"):
        load(path)


def test_code_in_hdf5_files_is_refused(tmp_path: Path) -> None:
    image = keras.Input((4,))
    model = keras.Model(image, layers.Lambda(lambda x: x, name="code")(image))
    path = tmp_path / "x.h5"
    model.save(path)
    with pytest.raises(ModelError, match="holds a Lambda, which executes code of the file; nothing of it was loaded"):
        load(path)


@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "1 of 108 are NaN and 0 are"), (-np.inf, "0 of 108 are NaN and 1")]
)
def test_infinite_and_nan_weights_are_refused(tmp_path: Path, value: float, message: str) -> None:
    image = keras.Input((8, 8, 3), name="image")
    model = keras.Model(image, layers.Dense(2)(layers.Flatten()(layers.Conv2D(4, 3, name="stem")(image))))
    kernel, bias = model.get_layer("stem").get_weights()
    kernel[1, 1, 1, 1] = value
    model.get_layer("stem").set_weights([kernel, bias])
    model.save(tmp_path / "x.keras")
    with pytest.raises(ModelError, match=f"layer 'stem': weights 'kernel' of which {message}"):
        load(tmp_path / "x.keras")


@pytest.mark.parametrize(("version", "safe"), [("3.8.0", False), ("2.15.0", False), ("3.9.0", True), ("3.15.1", True)])
def test_keras_versions_that_execute_loaded_code_are_refused(version: str, safe: bool) -> None:
    if safe:
        installed.require_version(version)
        return
    with pytest.raises(InputError, match=f"Keras {version} can be made to execute code.*pip install"):
        installed.require_version(version)


def test_files_of_weights_and_unbuilt_models_are_refused(sound: Path, tmp_path: Path) -> None:
    keras.models.load_model(sound).save_weights(tmp_path / "x.weights.h5")
    with pytest.raises(ModelError, match="weights without a model; load them into the model where it was made"):
        load(tmp_path / "x.weights.h5")
    with pytest.warns(UserWarning, match="not yet been built"):
        keras.Sequential([layers.Conv2D(4, 3)]).save(tmp_path / "open.keras")
    with pytest.raises(ModelError, match=r"has no input shape; let keras.Input"):
        survey(tmp_path / "open.keras")
