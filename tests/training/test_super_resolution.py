"""super_resolution.py and its parts: exact degradation, the network, a short run on generated images."""

import hashlib
import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.importers.keras.layers import DepthToSpace
from glsl_infer.runtime.pictures.preprocess import area_average
from training import crops, super_resolution
from training.stored import Range, StoredIn8Bits, calibrate, rounding
from training.super_resolution import Crops, network, psnr

ARGUMENTS = ["--steps=12", "--batch=4", "--crop=12", "--input-size=20", "--seed=3"]
FILES = {"scores.json", "model.keras"}
ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "models/superres-x2-96.keras"


def noise(*shape, seed=1):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def stripes(side=52, width=3, seed=0):
    """Return sharp slanted stripes, an image that bilinear enlargement blurs and a network restores."""
    rng = np.random.default_rng(seed)
    dark, light = rng.integers(0, 90, 3), rng.integers(165, 256, 3)
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    lit = ((x + (seed % 3) * y // 2) // width % 2).astype(bool)
    return np.where(lit[..., None], light, dark).astype(np.uint8)


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    root = tmp_path_factory.mktemp("photographs")
    for index in range(6):
        save(root / "set" / ("val" if index < 2 else "train") / "thing" / f"{index}.png", stripes(seed=index))
    return root


# --- pairs of images


def test_halving_is_the_area_average_in_bytes():
    picture = noise(10, 10, 3)
    small = crops.halve(picture)
    assert small.dtype == np.uint8 and np.array_equal(small, area_average(picture, 5))
    for y, x, channel in [(0, 0, 0), (4, 2, 1), (3, 4, 2)]:
        block = picture[2 * y : 2 * y + 2, 2 * x : 2 * x + 2, channel].astype(int)
        assert small[y, x, channel] == int(block.sum() / 4 + 0.5)


def test_halves_round_up():
    assert crops.halve(np.array([[[0], [1]], [[0], [1]]], np.uint8)).item() == 1
    assert crops.halve(np.full((2, 2, 1), 255, np.uint8)).item() == 255


def test_a_batch_is_crops_and_their_halves():
    picture = noise(30, 22, 3)
    small, sharp = crops.batch([picture], 8, 40, np.random.default_rng(2))
    assert small.shape == (40, 4, 4, 3) and sharp.shape == (40, 8, 8, 3) and sharp.dtype == np.uint8
    assert np.array_equal(small, crops.halve(sharp))
    windows = np.lib.stride_tricks.sliding_window_view(picture, (8, 8), (0, 1)).transpose(0, 1, 3, 4, 2)
    orientations = set()
    for crop in sharp:
        turned = [np.rot90(mirrored, quarters) for mirrored in (crop, crop[:, ::-1]) for quarters in range(4)]
        results = [
            orientation for orientation, window in enumerate(turned) if (windows == window).all(axis=(2, 3, 4)).any()
        ]
        assert len(results) == 1
        orientations.update(results)
    assert orientations == set(range(8))


def test_batches_follow_from_seed_and_index():
    def draw(seed, index):
        return Crops([noise(40, 40, 3)], 8, 3, 5, seed)[index][1]

    assert np.array_equal(draw(1, 2), draw(1, 2))
    assert not np.array_equal(draw(1, 2), draw(1, 3)) and not np.array_equal(draw(1, 2), draw(2, 2))
    later = Crops([noise(40, 40, 3)], 8, 3, 5, 1)
    later.first = 2
    assert np.array_equal(later[0][1], draw(1, 2)), "a second part goes on where the first ended"


def test_large_pictures_are_halved_first_and_small_ones_left_out(tmp_path):
    for name, shape in (("large", (33, 41, 3)), ("fitting", (16, 31, 3)), ("small", (15, 60, 3))):
        save(tmp_path / f"{name}.png", noise(*shape))
    large, fitting = crops.read([tmp_path / f"{name}.png" for name in ("large", "fitting", "small")], 16)
    assert np.array_equal(large, crops.halve(noise(33, 41, 3)[:32, :40]))
    assert np.array_equal(fitting, noise(16, 31, 3)[:, :30])
    with pytest.raises(InputError, match="none of the 1 images is at least 16"):
        crops.read([tmp_path / "small.png"], 16)


def test_folders_decide_the_split(tmp_path):
    for name in ("a/train/x/1.png", "a/val/1.png", "b/test/train/2.png", "b/test/3.JPG", "b/val/notes.txt"):
        save(tmp_path / name, noise(4, 4, 3)) if not name.endswith("txt") else (tmp_path / "b/val").mkdir()
    result = crops.find(tmp_path)
    assert {split: [path.relative_to(tmp_path).as_posix() for path in paths] for split, paths in result.items()} == {
        "train": ["a/train/x/1.png", "b/test/train/2.png"],
        "val": ["a/val/1.png"],
        "test": ["b/test/3.JPG"],
    }


def test_loose_pictures_are_split_by_name(tmp_path):
    for index in range(40):
        save(tmp_path / "any" / f"{index}.png", noise(2, 2, 3))
    before = crops.find(tmp_path)
    assert len(before["train"]) > len(before["val"]) > 0 and sum(map(len, before.values())) == 40
    save(tmp_path / "any" / "new.png", noise(2, 2, 3))
    after = crops.find(tmp_path)
    assert all(set(before[split]) <= set(after[split]) for split in before)


def test_links_are_followed_but_not_in_circles(photographs, tmp_path):
    (tmp_path / "linked").symlink_to(photographs / "set")
    (tmp_path / "back").symlink_to(tmp_path)
    assert {split: len(paths) for split, paths in crops.find(tmp_path).items()} == {"train": 4, "val": 2, "test": 0}


# --- depth to space


@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space_equals_a_loop(block):
    x = np.random.default_rng(4).normal(size=(2, 3, 4, 2 * block * block)).astype(np.float32)
    expected = np.empty((2, 3 * block, 4 * block, 2), np.float32)
    for y, column, i, j, channel in np.ndindex(3, 4, block, block, 2):
        expected[:, y * block + i, column * block + j, channel] = x[:, y, column, (i * block + j) * 2 + channel]
    assert np.array_equal(np.asarray(DepthToSpace(block)(x)), expected)


def test_depth_to_space_equals_tensorflow():
    x = np.random.default_rng(5).normal(size=(2, 5, 3, 12)).astype(np.float32)
    assert np.array_equal(np.asarray(DepthToSpace(2)(x)), tf.nn.depth_to_space(x, 2).numpy())


def test_depth_to_space_keeps_its_configuration():
    layer = DepthToSpace(3, name="spread")
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert isinstance(copy, DepthToSpace) and copy.block_size == 3 and copy.name == "spread"
    assert layer(keras.Input((None, 5, 18))).shape == (None, None, 15, 2)


def test_depth_to_space_refuses_channels_that_do_not_fit():
    with pytest.raises(ValueError, match="10 channels: needs a multiple of 4"):
        DepthToSpace(2)(keras.Input((4, 4, 10)))


# --- the network


def test_shapes_and_limits_of_the_engine():
    model = network(24)
    assert model.input.shape == (None, 24, 24, 3) and model.output.shape == (None, 48, 48, 3)
    convs = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    assert all(conv.padding == "same" and conv.kernel.shape[2] <= 32 and conv.filters % 4 == 0 for conv in convs)
    macs = sum(int(np.prod(conv.kernel.shape)) for conv in convs)
    assert 10_000 <= macs <= 20_000
    assert network((6, 8)).output.shape == (None, 12, 16, 3)


def test_untrained_it_is_the_bilinear_filter():
    small = noise(1, 9, 7, 3)
    expected = np.asarray(Image.fromarray(small[0]).resize((14, 18), Image.Resampling.BILINEAR)).astype(float)
    result = np.asarray(network((9, 7))(small / np.float32(255.0)))[0] * 255
    assert np.abs(result - expected).max() < 1.01  # Pillow rounds after each of its two directions


def test_the_result_is_a_picture():
    model = network(8)
    bias = np.where(np.arange(12) % 2, 5.0, -5.0).astype(np.float32)
    model.get_layer("residual").bias.assign(bias)
    result = np.asarray(model(noise(1, 8, 8, 3) / np.float32(255.0)))
    assert result.min() == 0.0 and result.max() == 1.0


@pytest.mark.exhaustive
def test_a_few_steps_lower_the_loss():
    keras.utils.set_random_seed(1)
    model = network(12)
    model.compile(keras.optimizers.Adam(2e-3), "mae")
    batches = Crops([stripes(seed=seed) for seed in range(4)], 24, 4, 30, 1)
    before = model.evaluate(*batches[0], verbose=0)
    model.fit(batches, verbose=0, shuffle=False)
    assert model.evaluate(*batches[0], verbose=0) < 0.8 * before


# --- rounding to 8 bits


def test_storing_rounds_to_256_steps_of_which_one_is_zero():
    layer = StoredIn8Bits([-0.3, 0.5, 0.0], [0.7, 2.0, 0.0])
    x = np.random.default_rng(6).uniform(-0.3, 2.0, (4000, 3)).astype(np.float32)
    y = np.asarray(layer(x))
    for channel, (low, high) in enumerate([(-0.3, 0.7), (0.0, 2.0)]):
        step = (high - low) / 255
        inside = (x[:, channel] > low + step) & (x[:, channel] < high - step)
        assert np.abs(y - x)[inside, channel].max() <= 0.501 * step
        assert len(np.unique(y[:, channel])) <= 256
        assert low - step <= y[:, channel].min() and y[:, channel].max() <= high + step
    assert np.array_equal(np.asarray(layer(np.zeros((1, 3), np.float32))), np.zeros((1, 3)))


def test_storing_keeps_its_configuration():
    layer = StoredIn8Bits([0.0, -1.0], [1.0, 1.0])
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    x = np.random.default_rng(7).uniform(-1, 1, (5, 2)).astype(np.float32)
    assert np.array_equal(np.asarray(copy(x)), np.asarray(layer(x)))


def test_every_stored_tensor_is_calibrated_and_rounded():
    keras.utils.set_random_seed(2)
    model = network(8)
    kernel = model.get_layer("residual").kernel
    kernel.assign(np.random.default_rng(8).normal(0, 0.02, kernel.shape))
    x = noise(3, 8, 8, 3) / np.float32(255.0)
    ranges = calibrate(lambda stored: network(8, stored), model.get_weights(), x)
    convs = sum(isinstance(layer, keras.layers.Conv2D) for layer in model.layers)
    assert len(ranges) == convs + 2 and all(isinstance(range, Range) for range in ranges)
    rounded = network(8, rounding(ranges))
    rounded.set_weights(model.get_weights())
    difference = np.abs(np.asarray(rounded(x)) - np.asarray(model(x))).max()
    assert 0 < difference < 0.05


# --- the command


def test_psnr():
    picture = np.full((4, 4, 3), 100, np.uint8)
    rgb, luma = psnr(picture + np.array([0, 0, 10], np.uint8), picture)
    assert rgb == pytest.approx(10 * np.log10(255**2 / (100 / 3)))
    assert luma == pytest.approx(10 * np.log10(255**2 / 1.14**2))


@pytest.mark.exhaustive
def test_a_run(photographs, tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["--data", str(photographs), "--out", str(out), *ARGUMENTS]
    assert super_resolution.main(arguments) == 0
    assert {path.name for path in out.iterdir()} == FILES
    model = keras.saving.load_model(out / "model.keras")
    assert model.input.shape == (None, 20, 20, 3) and model.output.shape == (None, 40, 40, 3)
    scores = json.loads((out / "scores.json").read_text())
    assert set(scores) == {"val"} and set(scores["val"]) == {"network", "8 bits", "bicubic", "bilinear"}
    assert "\r" not in capsys.readouterr().out, "no progress bar in a log"
    assert super_resolution.main(arguments) == 2
    assert "holds a run already" in capsys.readouterr().err


def test_same_seed_same_weights(photographs, tmp_path):
    def weights(name, seed):
        out = tmp_path / name
        arguments = ["--data", str(photographs), "--out", str(out), *ARGUMENTS[:-1], f"--seed={seed}"]
        assert super_resolution.main(arguments) == 0
        return np.concatenate([w.ravel() for w in keras.saving.load_model(out / "model.keras").get_weights()])

    first = weights("first", 3)
    assert np.allclose(first, weights("again", 3), atol=1e-4) and not np.allclose(first, weights("other", 4), atol=1e-2)


@pytest.mark.parametrize("folder, message", [("nowhere", "no such folder"), ("", "no images in the train split")])
def test_bad_data_is_one_line(tmp_path, capsys, folder, message):
    assert super_resolution.main(["--data", str(tmp_path / folder), "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_pictures_that_cannot_be_read(photographs, tmp_path, capsys):
    shutil.copytree(photographs, tmp_path / "set")
    (tmp_path / "set" / "set" / "train" / "thing" / "torn.png").write_bytes(b"\x89PNG")
    arguments = ["--data", str(tmp_path / "set"), "--out", str(tmp_path / "run"), *ARGUMENTS]
    assert super_resolution.main([*arguments, "--strict"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: 1 of 5 images cannot be read:\n") and "torn.png" in error
    assert not (tmp_path / "run").exists()
    assert super_resolution.main(arguments) == 0
    assert "torn.png" in capsys.readouterr().err


def test_counts_are_positive(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        super_resolution.main(["--data", str(tmp_path), "--out", str(tmp_path / "run"), "--steps", "0"])
    assert stopped.value.code == 2 and "0 is not a whole number of at least 1" in capsys.readouterr().err


# --- the trained network in models/


@pytest.mark.exhaustive
def test_the_shipped_network_is_this_one_and_beats_bicubic():
    shipped = keras.saving.load_model(SHIPPED)
    assert shipped.input.shape == (None, 96, 96, 3)
    photographs = crops.read(sorted((ROOT / "docs/images").glob("*.jpg")), 64)  # from trashnet's test split
    any_range = Range(np.zeros(1, np.float32), np.ones(1, np.float32))  # the test ignores the rounded network
    scores = super_resolution.measure(photographs, shipped.get_weights(), [any_range] * 6)
    for network_, bicubic in zip(scores["network"], scores["bicubic"]):
        assert network_ > bicubic + 1.0


def test_the_card_names_the_file():
    card = SHIPPED.with_suffix(".md").read_text("utf-8")
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() in card
