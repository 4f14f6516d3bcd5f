"""Results draw themselves, also with missing or extra fields."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from glsl_infer.tasks.cuts import Cut
from glsl_infer.tasks.detection import turned_back
from glsl_infer.tasks.results import Detection, Found, Landmarks

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


@pytest.mark.parametrize("number", [1, 5, 500])
def test_points_with_and_without_lines(number: int) -> None:
    points = np.random.default_rng(1).uniform(0, 40, (number, 3))
    lines = ((0, number - 1),) if number > 1 else ()
    item = Landmarks(points, 0.7, {"left": 0.25}, Cut(20, 20, 40, 40), lines, (), SIZE)
    assert np.asarray(item.draw(Image.new("RGB", SIZE))).any()
    assert len(item.as_json()["points"]) == number and item.as_json()["attributes"] == {"left": 0.25}


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
