"""Scores of logits, worked out by hand."""

import numpy as np
import pytest

from training import scores

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
    moved = LOGITS + np.array([[7], [0], [-1], [0]], np.float32)
    score = scores.compare(moved, LOGITS, TRUTH)
    assert score.largest_error == pytest.approx(0, abs=1e-6)
    moved[3, 0] += 3
    assert scores.compare(moved, LOGITS, TRUTH).largest_error == pytest.approx(2)
