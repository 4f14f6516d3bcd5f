"""Scores of logits, those on the val split, and logits from separate processes."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny
from colour_classifier import SIZE, save_colours

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import build
from glsl_infer.errors import InputError, RunError
from glsl_infer.graph import reference
from glsl_infer.importers.keras import load
from glsl_infer.runtime.pictures.preprocess import load as load_picture
from training import logits, scores
from training.validation import Score, Validator, cross_entropy, whole_batches

LABELS = ["a", "b", "c"]
TRUTH = np.array([0, 0, 1, 2])
LOGITS = np.array([[3, 1, 0], [0, 2, 1], [0, 5, 1], [0, 2, 1]], np.float32)


def test_counts_and_confusion():
    score = scores.score(LOGITS, TRUTH)
    assert (score.pictures, score.right, score.in_five, score.coarse) == (4, 2, None, None)
    assert score.confusion.tolist() == [[1, 1, 0], [0, 1, 0], [0, 1, 0]]


def test_coarse_class_of_the_first_label():
    assert scores.score(LOGITS, TRUTH, ["x", "x", "y"]).coarse == 3
    assert scores.score(LOGITS, TRUTH, ["x", "y", "y"]).coarse == 3
    assert scores.score(LOGITS, TRUTH, ["x", "y", "z"]).coarse == 2


def test_top_5_keeps_the_order_of_equal_logits():
    logits = np.zeros((7, 7), np.float32)
    logits[:, 6] = 1
    assert scores.score(logits, np.arange(7)).in_five == 5  # labels 6, 0, 1, 2, 3
    assert scores.score(logits, np.arange(7)).right == 1


def test_the_first_label_wins_ties():
    assert scores.first_labels(np.array([[1, 1, 0], [0, 2, 2]], np.float32)).tolist() == [0, 1]


def test_json_has_shares_of_the_classes_in_the_data():
    score = scores.score(LOGITS[:3], TRUTH[:3], ["x", "x", "y"]).as_json(LABELS)
    assert score["top1"] == pytest.approx(2 / 3)
    assert score["top5"] is None
    assert score["coarse_top1"] == 1
    assert score["per_class"] == {"a": {"pictures": 2, "right": 1}, "b": {"pictures": 1, "right": 1}}
    assert score["confusion"] == {"a": {"a": 1, "b": 1}, "b": {"b": 1}}


def test_a_comparison_counts_lost_and_gained_pictures():
    other = np.array([[0, 1, 0], [2, 0, 0], [0, 5, 1], [1, 0, 0]], np.float32)  # wrong, right, right, wrong
    score = scores.compare(LOGITS, other, TRUTH)
    assert (score.pictures, score.same, score.lost, score.gained, score.net_loss) == (4, 1, 1, 1, 0)
    score = scores.compare(np.roll(LOGITS, 1, axis=1), LOGITS, TRUTH)
    assert (score.same, score.lost, score.gained, score.net_loss) == (0, 2, 1, 1)


def test_net_loss_in_points():
    worse = LOGITS.copy()
    worse[0] = [0, 0, 1]
    score = scores.compare(worse, LOGITS, TRUTH).as_json()
    assert (score["net_loss_pictures"], score["net_loss_points"], score["agreement"]) == (1, 25.0, 0.75)


def test_logit_errors_exclude_a_common_offset():
    shifted = LOGITS + np.array([[7], [0], [-1], [0]], np.float32)
    score = scores.compare(shifted, LOGITS, TRUTH)
    assert score.largest_error == pytest.approx(0, abs=1e-6)
    shifted[3, 0] += 3
    assert scores.compare(shifted, LOGITS, TRUTH).largest_error == pytest.approx(2)


def network():
    keras.utils.set_random_seed(4)
    inputs = keras.Input((5, 5, 3))
    x = keras.layers.Conv2D(4, 3, use_bias=False, name="conv")(inputs)
    x = keras.layers.BatchNormalization(name="bn")(x)
    x = keras.layers.GlobalAveragePooling2D()(keras.layers.ReLU()(x))
    return keras.Model(inputs, keras.layers.Dense(3, name="dense")(x))


def pixels(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, 5, 5, 3), np.uint8)


def test_cross_entropy():
    logits = np.random.default_rng(0).normal(0, 3, (20, 4)).astype(np.float32)
    labels = np.arange(20) % 4
    expected = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
    assert cross_entropy(logits, labels) == pytest.approx(float(expected), abs=1e-5)


def test_cross_entropy_of_large_logits_is_a_number():
    assert cross_entropy(np.array([[1e4, 0.0], [0.0, 1e4]], np.float32), np.array([0, 0])) == pytest.approx(5e3)
    assert cross_entropy(np.zeros((3, 8), np.float32), np.array([0, 1, 2])) == pytest.approx(np.log(8))


@pytest.mark.parametrize("count, padded", [(1, 4), (4, 4), (5, 8), (8, 8)])
def test_batches_are_made_whole_with_the_last_picture(count, padded):
    images = pixels(count)
    batches = whole_batches(images, 4)
    assert len(batches) == padded and np.array_equal(batches[:count], images)
    assert all(np.array_equal(image, images[-1]) for image in batches[count:])


def test_a_score_is_of_the_weights_given():
    model, labels = network(), np.array([0, 1, 2, 0, 1])
    validator = Validator(model, pixels(8, 1), pixels(5), labels, batch=4)
    weights = [2 * np.asarray(variable) for variable in network().trainable_variables]
    score = validator.score(weights)
    assert all(np.array_equal(a, b) for a, b in zip(weights, model.trainable_variables)), "it stays so"
    logits = np.asarray(model(pixels(5) / np.float32(255), training=False))
    assert score.accuracy == np.mean(logits.argmax(axis=1) == labels)
    assert score.loss == pytest.approx(cross_entropy(logits, labels), abs=1e-4)
    other = validator.score([np.zeros_like(weight) for weight in weights])
    assert other.loss == pytest.approx(np.log(3), abs=1e-5)
    assert validator.score(weights).loss == pytest.approx(score.loss, abs=1e-5), "statistics of others are forgotten"


def test_batch_norm_is_recalibrated_for_them():
    model = network()
    weights = [np.asarray(variable) for variable in model.trainable_variables]
    Validator(model, pixels(8, 1), pixels(5), np.zeros(5, np.int64), batch=8).score(weights)
    outputs = np.asarray(model.get_layer("conv")(pixels(8, 1) / np.float32(255)))
    assert np.allclose(model.get_layer("bn").moving_mean, outputs.mean(axis=(0, 1, 2)), atol=1e-4)


def test_more_right_ranks_higher_and_then_less_loss():
    scores = [Score(1.0, 0.5), Score(0.2, 0.4), Score(0.9, 0.5)]
    assert sorted(scores, key=lambda score: score.rank) == [scores[1], scores[0], scores[2]]


@pytest.fixture(scope="module")
def model(image_folder, tmp_path_factory):
    return save_colours(image_folder, tmp_path_factory.mktemp("model") / "model.keras")


@pytest.fixture(scope="module")
def bundle(model):
    bundle, _, _ = build(load(model), ["a", "b", "c"])
    bundles.write(bundle, model.with_suffix(".glslnn"))
    return model.with_suffix(".glslnn")


@pytest.fixture(scope="module")
def paths(image_folder):
    return sorted((image_folder / "train").glob("*/*.png"))[:11]


def compute(engine, model, paths):
    counted = []
    computed = logits.compute(engine, model, paths, counted.append)
    assert sum(counted) == len(paths)
    return computed


@pytest.mark.exhaustive
def test_exact_is_the_reference_bit_for_bit(bundle, paths):
    network = bundles.read(bundle)
    expected = np.stack([reference.run(network, load_picture(path, SIZE), mode="stored") for path in paths])
    assert np.array_equal(compute("exact", bundle, paths).logits, expected)


@pytest.mark.exhaustive
def test_logits_do_not_depend_on_the_number_of_processes(bundle, paths, monkeypatch):
    expected = compute("exact", bundle, paths).logits
    for cores in (1, 3):
        monkeypatch.setattr(logits, "_cores", lambda cores=cores: cores)
        assert np.array_equal(compute("exact", bundle, paths).logits, expected)


def test_float_is_keras(model, paths):
    pictures = np.stack([load_picture(path, SIZE) for path in paths]).astype(np.float32) / 255.0
    expected = keras.saving.load_model(model).predict(pictures, verbose=0)
    computed = compute("float", model, paths)
    np.testing.assert_allclose(computed.logits, expected, atol=1e-4)
    assert computed.machine.startswith(f"Keras {keras.version()}, {keras.backend.backend()} ")
    alone = compute("float", model, paths[-1:])
    assert np.array_equal(alone.logits[0], computed.logits[-1]), "a picture's logits depend on its neighbours"


@pytest.mark.exhaustive
def test_gpu_is_near_the_reference(bundle, paths):
    computed = compute("gpu", bundle, paths)
    exact = compute("exact", bundle, paths).logits
    assert np.abs(computed.logits - exact).max() < 0.2
    assert np.ptp(exact) > 2
    assert "OpenGL ES" in computed.machine


def test_input_errors_of_the_process_keep_their_messages(bundle, model, paths, tmp_path):
    for engine, options, message in (
        ("float", bundle, "not a model that Keras can load"),
        ("exact", model, "a Keras model; convert it"),
        ("gpu", tmp_path / "none.glslnn", "none.glslnn: no such file"),
    ):
        with pytest.raises(InputError, match=message):
            compute(engine, options, paths)


def test_a_crashed_process_is_a_run_error(bundle, tmp_path):
    with pytest.raises(RunError, match="'nothing'"):
        logits.compute("nothing", bundle, [tmp_path], lambda count: None)


def test_a_model_of_images_is_refused(tmp_path, paths):
    model = keras.Sequential([keras.Input((SIZE, SIZE, 3)), keras.layers.Conv2D(3, 1, activation="sigmoid")])
    model.save(tmp_path / "images.keras")
    with pytest.raises(InputError, match="ends in a feature map and has no classes"):
        compute("float", tmp_path / "images.keras", paths[:1])


def test_the_tiny_bundle_of_all_layers(tmp_path, paths):
    bundle = tiny.write_tiny(tmp_path)
    network = bundles.read(bundle)
    expected = np.stack([reference.run(network, load_picture(path, tiny.SIZE)) for path in paths[:2]])
    assert np.array_equal(compute("exact", bundle, paths[:2]).logits, expected)
