"""Averages of weights, computed by hand."""

import numpy as np
import pytest

from training.averaging import BestCheckpoints, Checkpoint, MovingAverage, mean


def weights(*values):
    return [np.array(values, np.float32), np.full((2, 1), values[0], np.float32)]


def same(found, expected):
    return len(found) == len(expected) and all(np.allclose(a, b, atol=1e-6) for a, b in zip(found, expected))


def test_moving_average():
    average = MovingAverage(0.9)
    average.update(weights(1.0, 2.0), 3)
    assert same(average.weights, weights(1.0, 2.0)), "the first are taken as they are"
    average.update(weights(2.0, 0.0), 2)
    assert same(average.weights, weights(0.81 * 1 + 0.19 * 2, 0.81 * 2))
    average.update(weights(0.0, 0.0), 1)
    assert same(average.weights, weights(0.9 * (0.81 * 1 + 0.19 * 2), 0.9 * 0.81 * 2))
    assert all(one.dtype == np.float32 for one in average.weights)


def test_moving_average_keeps_no_hold_of_what_it_was_given():
    given, average = weights(1.0), MovingAverage(0.5)
    average.update(given, 1)
    given[0][:] = 7
    assert same(average.weights, weights(1.0))


def test_no_decay_is_no_average():
    average = MovingAverage(0.0)
    average.update(weights(1.0), 1)
    assert average.weights == []


def kept(best):
    return [checkpoint.epoch for checkpoint in best.kept]


def test_the_best_are_kept_best_first():
    best = BestCheckpoints(3)
    for epoch, rank in enumerate([(0.5, -1.0), (0.7, -2.0), (0.6, -1.0), (0.7, -1.0), (0.1, 0.0)], 1):
        best.add(Checkpoint(rank, epoch, weights(float(epoch))))
    assert kept(best) == [4, 2, 3]
    assert same(best.average(), weights(3.0))


def test_of_equal_ones_the_earlier_is_better():
    best = BestCheckpoints(2)
    for epoch in (1, 2, 3):
        best.add(Checkpoint((0.5, -1.0), epoch, weights(1.0)))
    assert kept(best) == [1, 2]


def test_mean_is_exact_where_float32_sums_are_not():
    large = np.float32(2**24)
    assert mean([[np.array([large])], [np.array([1], np.float32)], [np.array([1], np.float32)]])[0] == pytest.approx(
        (2**24 + 2) / 3, rel=1e-7
    )
    made = mean([weights(1.0, 4.0), weights(2.0, 0.0)])
    assert same(made, weights(1.5, 2.0)) and made[0].dtype == np.float32
