"""Initial inputs of runs: weights of another model, a teacher, several data sets, a preview, an activation."""

import keras
import numpy as np
import pytest
from commands import history, run
from conftest import picture
from PIL import Image

from training import augmentation
from training.models import ACTIVATIONS, x22
from training.trainee import Trainee
from training.variation import PicturesOnDevice

pytestmark = pytest.mark.exhaustive

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
            for number in range(3):
                path = tmp_path / "grey" / split / label / f"{number}.png"
                picture(path, (shade, shade, shade), 7000 + 100 * len(split) + shade + number)
    (tmp_path / "grey" / "train" / "dark" / "torn.png").write_bytes(b"\x89PNG")
    (tmp_path / "grey" / "val" / "light" / "empty.png").write_bytes(b"")
    return image_folder, tmp_path / "grey"


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
    assert "torn.png" in output.err and "empty.png" in output.err and "reading 25 + 16 pictures" in output.out
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    assert model.output.shape == (None, 5)
    assert model.get_layer("b0-conv-act").activation is keras.activations.hard_sigmoid
    taken = 0
    saved = {variable.path: variable for variable in other.trainable_variables}
    for variable in model.trainable_variables:
        same_shape = variable.path in saved and saved[variable.path].shape == variable.shape
        assert same_shape == (not variable.path.startswith(("Dense/", "b2-conv"))), variable.path
        if same_shape:
            taken += 1
            assert np.allclose(variable, saved[variable.path], atol=1e-6), variable.path
    assert f"other.keras: {taken} of {len(model.trainable_variables)} weights taken over" in output.out
    with Image.open(sheet) as opened:
        assert opened.size == (8 * 17, 6 * 17)


def test_a_teacher_of_another_size(image_folder, still, tmp_path):
    keras.utils.set_random_seed(1)
    teacher = x22(33, 3, stages=1, width=0.25)
    teacher.get_layer("Dense").set_weights([np.zeros((8, 3)), np.array([0.0, 4.0, 0.0])])
    teacher.save(tmp_path / "teacher.keras")
    before = [np.asarray(one) for one in teacher.weights]
    (tmp_path / "learn.yaml").write_text(
        "optimizer: {rate: 0.05}\nschedule: {warmup: 0}\ndistillation: {weight: 1, temperature: 1}\n"
        "phases: [{epochs: 10}]\nvalidate_every: 10\n"
    )
    arguments = ["--recipe", tmp_path / "learn.yaml", "--teacher", tmp_path / "teacher.keras"]
    assert run(image_folder, tmp_path / "run", *arguments) == 0
    model = keras.saving.load_model(tmp_path / "run" / "model.keras")
    x = np.random.default_rng(0).random((8, 17, 17, 3), np.float32)
    assert (np.asarray(model(x)).argmax(axis=1) == 1).all(), "nothing but the teacher's opinion was learnt"
    assert history(tmp_path / "run")[-1]["loss"] < 0.5 * history(tmp_path / "run")[0]["loss"]
    assert all(np.array_equal(a, b) for a, b in zip(before, teacher.weights))


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
    before = [np.asarray(one) for one in network.trainable_variables]
    draws = augmentation.packed(augmentation.plain(8))
    for _ in range(2):
        loss = trainee.train_on_batch(draws, np.eye(3, dtype=np.float32)[np.arange(8) % 3])
    assert np.isfinite(loss)
    still = [v.path for v, old in zip(network.trainable_variables, before) if np.array_equal(v, old)]
    assert not [path for path in still if not path.endswith("-bn/beta")], still
