"""Anchors, decoding and suppression, compared with plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.errors import InputError
from glsl_infer.tasks.anchors import Level, anchors, sizes_of
from glsl_infer.tasks.boxes import BEST, EXPONENTIAL, Code, decode, likely, suppress
from glsl_infer.tasks.detection import around_circle


def test_anchors_go_box_by_box_then_cell_by_cell() -> None:
    boxes = anchors([Level(((0.5, 0.25), (1, 1)), stride=8), Level(((0.1, 0.1),), cells=(1, 3))], 16, 30)
    assert boxes.shape == (2 * 4 * 2 + 3, 4)  # 30 pixels are 4 cells of 8, the last one clipped
    assert boxes[0].tolist() == pytest.approx([1 / 8, 1 / 4, 0.5, 0.25])
    assert boxes[1].tolist() == pytest.approx([1 / 8, 1 / 4, 1, 1])
    assert boxes[2].tolist() == pytest.approx([3 / 8, 1 / 4, 0.5, 0.25])
    assert boxes[8].tolist() == pytest.approx([1 / 8, 3 / 4, 0.5, 0.25])
    assert boxes[-1].tolist() == pytest.approx([5 / 6, 1 / 2, 0.1, 0.1])


def test_sizes_of_a_scale_have_its_area() -> None:
    for (width, height), aspect in zip(sizes_of(0.3, [1, 2, 0.5]), [1, 2, 0.5]):
        assert width * height == pytest.approx(0.09)
        assert width / height == pytest.approx(aspect)


def test_too_many_anchors_are_refused() -> None:
    with pytest.raises(InputError, match="give larger strides"):
        anchors([Level(((1, 1),), cells=(4096, 4096))], 8, 8)


def test_both_ways_to_grow_and_both_orders() -> None:
    anchor = np.array([[0.5, 0.25, 0.2, 0.1]], np.float32)
    raw = np.array([[10.0, -10.0, 5.0, 10.0, 20.0, 0.0]])
    (linear,) = decode(raw, anchor, Code((10, 10, 10, 10)))
    assert linear.tolist() == pytest.approx([0.65, 0.1, 0.75, 0.2, 0.9, 0.25])
    (grown,) = decode(raw, anchor, Code((10, 10, 10, 10), growth=EXPONENTIAL))
    half = 0.1 * math.exp(0.5), 0.05 * math.exp(1.0)
    assert grown[:4].tolist() == pytest.approx([0.7 - half[0], 0.15 - half[1], 0.7 + half[0], 0.15 + half[1]])
    (swapped,) = decode(raw[:, [1, 0, 3, 2, 5, 4]], anchor, Code((10, 10, 10, 10), order="yxhw"))
    assert swapped.tolist() == pytest.approx(linear.tolist())
    huge = decode(np.full((1, 4), 1e30), anchor, Code(growth=EXPONENTIAL))
    assert np.isfinite(huge).all()


@given(st.lists(st.floats(-1e4, 1e4), min_size=6, max_size=6), st.floats(0.01, 0.99))
def test_likely_boxes_by_each_activation(numbers: list[float], threshold: float) -> None:
    raw = np.array(numbers).reshape(2, 3)
    for activation in ("sigmoid", "softmax", "none"):
        scores, rows, columns = likely(raw, activation, threshold, background=True)
        results = {(row, column): score for score, row, column in zip(scores, rows, columns)}
        for row in range(2):
            if activation == "sigmoid":
                expected = [1 / (1 + math.exp(-max(-80.0, min(80.0, number)))) for number in raw[row]]
            elif activation == "softmax":
                powers = [math.exp(number - raw[row].max()) for number in raw[row]]
                expected = [power / sum(powers) for power in powers]
            else:
                expected = raw[row].tolist()
            for column in range(2):
                score = expected[column + 1]
                if abs(score - threshold) > 1e-9:
                    assert ((row, column) in results) == (score > threshold)
                    assert results.get((row, column), score) == pytest.approx(score)


def plain_suppress(
    boxes: list[list[float]], scores: list[float], overlap: float, most: int, weighted: bool
) -> list[tuple[list[float], float]]:
    def shared(a: list[float], b: list[float]) -> float:
        width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
        height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
        area = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
        return width * height / area

    left = sorted(range(len(boxes)), key=lambda index: -scores[index])
    indices = []
    while left and len(indices) < most:
        first = left[0]
        group = [index for index in left if index == first or shared(boxes[first], boxes[index]) > overlap]
        total = sum(scores[index] for index in group)
        mean = [sum(scores[i] * boxes[i][k] for i in group) / total for k in range(len(boxes[first]))]
        indices.append((mean if weighted else boxes[first], scores[first]))
        left = [index for index in left if index not in group]
    return indices


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("most", [3, 100])
def test_suppression_equals_a_plain_loop(weighted: bool, most: int) -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        low = random.uniform(0, 1, (30, 2))
        boxes = np.concatenate([low, low + random.uniform(0.05, 0.6, (30, 2)), random.uniform(0, 1, (30, 4))], axis=1)
        scores = random.uniform(0.5, 1, 30)
        indices, best = suppress(boxes, scores, 0.3, most, **({} if weighted else {"merge": BEST}))
        expected = plain_suppress(boxes.tolist(), scores.tolist(), 0.3, most, weighted)
        assert scores[best].tolist() == pytest.approx([score for _, score in expected])
        assert indices == pytest.approx(np.array([box for box, _ in expected]))


def test_empty_and_infinite_boxes_are_dropped() -> None:
    boxes = np.array([[0, 0, 0, 1], [0, 0, 1, -1], [0, 0, np.nan, 1], [0, 0, np.inf, 1], [0, 0, 1, 1.0]])
    indices, best = suppress(boxes, np.array([0.9, 0.9, 0.9, 0.9, 0.1]), 0.3, 9)
    assert indices.tolist() == [[0, 0, 1, 1]] and best.tolist() == [4]
    none, _ = suppress(boxes[:4], np.ones(4), 0.3, 9)
    assert none.shape == (0, 4)


def test_scores_of_zero_do_not_divide() -> None:
    indices, best = suppress(np.array([[0, 0, 1, 1.0], [0, 0, 1, 1.0]]), np.zeros(2), 0.3, 9)
    assert indices.tolist() == [[0, 0, 1, 1]] and best.tolist() == [0]


@pytest.mark.parametrize("number", [0, 1, 3])
def test_squares_around_circles_of_any_number_of_boxes(number: int) -> None:
    decoded = np.tile([0.4, 0.4, 0.6, 0.6, 0.5, 0.5, 0.5, 0.75], (number, 1))
    assert around_circle(decoded, (0, 1), (200, 100)).tolist() == [[0.375, 0.25, 0.625, 0.75]] * number
