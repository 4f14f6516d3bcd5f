"""Runs of train.py from the command line to their folders: files, messages, initial weights, and refusals."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
from command_line import run_python
from commands import SMALLEST, history, run
from conftest import picture
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training import augmentation, data
from training.models import ACTIVATIONS, x22
from training.recipe import Recipe
from training.trainee import Trainee
from training.variation import PicturesOnDevice

RECIPE = """
schedule: {warmup: 0}
optimizer: {rate: 0.02}
label_smoothing: 0
average: {best: 2, ema: 0.5}
augmentation: {hue: 5, saturation: 0.1, cutout: {share: 0.3}}
phases:
  - {epochs: 15}
  - {epochs: 5, quantized: true, mixing: false}
validate_every: 5
"""


@pytest.fixture(scope="module")
def finished(image_folder, tmp_path_factory):
    """Return a complete run and its output."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "recipe.yaml").write_text(RECIPE)
    out = folder / "one"
    command = ["-m", "training.train", "--data", image_folder, "--out", out, "--recipe", folder / "recipe.yaml"]
    done = run_python(*command, *SMALLEST)
    assert done.returncode == 0, done.stderr
    return out, done


def test_a_finished_run_has_its_files(finished):
    out, _ = finished
    expected = {"model.keras", "state.npz", "history.json", "config.json", "labels.txt", "recipe.yaml", "logs"}
    assert {path.name for path in out.iterdir()} == expected
    assert (out / "labels.txt").read_text() == "blue\ngreen\nred\n"
    config = json.loads((out / "config.json").read_text())
    assert (config["input_size"], config["width"], config["backend"]) == ("17", "0.25", "tensorflow")
    assert Recipe.read(out / "recipe.yaml") == Recipe.parse(RECIPE, "").changed(batch=8, seed=3)


def test_training_reaches_full_accuracy(finished, image_folder):
    out, _ = finished
    last = history(out)[-1]
    assert last["val_accuracy"] == last["val_accuracy_average"] == 1.0
    assert last["loss"] < 0.7 * history(out)[0]["loss"]
    model = keras.saving.load_model(out / "model.keras")
    test = data.read(data.find(image_folder).splits["test"], 17)
    logits = np.asarray(model(test.pixels / np.float32(255), training=False))
    assert logits.argmax(axis=1).tolist() == test.labels.tolist()


def test_training_prints_its_steps(finished):
    _, done = finished
    lines = done.stdout.splitlines()
    assert lines[0] == "reading 18 + 9 images"
    assert [line.split()[1] for line in lines[1:-1]] == ["5/20", "10/20", "15/20", "20/20"]
    assert re.fullmatch(r"best: .*, epoch \d+, val accuracy 100.00 % -> .*model.keras", lines[-1])


def test_without_a_terminal_no_progress_bar_is_printed(finished):
    _, done = finished
    assert "\r" not in done.stdout + done.stderr and "%|" not in done.stderr


def test_tensorboard(finished):
    out, _ = finished
    events = EventAccumulator(str(out / "logs"), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    scalars = events.Tags()["scalars"] or events.Tags()["tensors"]
    assert {"train/loss", "train/accuracy", "train/rate", "val/loss", "val/accuracy of the average"} <= set(scalars)

    def values(tag):
        if tag in events.Tags()["scalars"]:
            return [(event.step, event.value) for event in events.Scalars(tag)]
        return [(event.step, event.tensor_proto.float_val[0]) for event in events.Tensors(tag)]

    assert values("train/loss") == [(epoch["epoch"], pytest.approx(epoch["loss"])) for epoch in history(out)]
    assert [step for step, _ in values("val/accuracy")] == [5, 10, 15, 20]


def test_the_model_needs_only_the_engine(finished):
    script = (
        "import sys, keras, glsl_infer.importers.keras.layers\n"
        f"model = keras.saving.load_model({str(finished[0] / 'model.keras')!r})\n"
        "assert 'training' not in sys.modules\n"
        "kinds = {type(layer) for layer in model.layers if 'Conv' in type(layer).__name__}\n"
        "assert kinds == {keras.layers.Conv2D}, kinds\n"
        "assert model.input.shape == (None, 17, 17, 3) and model.output.shape == (None, 3)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# --- repeated runs


def test_a_second_start_is_refused(finished, image_folder, capsys):
    out, _ = finished
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert run(image_folder, out) == 2
    output = capsys.readouterr()
    assert "holds a run already; continue it with --resume" in output.err and "reading" not in output.out
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_resume_with_other_arguments_is_refused(finished, image_folder, capsys):
    out, _ = finished
    recipe = ("--recipe", out / "recipe.yaml", "--resume")
    assert run(image_folder, out, *recipe, "--input-size", 21) == 2
    assert "other arguments (input_size 17 -> 21)" in capsys.readouterr().err
    assert run(image_folder, out, *recipe, "--batch", 9) == 2
    assert "another recipe (batch: 8 -> batch: 9)" in capsys.readouterr().err
    assert run(image_folder, out, "--resume") == 2
    assert "give the same --recipe" in capsys.readouterr().err


def test_resume_of_a_finished_run(finished, image_folder, capsys):
    out, _ = finished
    before = history(out)
    assert run(image_folder, out, "--recipe", out / "recipe.yaml", "--resume") == 0
    for result, epoch in zip(history(out), before):
        assert result == pytest.approx(epoch, abs=1e-5)
    assert "val accuracy 100.00 %" in capsys.readouterr().out


STILL = "optimizer: {rate: 1.0e-12, weight_decay: 0}\nphases: [{epochs: 1}]\n"


@pytest.fixture
def still(tmp_path):
    """Return a recipe that changes no weight."""
    path = tmp_path / "still.yaml"
    path.write_text(STILL)
    return path


@pytest.fixture
def two_sets(image_folder, tmp_path):
    """Return a second data set: two shades of grey, and unreadable images."""
    for split in ("train", "val", "test"):
        for label, shade in (("light", 200), ("dark", 60)):
            for index in range(3):
                path = tmp_path / "grey" / split / label / f"{index}.png"
                picture(path, (shade, shade, shade), 7000 + 100 * len(split) + shade + index)
    (tmp_path / "grey" / "train" / "dark" / "torn.png").write_bytes(b"\x89PNG")
    (tmp_path / "grey" / "val" / "light" / "empty.png").write_bytes(b"")
    return image_folder, tmp_path / "grey"


@pytest.mark.exhaustive
def test_init_two_data_sets_bad_pictures_an_activation_and_a_preview(two_sets, still, tmp_path, capsys):
    other = x22(33, 3, stages=2, width=0.25)  # more classes and another size in the run
    other.save(tmp_path / "other.keras")
    arguments = [
        "--data",
        two_sets[1],
        "--recipe",
        still,
        "--init",
        tmp_path / "other.keras",
        "--activation",
        "hard_sigmoid",
    ]
    sheet = tmp_path / "sheets" / "sheet.png"
    assert run(two_sets[0], tmp_path / "run", *arguments, "--preview", sheet) == 0
    output = capsys.readouterr()
    assert (tmp_path / "run" / "labels.txt").read_text() == "blue\ngreen\nred\ndark\nlight\n"
    assert "other.keras: its weights were learnt with another --activation" in output.err
    assert "torn.png" in output.err and "empty.png" in output.err and "reading 25 + 16 images" in output.out
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    assert model.output.shape == (None, 5)
    assert model.get_layer("b0-conv-act").activation is keras.activations.hard_sigmoid
    matching = 0
    saved = {variable.path: variable for variable in other.trainable_variables}
    for variable in model.trainable_variables:
        same_shape = variable.path in saved and saved[variable.path].shape == variable.shape
        assert same_shape == (not variable.path.startswith(("Dense/", "b2-conv"))), variable.path
        if same_shape:
            matching += 1
            assert np.allclose(variable, saved[variable.path], atol=1e-6), variable.path
    assert f"other.keras: {matching} of {len(model.trainable_variables)} weights taken over" in output.out
    with Image.open(sheet) as opened:
        assert opened.size == (8 * 17, 6 * 17)


@pytest.mark.exhaustive
def test_a_teacher_of_another_size(image_folder, still, tmp_path):
    keras.utils.set_random_seed(1)
    teacher = x22(33, 3, stages=1, width=0.25)
    teacher.get_layer("Dense").set_weights([np.zeros((8, 3)), np.array([0.0, 4.0, 0.0])])
    teacher.save(tmp_path / "teacher.keras")
    before = [np.asarray(weight) for weight in teacher.weights]
    (tmp_path / "learn.yaml").write_text(
        "optimizer: {rate: 0.05}\nschedule: {warmup: 0}\ndistillation: {weight: 1, temperature: 1}\n"
        "phases: [{epochs: 10}]\nvalidate_every: 10\n"
    )
    arguments = ["--recipe", tmp_path / "learn.yaml", "--teacher", tmp_path / "teacher.keras"]
    assert run(image_folder, tmp_path / "run", *arguments) == 0
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    x = np.random.default_rng(0).random((8, 17, 17, 3), np.float32)
    assert (np.asarray(model(x)).argmax(axis=1) == 1).all(), "only the teacher's outputs were learnt"
    assert history(tmp_path / "run")[-1]["loss"] < 0.5 * history(tmp_path / "run")[0]["loss"]
    assert all(np.array_equal(a, b) for a, b in zip(before, teacher.weights))


@pytest.mark.exhaustive
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_trains(activation):
    """Two manual steps change all weights of the network that --activation builds.

    The first step is not enough: a batch norm initialised to 0 blocks the gradient of all layers before it.
    """
    keras.utils.set_random_seed(1)
    network = x22(17, 3, stages=1, width=0.25, activation=activation)
    pixels = np.random.default_rng(0).integers(0, 256, (8, 19, 19, 3), np.uint8)
    trainee = Trainee(PicturesOnDevice(pixels), network)
    trainee.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
    before = [np.asarray(variable) for variable in network.trainable_variables]
    draws = augmentation.packed(augmentation.plain(8))
    for _ in range(2):
        loss = trainee.train_on_batch(draws, np.eye(3, dtype=np.float32)[np.arange(8) % 3])
    assert np.isfinite(loss)
    still = [v.path for v, old in zip(network.trainable_variables, before) if np.array_equal(v, old)]
    assert not [path for path in still if not path.endswith("-bn/beta")], still


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--input-size", "18"], "input_size=18"),
        (["--width", "0.3"], "width=0.3"),
        (["--data", "nowhere"], "nowhere: no such folder"),
        (["--recipe", "nowhere.yaml"], "nowhere.yaml"),
        (["--seed", "-1"], "seed is -1; it must be a whole number from 0"),
        (["--resume"], "no run to resume here"),
        (["--init", "nowhere.keras"], "nowhere.keras: cannot be read as a Keras model"),
        (["--teacher", "nowhere.keras"], "nowhere.keras: cannot be read as a Keras model"),
        (["--preview", "sheet.doc"], "sheet.doc: no image format"),
    ],
)
def test_bad_arguments_are_one_line(image_folder, tmp_path, capsys, arguments, message):
    assert run(image_folder, tmp_path / "run", *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("--epochs", "0", "0 is not a whole number of at least 1"),
        ("--batch", "0", "0 is not a whole number of at least 1"),
        ("--activation", "tanh", "invalid choice: 'tanh'"),
        ("--model", "resnet", "invalid choice: 'resnet'"),
    ],
)
def test_options_that_cannot_be(image_folder, tmp_path, capsys, option, value, message):
    with pytest.raises(SystemExit) as stopped:
        run(image_folder, tmp_path / "run", option, value)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.fixture
def torn(image_folder, tmp_path):
    """Return a data set with two unreadable images."""
    shutil.copytree(image_folder, tmp_path / "set")
    (tmp_path / "set" / "train" / "red" / "torn.png").write_bytes(b"\x89PNG")
    (tmp_path / "set" / "val" / "blue" / "empty.png").write_bytes(b"")
    return tmp_path / "set"


def test_strict_stops_at_pictures_that_cannot_be_read(torn, tmp_path, capsys):
    assert run(torn, tmp_path / "run", "--strict") == 2
    assert "torn.png" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_teacher_of_other_classes(image_folder, tmp_path, capsys):
    x22(17, 5, stages=1, width=0.25).save(tmp_path / "teacher.keras")
    assert run(image_folder, tmp_path / "run", "--teacher", tmp_path / "teacher.keras") == 2
    assert "teacher.keras: a teacher of 5 classes; the data has 3" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_teacher_without_image_input_is_refused(image_folder, tmp_path, capsys):
    inputs = keras.Input((7,))
    keras.Model(inputs, keras.layers.Dense(3)(inputs)).save(tmp_path / "teacher.keras")
    assert run(image_folder, tmp_path / "run", "--teacher", tmp_path / "teacher.keras") == 2
    assert "teacher.keras: a teacher reads (None, 7); it must read square images" in capsys.readouterr().err


def test_initial_weights_without_a_matching_layer_are_refused(image_folder, tmp_path, capsys):
    inputs = keras.Input((17, 17, 3))
    x = keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(4, 3, name="mine")(inputs))
    keras.Model(inputs, keras.layers.Dense(3, name="head")(x)).save(tmp_path / "start.keras")
    assert run(image_folder, tmp_path / "run", "--init", tmp_path / "start.keras") == 2
    assert "start.keras: no layer has the name and shape of one of this network's" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_given_twice_is_refused(image_folder, tmp_path, capsys):
    assert run(image_folder, tmp_path / "run", "--data", image_folder) == 2
    assert "'blue' and 'blue'" in capsys.readouterr().err
