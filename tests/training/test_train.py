"""A run of train.py from the command line to its folder: files, messages, and a network that has learnt."""

import json
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
from commands import SMALLEST, history, run
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training import data
from training.recipe import Recipe

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
    done = subprocess.run([sys.executable, *command, *SMALLEST], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out, done


def test_files(finished):
    out, _ = finished
    expected = {"model.keras", "state.npz", "history.json", "config.json", "labels.txt", "recipe.yaml", "logs"}
    assert {path.name for path in out.iterdir()} == expected
    assert (out / "labels.txt").read_text() == "blue\ngreen\nred\n"
    config = json.loads((out / "config.json").read_text())
    assert (config["input_size"], config["width"], config["backend"]) == ("17", "0.25", "tensorflow")
    assert Recipe.read(out / "recipe.yaml") == Recipe.parse(RECIPE, "").changed(batch=8, seed=3)


def test_it_learns(finished, image_folder):
    out, _ = finished
    last = history(out)[-1]
    assert last["val_accuracy"] == last["val_accuracy_average"] == 1.0
    assert last["loss"] < 0.7 * history(out)[0]["loss"]
    model = keras.saving.load_model(out / "model.keras")
    test = data.read(data.find(image_folder).splits["test"], 17)
    logits = np.asarray(model(test.pixels / np.float32(255), training=False))
    assert logits.argmax(axis=1).tolist() == test.labels.tolist()


def test_what_is_said(finished):
    _, done = finished
    lines = done.stdout.splitlines()
    assert lines[0] == "reading 18 + 9 pictures"
    assert [line.split()[1] for line in lines[1:-1]] == ["5/20", "10/20", "15/20", "20/20"]
    assert re.fullmatch(r"best: .*, epoch \d+, val accuracy 100.00 % -> .*model.keras", lines[-1])


def test_no_progress_bar_where_stderr_is_no_terminal(finished):
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

    assert values("train/loss") == [(entry["epoch"], pytest.approx(entry["loss"])) for entry in history(out)]
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
    for found, entry in zip(history(out), before):
        assert found == pytest.approx(entry, abs=1e-5)
    assert "val accuracy 100.00 %" in capsys.readouterr().out
