"""Tasks as data, crops, boxes and results, compared with plain loops."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from red_squares import DETECTOR, LANDMARKS, MASK

from glsl_infer.errors import InputError
from glsl_infer.tasks import models, reading
from glsl_infer.tasks.anchors import Level, anchors, sizes_of
from glsl_infer.tasks.boxes import BEST, EXPONENTIAL, Code, decode, likely, suppress
from glsl_infer.tasks.cuts import Cut, around, direction, pixels_of
from glsl_infer.tasks.description import DetectionRules, LandmarkRules
from glsl_infer.tasks.detection import around_circle, turned_back
from glsl_infer.tasks.results import Detection, Found, Landmarks
from glsl_infer.tools.get import catalogue


def test_every_task_of_the_package_has_its_model_in_the_catalogue() -> None:
    networks = catalogue.read()
    for name in reading.names():
        task = reading.find(name)
        assert task.what
        if task.model != models.DEFAULT:
            assert name in networks[task.model].tasks
        if isinstance(task.rules, LandmarkRules):
            detector = reading.find(task.rules.detector)
            assert detector.model in networks[task.model].needs
    assert {task for model in networks.values() for task in model.tasks} == set(reading.names()) - {"groceries"}


@pytest.mark.parametrize(
    ("name", "side", "count"),
    [("faces", 128, 896), ("faces-far", 192, 2304), ("palms", 192, 2016), ("people", 224, 2254)],
)
def test_published_detectors_have_as_many_anchors_as_their_outputs(name: str, side: int, count: int) -> None:
    rules = reading.find(name).rules
    assert isinstance(rules, DetectionRules)
    assert len(anchors(rules.anchors, side, side)) == count


def test_a_detector_is_next_to_the_task_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(json.dumps(DETECTOR))
    assert reading.find("own.json", relative_to=tmp_path / "other.json").name == "own"
    assert models.find("own.glslnn", tmp_path / "own.json") == tmp_path / "own.glslnn"


def test_an_unfetched_model_is_refused_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(models.VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match="glsl-infer get face-mesh"):
        models.find("face-mesh", tmp_path)


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        (DETECTOR, {"task": "magic"}, "not one of detection, landmarks, segmentation, classification"),
        (DETECTOR, {"tresholds": 1}, "unknown key 'tresholds'"),
        (DETECTOR, {"threshold": 1.5}, "'threshold' is 1.5, not a number from 0 to 1"),
        (DETECTOR, {"anchors": []}, "'anchors' is a list of 0"),
        (DETECTOR, {"anchors": [{"sizes": [[1, 1]]}]}, "'stride' in pixels, or 'cells'"),
        (DETECTOR, {"anchors": [{"stride": 0, "sizes": [[1, 1]]}]}, "'stride'"),
        (DETECTOR, {"anchors": [{"stride": 8, "sizes": []}]}, "'sizes' is a list of 0"),
        (DETECTOR, {"anchors": [{"stride": 8, "sizes": [[1]]}]}, "expected a list of 2 entries"),
        (DETECTOR, {"units": [1, 1, 1, 0]}, "'units'"),
        (DETECTOR, {"anchors": [{"stride": 8, "scale": 3e38}]}, "'scale' is 3e+38"),
        (LANDMARKS, {"cut": {"shift": [0, 1e7]}}, "to 1e+06"),
        (LANDMARKS, {"attributes": {"\ud800": "green"}}, "half of a surrogate pair"),
        (MASK, {"edge": [0, 1e-45]}, "the second number must be the larger one"),
        (DETECTOR, {"labels": []}, "'labels' is a list of 0"),
        (DETECTOR, {"lines": [[0, 2]]}, "'lines' has the point 2"),
        (DETECTOR, {"body": [0]}, "'body' needs two points"),
        (DETECTOR, {"background": 1}, "not true or false"),
        (DETECTOR, {"boxes": []}, "'boxes' is a list of 0"),
        (LANDMARKS, {"cut": {"from": 0}}, "needs 'from' and 'to'"),
        (LANDMARKS, {"cut": {"scale": 0}}, "'scale'"),
        (LANDMARKS, {"dimensions": 1}, "'dimensions'"),
        (LANDMARKS, {"attributes": {"a": 1}}, "attributes['a'] is 1, not a string"),
        (MASK, {"edge": [0.5, 0.5]}, "the second number must be the larger one"),
        (MASK, {"activation": "tanh"}, "not one of sigmoid, softmax, none"),
    ],
)
def test_a_task_that_is_wrong_names_file_and_key(
    task: dict[str, object], change: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({**task, **change}))
    with pytest.raises(InputError) as caught:
        reading.read(path)
    assert message in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"task": 1}', "\x00", "null", '{"a": 1, "a": 1}'])
def test_files_without_a_task_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(text)
    with pytest.raises(InputError, match="own"):
        reading.read(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        reading.read(tmp_path / "none.json")
    with pytest.raises(InputError, match="a folder"):
        reading.read(tmp_path)


ANGLES = st.floats(-math.pi, math.pi)
PLACES = st.floats(-1e3, 1e3)
SIDES = st.floats(1, 1e3)


@given(PLACES, PLACES, SIDES, SIDES, ANGLES)
def test_points_go_there_and_back(x: float, y: float, width: float, height: float, angle: float) -> None:
    cut = Cut(x, y, width, height, angle)
    points = np.array([[0, 0], [1, 0.25], [0.5, 0.5], [-2, 3]])
    assert cut.from_picture(cut.to_picture(points)) == pytest.approx(points, abs=1e-6)
    assert cut.to_picture(np.array([[0.5, 0.5]]))[0] == pytest.approx((x, y))


def test_a_cut_can_be_a_quarter_turn_clockwise() -> None:
    cut = Cut(10, 20, 4, 2, math.pi / 2)
    assert cut.to_picture(np.array([[1.0, 0.5]]))[0] == pytest.approx((10, 22))  # the crop's right is the image's down
    assert cut.corners[0] == pytest.approx((11, 18))


@pytest.mark.parametrize("angle", range(-180, 181, 30))
def test_a_cut_in_which_a_line_points_up(angle: int) -> None:
    unit_vector = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    cut = Cut(0, 0, 10, 10, direction(np.zeros(2), unit_vector, 90.0))
    begin, end = cut.from_picture(np.stack([np.zeros(2), unit_vector]))
    assert end - begin == pytest.approx((0, -0.1))


def test_a_cut_around_points_holds_them_and_is_shifted_as_it_sees_them() -> None:
    points = Cut(50, 60, 20, 10, 0.3).corners
    cut = around(points, 0.3, scale=2.0, square=False)
    assert (cut.x, cut.y, cut.width, cut.height) == pytest.approx((50, 60, 40, 20))
    shifted = around(points, 0.3, shift=(0, -0.5))
    assert shifted.width == shifted.height == pytest.approx(20)
    centre = Cut(50, 60, 20, 10, 0.3).to_picture(np.array([[0.5, 0.0]]))[0]
    assert (shifted.x, shifted.y) == pytest.approx(tuple(centre))


def test_upright_cuts_of_whole_pixels_are_those_pixels() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8)
    assert (pixels_of(picture, Cut(10, 8, 8, 6), 6, 8) == picture[5:11, 6:14]).all()
    turned = pixels_of(picture, Cut(10, 8, 6, 8, math.pi / 2), 8, 6)
    assert (turned == np.rot90(picture[5:11, 6:14])).all()
    over = pixels_of(picture, Cut(10, 8, 8, 6, math.pi), 6, 8)
    assert (over == picture[5:11, 6:14][::-1, ::-1]).all()


def test_shrinking_averages_all_pixels() -> None:
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[::2, ::2] = 200  # single pixels read as 200 or 0
    assert (pixels_of(picture, Cut(32, 32, 64, 64), 8, 8) == 50).all()
    tilted = pixels_of(picture, Cut(32, 32, 40, 40, 0.4), 5, 5)
    assert np.abs(tilted.astype(int) - 50).max() <= 3


def test_a_crop_beyond_the_picture_repeats_its_edge() -> None:
    picture = np.zeros((10, 10, 3), np.uint8)
    picture[:, 0] = (250, 10, 20)
    crop = pixels_of(picture, Cut(0, 5, 20, 10), 10, 20)
    assert (crop[:, :10] == (250, 10, 20)).all() and not crop[:, 11:].any()


@given(st.integers(1, 5), st.integers(1, 5), PLACES, PLACES, st.floats(1, 3000), ANGLES)
def test_any_cut_of_any_picture(rows: int, columns: int, x: float, y: float, side: float, angle: float) -> None:
    picture = np.full((rows, columns, 1), 77, np.uint8)
    assert (pixels_of(picture, Cut(x, y, side, side, angle), 7, 9) == 77).all()


def test_unusable_crops_and_overlaps() -> None:
    assert not Cut(0, 0, 0.5, 10).usable
    assert not Cut(math.nan, 0, 5, 5).usable
    assert Cut(0, 0, 2, 2).overlap(Cut(1, 0, 2, 2)) == pytest.approx(1 / 3)
    assert Cut(0, 0, 2, 2).overlap(Cut(9, 0, 2, 2)) == 0


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
def test_likely_boxes_by_each_activation(logits: list[float], threshold: float) -> None:
    raw = np.array(logits).reshape(2, 3)
    for activation in ("sigmoid", "softmax", "none"):
        scores, rows, columns = likely(raw, activation, threshold, background=True)
        results = {(row, column): score for score, row, column in zip(scores, rows, columns)}
        for row in range(2):
            if activation == "sigmoid":
                expected = [1 / (1 + math.exp(-max(-80.0, min(80.0, logit)))) for logit in raw[row]]
            elif activation == "softmax":
                powers = [math.exp(logit - raw[row].max()) for logit in raw[row]]
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
    """Return the boxes and scores after non-maximum suppression, by its definition."""

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


@pytest.mark.parametrize("count", [0, 1, 3])
def test_squares_around_circles_of_any_number_of_boxes(count: int) -> None:
    decoded = np.tile([0.4, 0.4, 0.6, 0.6, 0.5, 0.5, 0.5, 0.75], (count, 1))
    assert around_circle(decoded, (0, 1), (200, 100)).tolist() == [[0.375, 0.25, 0.625, 0.75]] * count


SIZE = (60, 40)
NO_POINTS = np.zeros((0, 2))


def detection(box: tuple[float, float, float, float], label: str = "", index: int = 0) -> Detection:
    return Detection(box, 0.9, label, NO_POINTS, (), (), index, SIZE)


@pytest.mark.parametrize("box", [(10.0, 10.0, 30.0, 25.0), (-1e9, -5.0, 1e9, 1e12), (59.0, 39.0, 60.0, 40.0)])
def test_boxes_without_points(box: tuple[float, float, float, float]) -> None:
    detections = Found((detection(box), detection(box, "a label", 7)), SIZE)
    drawn = detections.draw(Image.new("RGB", SIZE))
    assert drawn.size == SIZE and np.asarray(drawn).any()
    assert detections.as_json()["found"][1]["label"] == "a label"
    assert "points" not in detections.as_json()["found"][0]


def test_boxes_are_clipped_to_the_image() -> None:
    item = detection((-274.0, 8.0, 506.0, 700.0))
    assert item.as_json()["box"] == [0.0, 8.0, 60.0, 40.0] and item.box == (-274.0, 8.0, 506.0, 700.0)
    drawn = np.asarray(item.draw(Image.new("RGB", SIZE)))
    assert drawn[35, 0].any() and drawn[35, -1].any()  # its sides are lines along the image's edges
    assert not drawn[35, 30].any()


@pytest.mark.parametrize("count", [1, 5, 500])
def test_points_with_and_without_lines(count: int) -> None:
    points = np.random.default_rng(1).uniform(0, 40, (count, 3))
    lines = ((0, count - 1),) if count > 1 else ()
    item = Landmarks(points, 0.7, {"left": 0.25}, Cut(20, 20, 40, 40), lines, (), SIZE)
    assert np.asarray(item.draw(Image.new("RGB", SIZE))).any()
    assert len(item.as_json()["points"]) == count and item.as_json()["attributes"] == {"left": 0.25}


def test_results_are_a_sequence() -> None:
    detections = Found((detection((0.0, 0.0, 5.0, 5.0)),), SIZE)
    assert (
        len(detections) == 1
        and detections[0] in list(detections)
        and detections[:1] == tuple(detections)
        and detections.present
    )
    assert not Found((), SIZE).present


@pytest.mark.parametrize("quarters", range(4))
def test_detections_in_a_rotated_image_are_rotated_back(quarters: int) -> None:
    picture = np.zeros((40, 60), np.uint8)
    picture[5:9, 20:30] = 1  # a box with a point in it
    picture[7, 28] = 2
    turned = np.rot90(picture, quarters)
    rows, columns = np.nonzero(turned)
    ((y, x),) = np.argwhere(turned == 2) + 0.5
    box = (columns.min(), rows.min(), columns.max() + 1.0, rows.max() + 1.0)
    detected = Detection(box, 0.9, "", np.array([[x, y]]), ("nose",), (), 0, (turned.shape[1], turned.shape[0]))
    back = turned_back(detected, quarters)
    assert back.box == (20.0, 5.0, 30.0, 9.0) and back.points.tolist() == [[28.5, 7.5]] and back.size == SIZE
