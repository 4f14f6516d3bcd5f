"""train.py, in-process, with the smallest network on a few generated pictures."""

import json
import subprocess
import sys
import zipfile
from argparse import Namespace

import numpy as np
import pytest

from training import train
from training.run_folder import RunFolder

ARGUMENTS = ["--stages=1", "--input-size=17", "--width=0.25", "--epochs=2", "--batch=8", "--seed=3"]


def run(data, out, *more):
    return train.main(["--data", str(data), "--out", str(out), *ARGUMENTS, *more])


def history(out):
    return [
        {k: v for k, v in entry.items() if k != "seconds"} for entry in json.loads((out / "history.json").read_text())
    ]


@pytest.fixture(scope="module")
def finished(image_folder, tmp_path_factory):
    """An uninterrupted run."""
    out = tmp_path_factory.mktemp("runs") / "finished"
    assert run(image_folder, out) == 0
    return out


def same(first, second):
    assert [entry["epoch"] for entry in first] == [entry["epoch"] for entry in second]
    for a, b in zip(first, second):
        assert a == pytest.approx(b, abs=1e-4)


def test_files(finished):
    expected = {"model.keras", "last.keras", "checkpoint.keras", "history.json", "config.json", "labels.txt"}
    assert {path.name for path in finished.iterdir()} == expected
    assert (finished / "labels.txt").read_text() == "blue\ngreen\nred\n"
    assert json.loads((finished / "config.json").read_text())["input_size"] == "17"


def test_history(finished):
    entries = json.loads((finished / "history.json").read_text())
    assert [entry["epoch"] for entry in entries] == [1, 2]
    for entry in entries:
        assert set(entry) == {"epoch", "loss", "accuracy", "val_loss", "val_accuracy", "seconds"}
        assert 0 <= entry["val_accuracy"] <= 1 and entry["val_loss"] > 0


def test_exported_model_needs_only_the_engine(finished):
    script = (
        "import sys, keras, glsl_infer.importers.keras_layers\n"
        f"model = keras.saving.load_model({str(finished / 'model.keras')!r})\n"
        "assert 'training' not in sys.modules\n"
        "kinds = {type(layer) for layer in model.layers if 'Conv' in type(layer).__name__}\n"
        "assert kinds == {keras.layers.Conv2D}, kinds\n"
        "assert model.input.shape == (None, 17, 17, 3) and model.output.shape == (None, 3)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    with zipfile.ZipFile(finished / "last.keras") as archive:
        assert b"glsl_infer_training" not in archive.read("config.json")


def test_a_second_start_is_refused(finished, image_folder, capsys):
    before = {path: path.read_bytes() for path in finished.iterdir()}
    assert run(image_folder, finished) == 2
    assert "--resume" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in finished.iterdir()}


def test_resume_with_other_arguments_is_refused(finished, image_folder, capsys):
    assert run(image_folder, finished, "--resume", "--rate", "0.5") == 2
    assert "rate 0.003 -> 0.5" in capsys.readouterr().err


def test_resume_of_nothing_is_refused(tmp_path, image_folder, capsys):
    assert run(image_folder, tmp_path / "nowhere", "--resume") == 2
    assert "no run to resume" in capsys.readouterr().err


def test_resume_of_a_finished_run_changes_nothing(finished, image_folder, capsys):
    before = history(finished)
    assert run(image_folder, finished, "--resume") == 0
    assert history(finished) == before
    assert "best: epoch" in capsys.readouterr().out


def test_resumed_is_as_good_as_uninterrupted(finished, image_folder, tmp_path, monkeypatch):
    """Interrupted in the second epoch, at the worst moment: its files are written and not yet renamed."""
    out = tmp_path / "run"
    rename = RunFolder._rename

    def interrupt(self, name):
        if (out / "history.json").exists() and len(history(out)) == 1:
            raise KeyboardInterrupt
        rename(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "_rename", interrupt)
        assert run(image_folder, out) == 130
    assert len(history(out)) == 1
    assert run(image_folder, out, "--resume") == 0
    same(history(finished), history(out))


def test_interrupted_in_the_first_epoch(finished, image_folder, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train, "recalibrate", interrupt)
        assert run(image_folder, tmp_path / "run") == 130
    assert run(image_folder, tmp_path / "run", "--resume") == 0
    same(history(finished), history(tmp_path / "run"))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--input-size", "18"], "input_size=18"),
        (["--width", "0.3"], "width=0.3"),
        (["--data", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_bad_arguments_are_one_line(image_folder, tmp_path, capsys, arguments, message):
    assert run(image_folder, tmp_path / "run", *arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--epochs", "--batch"])
def test_counts_are_positive(image_folder, tmp_path, capsys, option):
    with pytest.raises(SystemExit) as stopped:
        run(image_folder, tmp_path, option, "0")
    assert stopped.value.code == 2
    assert "0 is no whole number of at least 1" in capsys.readouterr().err


def test_every_epoch_shows_all_pictures_in_another_order():
    images = np.arange(12, dtype=np.uint8)[:, None, None, None] * np.full((1, 5, 5, 3), 20, np.uint8)
    labels = np.arange(12) % 3
    batches = train.AugmentedBatches(images, labels, 3, Namespace(input_size=5, batch=4, any_way_up=False, seed=1))
    orders = []
    for epoch in (0, 1, 0):
        batches.epoch = epoch
        pairs = [batches[index] for index in range(len(batches))]
        assert all(x.shape == (4, 5, 5, 3) and x.dtype == np.float32 for x, _ in pairs)
        one_hot = np.concatenate([y for _, y in pairs])
        assert one_hot.sum(axis=0).tolist() == [4, 4, 4] and set(one_hot.max(axis=1)) == {1}
        means = np.concatenate([x.mean(axis=(1, 2, 3)) for x, _ in pairs])
        assert np.corrcoef(np.sort(means), np.arange(12))[0, 1] > 0.9
        orders.append(means.tolist())
    assert orders[0] == orders[2] != orders[1]
    assert np.argsort(orders[0]).tolist() != np.argsort(orders[1]).tolist()
