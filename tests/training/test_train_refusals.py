"""Refusals of train.py: one line, exit code 2, and no files."""

import shutil

import keras
import pytest
from commands import run

from training.models import x22


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
        (["--preview", "sheet.doc"], "sheet.doc: no picture format"),
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
        ("--epochs", "0", "0 is no whole number of at least 1"),
        ("--batch", "0", "0 is no whole number of at least 1"),
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


def test_a_teacher_of_something_else_than_pictures(image_folder, tmp_path, capsys):
    inputs = keras.Input((7,))
    keras.Model(inputs, keras.layers.Dense(3)(inputs)).save(tmp_path / "teacher.keras")
    assert run(image_folder, tmp_path / "run", "--teacher", tmp_path / "teacher.keras") == 2
    assert "teacher.keras: a teacher reads (None, 7); it must read square pictures" in capsys.readouterr().err


def test_a_start_of_which_nothing_fits(image_folder, tmp_path, capsys):
    inputs = keras.Input((17, 17, 3))
    x = keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(4, 3, name="mine")(inputs))
    keras.Model(inputs, keras.layers.Dense(3, name="head")(x)).save(tmp_path / "start.keras")
    assert run(image_folder, tmp_path / "run", "--init", tmp_path / "start.keras") == 2
    assert "start.keras: no layer has the name and shape of one of this network's" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_data_given_twice(image_folder, tmp_path, capsys):
    assert run(image_folder, tmp_path / "run", "--data", image_folder) == 2
    assert "'blue' and 'blue'" in capsys.readouterr().err
