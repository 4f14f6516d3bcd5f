"""The images of a card: reproducible, small, with correct captions and contents."""

import io

import numpy as np
import pytest
from PIL import Image

from training import scores
from training.cards import pictures

RUNS = [
    {"name": "first", "history": [{"epoch": 1, "loss": 2.0, "accuracy": 0.1}, {"epoch": 2, "loss": 1.5}]},
    {"name": "second", "history": [{"epoch": 1, "loss": 1.0, "accuracy": 0.2, "val_loss": 1.2, "val_accuracy": None}]},
]


def evaluation(classes, coarse=None):
    rng = np.random.default_rng(classes)
    truth = rng.integers(0, classes, 20 * classes)
    logits = rng.normal(size=(len(truth), classes)).astype(np.float32)
    logits[np.arange(len(truth)), truth] += 3.0
    labels = [f"A-Rather-Long-Name-{index:02}" for index in range(classes)]
    result = scores.score(logits, truth).as_json(labels)
    return {"labels": labels, "coarse_labels": coarse, "results": {"gpu": result}}


def opened(data):
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("classes, groups", [(6, None), (81, 43)])
def test_confusion(classes, groups, tmp_path):
    coarse = None if groups is None else [f"group {index % groups:02}" for index in range(classes)]
    found = evaluation(classes, coarse)
    drawn = pictures.confusion(found, "gpu")
    assert drawn == pictures.confusion(found, "gpu")
    assert len(drawn) < 200_000
    assert max(opened(drawn).size) < 1600
    (tmp_path / "confusion.png").write_bytes(drawn)
    assert pictures.shows(tmp_path / "confusion.png") == pictures.shown(pictures.confusion_data(found, "gpu"))


def test_one_picture_more_is_another_matrix():
    found, other = evaluation(6), evaluation(6)
    row = other["results"]["gpu"]["confusion"]["A-Rather-Long-Name-00"]
    row["A-Rather-Long-Name-05"] = row.get("A-Rather-Long-Name-05", 0) + 1
    drawn = [np.asarray(opened(pictures.confusion(one, "gpu")).convert("RGB"), int) for one in (found, other)]
    rows, columns = np.nonzero(np.abs(drawn[0] - drawn[1]).max(axis=2) > 30)  # palettes can differ slightly
    height, width = drawn[0].shape[:2]
    first_row = (rows > 0.38 * height) & (rows < 0.52 * height)
    assert first_row.mean() > 0.99
    assert columns.max() > 0.9 * width, "the last column changes"
    assert pictures.shown(pictures.confusion_data(found, "gpu")) != pictures.shown(
        pictures.confusion_data(other, "gpu")
    )


def test_the_order_is_by_coarse_class():
    assert pictures.confusion_order(["b", "a", "d", "c"], ["x", "y", "x", "y"]) == [0, 2, 1, 3]
    assert pictures.confusion_order(["b", "a"], None) == [0, 1]


def test_curves_of_runs_with_gaps(tmp_path):
    drawn = pictures.curves(RUNS)
    assert drawn == pictures.curves(RUNS)
    assert opened(drawn).size == (900, 340)
    (tmp_path / "curves.png").write_bytes(drawn)
    assert pictures.shows(tmp_path / "curves.png") == pictures.shown(pictures.curves_data(RUNS))
    assert pictures.shown(pictures.curves_data(RUNS[:1])) != pictures.shown(pictures.curves_data(RUNS))


def test_what_is_no_picture_of_ours_shows_nothing(tmp_path):
    assert pictures.shows(tmp_path / "none.png") is None
    (tmp_path / "text.png").write_text("no picture")
    assert pictures.shows(tmp_path / "text.png") is None
    Image.new("RGB", (2, 2)).save(tmp_path / "other.png")
    assert pictures.shows(tmp_path / "other.png") is None
