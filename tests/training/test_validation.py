"""Scores on the val split: cross entropy, complete batches, and weights passed as arguments."""

import keras
import numpy as np
import pytest

from training.validation import Score, Validator, cross_entropy, whole_batches


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


@pytest.mark.parametrize("count, whole", [(1, 4), (4, 4), (5, 8), (8, 8)])
def test_batches_are_made_whole_with_the_last_picture(count, whole):
    images = pixels(count)
    batches = whole_batches(images, 4)
    assert len(batches) == whole and np.array_equal(batches[:count], images)
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
