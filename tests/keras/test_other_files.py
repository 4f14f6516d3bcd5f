"""Models from other sources: modules of the user, custom objects, containers, and TensorFlow's converter."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
from command_line import Capture, refused

from glsl_infer import importers
from glsl_infer.cli import main
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import reference
from glsl_infer.importers import keras as importer
from glsl_infer.importers import keras as keras_importer

L = keras.layers
FILES = Path(__file__).with_name("keras2")

MODULE = """
import keras
from keras import layers as L, ops as K

@keras.saving.register_keras_serializable(package="mine")
class Gate(L.Layer):
    def build(self, shape):
        self.dense = L.Dense(shape[-1], activation="sigmoid")
        self.dense.build((None, shape[-1]))
        self.gain = self.add_weight((shape[-1],), "random_normal", name="gain")
    def call(self, x, training=None):
        weights = self.dense(K.mean(x, axis=(1, 2)))
        return self.gain * x * K.reshape(weights, (-1, 1, 1, x.shape[-1])) + 0.5

class Unregistered(Gate):
    pass

@keras.saving.register_keras_serializable(package="mine")
class Net(keras.Model):
    def __init__(self, **options):
        super().__init__(**options)
        self.conv, self.pool, self.dense = L.Conv2D(4, 3), L.GlobalAveragePooling2D(), L.Dense(3)
    def call(self, x):
        return self.dense(self.pool(self.conv(x)))

def functional(kind):
    x = keras.Input((8, 8, 3))
    y = kind(name="gate")(L.Conv2D(4, 3, activation="relu")(x))
    return keras.Model(x, L.Dense(3)(L.GlobalAveragePooling2D()(y)))

def subclassed():
    net = Net()
    net(K.zeros((1, 8, 8, 3)))
    return net
"""

PICTURE = np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Import a user's module; its registrations are dropped when a file is read without it."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_net_layers.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder), prepend=":")
        patch.setattr(importers.own_modules, "_remembered", [])
        import own_net_layers

        yield own_net_layers


@pytest.mark.parametrize("kind", ["Gate", "Unregistered"])
def test_a_layer_of_the_user_is_traced(module: Any, kind: str, tmp_path: Path) -> None:
    model = module.functional(getattr(module, kind))
    model.save(tmp_path / "m.keras")
    importers.own_modules.remember(["own_net_layers"])
    survey = importers.survey(tmp_path / "m.keras")
    expected = np.asarray(model(PICTURE[None] / np.float32(255)))[0]
    np.testing.assert_allclose(reference.run(survey.whole(), PICTURE, mode="float"), expected, rtol=0, atol=1e-5)
    assert {row.runs for row in survey.rows} == {"shader"}
    assert any(row.layer.startswith("gate/") for row in survey.rows)
    assert not survey.warnings


def test_a_module_that_is_not_there(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers.own_modules, "_remembered", [])
    arguments = ["inspect", FILES / "functional.keras", "--import", "no_such_module_here"]
    assert "--import no_such_module_here: the module cannot be imported" in refused(capsys, arguments)
    monkeypatch.setattr(importers.own_modules, "_remembered", [])
    assert "give the name of a Python module" in refused(capsys, [*arguments[:-1], "a b"])


@pytest.mark.slow
def test_a_subclassed_model_goes_through_tensorflows_converter(module: Any, tmp_path: Path) -> None:
    model = module.subclassed()
    model.save(tmp_path / "m.keras")
    importers.own_modules.remember(["own_net_layers"])
    survey = importers.survey(tmp_path / "m.keras")
    expected = np.asarray(model(PICTURE[None] / np.float32(255)))[0]
    np.testing.assert_allclose(reference.run(survey.whole(), PICTURE, mode="float"), expected, rtol=0, atol=1e-5)
    assert "converted the model to TensorFlow Lite, which names the layers, because" in survey.warnings[0]


@pytest.mark.exhaustive
def test_a_layer_without_an_entry_goes_through_tensorflows_converter(tmp_path: Path, capsys: Capture) -> None:
    x = keras.Input((8, 8, 3))
    y = L.Dense(3)(L.GlobalAveragePooling2D()(L.AutoContrast()(L.Conv2D(4, 3, activation="relu")(x))))
    model = keras.Model(x, y)
    model.save(tmp_path / "m.keras")
    assert main(["inspect", str(tmp_path / "m.keras"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["exports"]
    assert "because no entry reads AutoContrast" in report["warnings"][0]


@pytest.mark.slow
def test_a_saved_model_and_containers_of_its_conversion(tmp_path: Path, capsys: Capture) -> None:
    x = keras.Input((8, 8, 3))
    model = keras.Model(x, L.Dense(3)(L.GlobalAveragePooling2D()(L.Conv2D(4, 3, activation="relu")(x))))
    model.export(tmp_path / "saved", verbose=False)
    expected = np.asarray(model(PICTURE[None] / np.float32(255)))[0]
    survey = importers.survey(tmp_path / "saved")
    np.testing.assert_allclose(reference.run(survey.whole(), PICTURE, mode="float"), expected, rtol=0, atol=1e-5)
    assert "is a SavedModel: TensorFlow has converted it" in survey.warnings[0]
    assert importers.kind_of(tmp_path / "saved") == importers.kind_of(tmp_path / "saved/saved_model.pb") == "tflite"
    with pytest.raises(ModelError, match="SavedModel"):
        keras_importer.load_model(tmp_path / "saved")

    data = importers.plain_file(tmp_path / "saved/saved_model.pb", tmp_path).read_bytes()
    with zipfile.ZipFile(tmp_path / "two.task", "w") as task:
        task.writestr("a.tflite", data)
        task.writestr("b.tflite", data)
    with zipfile.ZipFile(tmp_path / "outer.task", "w") as task:
        task.write(tmp_path / "two.task", "inner.task")
    with zipfile.ZipFile(tmp_path / "one.task", "w") as task:
        task.writestr("only.tflite", data)
    for name in ("one.task", "two.task/b.tflite", "outer.task/inner.task/a.tflite"):
        assert importers.exists(tmp_path / name)
        result = reference.run(importers.survey(tmp_path / name).whole(), PICTURE, mode="float")
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5)
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "two.task"), "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    assert models == [str(tmp_path / "two.task" / name) for name in ("a.tflite", "b.tflite")]
    with pytest.raises(ModelError, match=r"two\.task/a\.tflite"):
        importers.survey(tmp_path / "two.task")
    with pytest.raises(ModelError, match=r"contains no 'c\.tflite'"):
        importers.survey(tmp_path / "two.task" / "c.tflite")


@pytest.mark.slow
def test_a_saved_model_that_reads_files_is_not_run(tmp_path: Path) -> None:
    import tensorflow as tf

    class Reader(tf.Module):  # type: ignore[misc, name-defined]
        @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32)])  # type: ignore[untyped-decorator]
        def serve(self, x: Any) -> Any:
            return x + tf.cast(tf.strings.length(tf.io.read_file("/etc/hostname")), tf.float32)

    reader = Reader()
    tf.saved_model.save(reader, str(tmp_path / "saved"), signatures=reader.serve)
    with pytest.raises(InputError, match=r"holds the operation ReadFile.*do not trust this model"):
        importers.survey(tmp_path / "saved")


@pytest.mark.slow
def test_the_default_signature_of_a_saved_model(tmp_path: Path) -> None:
    import tensorflow as tf

    class Two(tf.Module):  # type: ignore[misc, name-defined]
        @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32)])  # type: ignore[untyped-decorator]
        def serve(self, x: Any) -> Any:
            return 2.0 * x + 1.0

        @tf.function(input_signature=[tf.TensorSpec((None, 7), tf.float32)])  # type: ignore[untyped-decorator]
        def another(self, x: Any) -> Any:
            return tf.sigmoid(x)

    two = Two()
    tf.saved_model.save(two, str(tmp_path / "two"), signatures={"another": two.another, "serving_default": two.serve})
    graph = importers.survey(tmp_path / "two").whole()
    values = np.arange(4.0, dtype=np.float32)
    np.testing.assert_allclose(reference.run(graph, values, mode="float"), 2.0 * values + 1.0, rtol=0, atol=1e-6)
    tf.saved_model.save(two, str(tmp_path / "without"))
    with pytest.raises(InputError, match=r"a SavedModel without a signature.*signatures=FUNCTION"):
        importers.survey(tmp_path / "without")


def tfjs_of(name: str, folder: Path, *, quantized: bool = False) -> Path:
    """Return a model.json as TensorFlow's converter writes it for an .h5 file of Keras 2."""
    entries, data = [], b""
    with h5py.File(FILES / name) as root:
        config = json.loads(root.attrs["model_config"])
        for layer in root["model_weights"].attrs["layer_names"]:
            group = root["model_weights"][layer]
            for weight in group.attrs["weight_names"]:
                values = np.asarray(group[weight], np.float32)
                record: dict[str, Any] = {"name": weight.removesuffix(":0"), "shape": list(values.shape)}
                if quantized:
                    low, step = float(values.min()), float(np.ptp(values)) / 65535 or 1.0
                    record["quantization"] = {"dtype": "uint16", "min": low, "scale": step, "original_dtype": "float32"}
                    values = np.rint((values - low) / step).astype("<u2")
                entries.append({**record, "dtype": "float32"})
                data += values.tobytes()
    half = len(data) // 2
    (folder / "a.bin").write_bytes(data[:half])
    (folder / "b.bin").write_bytes(data[half:])
    topology = {"keras_version": "2.4.0", "backend": "tensorflow", "model_config": config}
    # TensorFlow's converter writes names; tf.LayersModel.save in a browser writes them with "./".
    manifest = [{"paths": ["a.bin", "./b.bin"], "weights": entries}]
    path = folder / "model.json"
    path.write_text(json.dumps({"format": "layers-model", "modelTopology": topology, "weightsManifest": manifest}))
    return path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("name", ["teachable_machine.h5", "bidirectional.h5"])
def test_a_layers_model_of_tensorflow_js(name: str, quantized: bool, tmp_path: Path) -> None:
    expected = np.load((FILES / name).with_suffix(".npz"))
    path = tfjs_of(name, tmp_path, quantized=quantized)
    values = np.asarray(keras_importer.load_model(path)(expected["x0"], training=False))
    np.testing.assert_allclose(values, expected["y0"], rtol=0, atol=1e-3 if quantized else 1e-6)
    assert not importers.survey(path).problems


def test_files_of_tensorflow_js_that_cannot_be_read(tmp_path: Path) -> None:
    path = tfjs_of("bidirectional.h5", tmp_path)
    report = json.loads(path.read_text())
    (tmp_path / "b.bin").unlink()
    with pytest.raises(ModelError, match=f"^{tmp_path}/b.bin: no such file; copy all files"):
        importers.survey(path)
    report["weightsManifest"][0]["paths"] = ["../a.bin"]
    path.write_text(json.dumps(report))
    with pytest.raises(ModelError, match=f"^{path}: its weights are in '../a.bin'; only files next to it are read"):
        importers.survey(path)
    path.write_text(json.dumps({"format": "graph-model", "modelTopology": {"node": []}, "weightsManifest": []}))
    with pytest.raises(ModelError, match=f"tfjs/bin/tfjs_graph_converter {tmp_path} saved_model"):
        importers.survey(path)
    path.write_text(json.dumps(report["modelTopology"]["model_config"]))
    with pytest.raises(ModelError, match="a network without weights"):
        importers.survey(path)
    path.write_text("[1]")
    with pytest.raises(ModelError, match=r"model\.json"):
        importers.survey(path)


L, K = keras.layers, keras.ops


class Trainer(keras.Model):
    """Model with a custom training step."""

    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


class Block(L.Layer):
    """Layer that adds channels, so an identity layer cannot replace it."""

    def build(self, shape: Any) -> None:
        self.inner = L.Conv2D(9, 1)
        self.inner.build(shape)

    def call(self, x: Any) -> Any:
        return self.inner(x)


def own_start(shape: Any, dtype: Any = None) -> Any:
    return K.ones(shape, dtype)


def own_function(x: Any) -> Any:
    return x * K.sigmoid(1.7 * x)


CUSTOM_OBJECTS = {f"mine>{own.__name__}": own for own in (Trainer, Block, own_start, own_function)}


def saved(model: keras.Model, path: Path) -> Path:
    """Save a model whose custom objects are registered only while it is saved."""
    objects, names = keras.saving.get_custom_objects(), keras.src.saving.object_registration.GLOBAL_CUSTOM_NAMES
    try:
        objects.update(CUSTOM_OBJECTS)
        names.update({own: name for name, own in CUSTOM_OBJECTS.items()})
        model.save(path / "model.keras")
    finally:
        for name, own in CUSTOM_OBJECTS.items():
            objects.pop(name), names.pop(own)
    return path / "model.keras"


def test_custom_training_steps_and_initializers_do_not_affect_the_import(tmp_path: Path) -> None:
    x = keras.Input((6, 5, 3))
    model = Trainer(x, L.Conv2D(4, 3, kernel_initializer=own_start)(x))
    picture = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)
    expected = np.asarray(model(picture[None] / np.float32(255)))[0]
    path = saved(model, tmp_path)
    (message,) = importer.survey(path).warnings
    assert "if its class mine>Trainer has a call of its own, that is missing" in message
    outputs = reference.run(importer.load(path), picture, mode="float")
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-5)


def test_a_custom_activation_is_named(tmp_path: Path) -> None:
    x = keras.Input((6, 5, 3))
    path = saved(keras.Model(x, L.Conv2D(4, 3, activation=own_function, name="conv")(x)), tmp_path)
    with pytest.raises(InputError, match="layer 'conv'"):
        importer.load(path)


def test_a_custom_layer_without_an_equivalent_is_named(tmp_path: Path) -> None:
    x = keras.Input((6, 5, 3))
    y = Block(name="block")(x)
    for head in (L.Conv2D(4, 3)(y), L.Add()([y, L.Conv2D(9, 1)(x)]), L.Reshape((10, 27))(y)):
        path = saved(keras.Model(x, head), tmp_path)
        with pytest.raises(InputError, match="layer 'block'"):
            importer.load(path)
