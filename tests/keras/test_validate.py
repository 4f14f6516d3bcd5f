"""glsl-infer validate: a bundle compared with its Keras model. Mesa runs in a separate process."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from PIL import Image
from planted_modules import executed, plant

from glsl_infer import bundle
from glsl_infer.cli import main
from glsl_infer.graph import reference
from glsl_infer.importers.keras import tensors_of, to_graph
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.validate.job import computed_nodes
from training.models import x22


def run(*arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a separate process, optionally in another folder."""
    command = module_command("glsl_infer", *arguments)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def export(*arguments: object) -> None:
    """Export in this process, which has loaded TensorFlow."""
    assert main(["export", *(str(word) for word in arguments)]) == 0


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one-line error message. On a busy machine, progress lines precede it."""
    *before, message = done.stderr.splitlines()
    assert message.startswith("error: ") and all(line.endswith(" so far)") for line in before), done.stderr
    return message.removeprefix("error: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("validate")
    keras.utils.set_random_seed(3)
    x22(33, 4, stages=2, width=1).save(path / "model.keras")
    (path / "labels.txt").write_text("a\nb\nc\nd\n")
    (path / "photos").mkdir()
    for seed in range(6):
        pixels = np.random.default_rng(seed).integers(0, 256, (40, 40, 3), np.uint8)
        Image.fromarray(pixels).save(path / f"photos/{seed}.png")
    export(path / "model.keras", "-o", path / "m.glslnn", "--labels", path / "labels.txt")
    return path


@pytest.mark.exhaustive
def test_a_bundle_of_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    x22(49, 4, stages=2, width=1).save(tmp_path / "other.keras")
    done = run("validate", tmp_path / "other.keras", folder / "m.glslnn", "--data", folder / "photos")
    assert done.returncode == 2
    assert error_of(done) == (
        "the model reads 49x49x3 as 'image', and the exported model 33x33x3; give the model that it was made from"
    )


@pytest.mark.exhaustive
def test_a_bundle_agrees_with_its_model_layer_by_layer(folder: Path, tmp_path: Path) -> None:
    """Run in a folder with malicious modules, none of which is executed."""
    report = folder / "report.html"
    done = run("validate", folder / "model.keras", folder / "m.glslnn", "--data", folder / "photos", "--json",
               "--layer-pictures", 2, "--limit", 5, "--report", report, "--min-layer-cosine", 0.999,
               folder=plant(tmp_path))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert executed(tmp_path) == []
    result = json.loads(done.stdout)
    assert (result["pictures"], result["skipped"], result["failures"]) == (5, 0, [])
    assert result["outputs"][0]["pictures"] == 5
    assert result["outputs"][0]["cosine"] > 0.999
    layers = {layer["layer"]: layer for layer in result["layers"]}
    convolutions = [layer.name for layer in bundle.read(folder / "m.glslnn").network.layers if layer.op == "conv2d"]
    assert set(convolutions) <= set(layers)
    assert layers["b0-conv"]["computes"] == "b0-conv-act"
    assert all(layer["pictures"] == 2 for layer in layers.values())
    assert all(f">{name}<" in report.read_text() for name in layers)


def test_a_wrong_layer_is_named_and_the_exit_code_is_1(folder: Path) -> None:
    network = bundle.read(folder / "m.glslnn")
    members = dict(network.members)
    layer = "b1-stage1-pw"
    passes = network.manifest.passes
    (program, *_) = (program for program in network.manifest.programs
                     if any(draw.program == program.name and draw.layer == layer for draw in passes))  # fmt: skip
    text = members[program.fragment].decode()
    assert "gl_FragColor" in text
    members[program.fragment] = (
        text.replace("gl_FragColor =", "gl_FragColor = vec4(0.5, 1.0, 1.0, 1.0) *", 1)
    ).encode()
    changed = replace(network, members=members)
    import hashlib

    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    bundle.write(replace(changed, manifest=replace(network.manifest, members=hashes)), folder / "wrong.glslnn")
    done = run("validate", folder / "model.keras", folder / "wrong.glslnn", "--data", folder / "photos",
               "--min-layer-cosine", 0.999, "--limit", 3)  # fmt: skip
    assert done.returncode == 1
    failures = error_of(done).split("; ")
    assert next(failure for failure in failures if failure.startswith("layer")).startswith(f"layer '{layer}'")
    assert f"this driver computes something else (first in '{layer}'); run 'glsl-infer selfcheck'" in done.stdout


@pytest.mark.exhaustive
def test_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    x22(33, 3, stages=2, width=1).save(tmp_path / "other.keras")
    done = run("validate", tmp_path / "other.keras", folder / "m.glslnn", "--data", folder / "photos")
    assert done.returncode == 2
    assert "end in different shapes (3 and 4)" in error_of(done)


def validated(folder: Path, tmp_path: Path, model: keras.Model, labels: int = 0) -> dict[str, Any]:
    """Export a model and return the JSON result of ``validate``."""
    model.save(tmp_path / "model.keras")
    named = ["--labels", tmp_path / "labels.txt"] if labels else []
    (tmp_path / "labels.txt").write_text("".join(f"label {index}\n" for index in range(labels)))
    export(tmp_path / "model.keras", "-o", tmp_path / "m.glslnn", "--calibrate", folder / "photos", *named)
    done = run("validate", tmp_path / "model.keras", tmp_path / "m.glslnn", "--data", folder / "photos", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.exhaustive
def test_logits_that_are_a_map_of_one_pixel_of_a_grey_picture(folder: Path, tmp_path: Path) -> None:
    """The output tail of keras.applications.MobileNet, on (28, 28, 1) as in MNIST, from colour photographs."""
    keras.utils.set_random_seed(4)
    picture = keras.Input((28, 28, 1))
    x = keras.layers.Conv2D(8, 3, strides=2, activation="relu")(picture)
    x = keras.layers.GlobalAveragePooling2D(keepdims=True)(x)
    x = keras.layers.Conv2D(5, 1, name="preds")(x)
    x = keras.layers.Activation("softmax")(keras.layers.Reshape((5,))(x))
    result = validated(folder, tmp_path, keras.Model(picture, x), 5)
    assert result["outputs"][0]["cosine"] > 0.999 and result["outputs"][0]["top1"] == 1.0
    assert not result["outputs"][0]["softmax"]
    assert next(layer for layer in result["layers"] if layer["layer"] == "preds")["cosine"] > 0.999
    network = bundle.read(tmp_path / "m.glslnn")
    assert network.manifest.input.shape == (28, 28, 1)
    assert reference.run(network, np.zeros((28, 28, 1), np.uint8)).shape == (5,), "an array without a third axis"


@pytest.mark.exhaustive
def test_a_softmax_of_each_pixel(folder: Path, tmp_path: Path) -> None:
    """A bundle with several outputs computes each softmax itself, so probabilities are compared."""
    keras.utils.set_random_seed(5)
    picture = keras.Input((32, 32, 3))
    x = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(picture)
    inside = keras.layers.Conv2D(5, 1, activation="softmax", name="inside")(x)
    after = keras.layers.Softmax(name="after")(keras.layers.Conv2D(5, 1)(x))
    result = validated(folder, tmp_path, keras.Model(picture, {"inside": inside, "after": after}))
    assert {output["name"]: output["softmax"] for output in result["outputs"]} == {"inside": False, "after": False}
    assert all(output["cosine"] > 0.999 and "top1" not in output for output in result["outputs"])


def test_only_tensors_that_keras_has_are_compared() -> None:
    picture = keras.Input((8, 8, 3))
    x = keras.layers.Conv2D(4, 3, activation="relu", name="conv")(picture)
    x = keras.layers.GlobalAveragePooling2D(name="pool")(x)
    model = keras.Model(picture, keras.layers.Dense(2, activation="softmax", name="dense")(x))
    tensors, nodes = tensors_of(model), computed_nodes(to_graph(model))
    assert tensors[nodes["conv"]] is model.get_layer("conv").output
    assert nodes["dense"] not in tensors  # the logits are inside the layer


@pytest.mark.exhaustive
def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    """.npz files with an array for each input are used to export, calibrate and compare each output by name."""
    keras.utils.set_random_seed(6)
    picture, vector = keras.Input((24, 32, 1), name="picture"), keras.Input((5,), name="numbers")
    x = keras.layers.Conv2D(8, 3, strides=2, activation="relu")(picture)
    concatenated = keras.layers.Concatenate()([keras.layers.GlobalAveragePooling2D()(x), vector])
    outputs = {
        "kind": keras.layers.Dense(3, activation="softmax")(concatenated),
        "mask": keras.ops.argmax(keras.layers.Conv2D(3, 1)(x), axis=-1),
        "rows": keras.layers.Activation("sigmoid")(keras.layers.Reshape((-1, 2))(keras.layers.Conv2D(4, 1)(x))),
    }
    keras.Model([picture, vector], outputs).save(tmp_path / "model.keras")
    rng = np.random.default_rng(0)
    (tmp_path / "samples").mkdir()
    for index in range(3):
        pictures = rng.integers(0, 256, (2, 24, 32, 1), np.uint8)
        np.savez(tmp_path / f"samples/{index}.npz", picture=pictures, numbers=rng.normal(0, 1, (2, 5)))
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    export(tmp_path / "model.keras", "-o", tmp_path / "m.glslnn", "--labels", tmp_path / "labels.txt",
           "--calibrate", tmp_path / "samples", "--fit", "stretch", "--input-range", "picture=-1,1",
           "--input-range", "numbers=-5,5", "--purpose", "rows=values")  # fmt: skip
    manifest = bundle.read(tmp_path / "m.glslnn").manifest
    assert manifest.inputs[0].fit == "stretch/area-average"
    assert [(output.name, output.purpose) for output in manifest.outputs] == [
        ("kind", "classes"),
        ("mask", "mask"),
        ("rows", "values"),
    ]
    validate = ("validate", tmp_path / "model.keras", tmp_path / "m.glslnn", "--data", tmp_path / "samples")
    done = run(*validate, "--input-range", "picture=0,1")
    assert done.returncode == 2
    assert error_of(done) == (
        "--input-range=picture=0,1: the model was exported with --input-range=picture=-1,1; leave the option out"
    )
    done = run(*validate, "--json", "--min-top1", 0.8)  # the range is that of the export
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["pictures"] == 6
    by_name = {output["name"]: output for output in report["outputs"]}
    assert by_name["kind"]["cosine"] > 0.999 and by_name["rows"]["cosine"] > 0.999
    assert by_name["mask"]["same"] > 0.8
