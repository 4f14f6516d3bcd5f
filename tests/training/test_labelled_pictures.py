"""One split: its images, the labels that they are evaluated with, and their coarse classes."""

import shutil

import pytest
import tiny

from glsl_infer.errors import InputError
from training import labelled_pictures as lp

LABELS = ("red", "green", "blue")


def write_labels(folder, labels):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in labels), "utf-8")


def test_the_order_of_the_labels_is_that_of_the_logits(image_folder):
    found = lp.find(image_folder / "test", LABELS)
    assert found.labels == LABELS
    assert found.truth.tolist() == [0, 0, 1, 1, 2, 2]
    assert [path.parent.name for path in found.paths] == ["red", "red", "green", "green", "blue", "blue"]


def test_a_split_may_lack_classes(image_folder):
    found = lp.find(image_folder / "test", ("cyan", *LABELS))
    assert set(found.truth.tolist()) == {1, 2, 3}


def test_limit_spreads_over_the_split(image_folder):
    found = lp.find(image_folder / "train", LABELS).spread(3)
    assert found.truth.tolist() == [0, 1, 2]
    assert lp.find(image_folder / "test", LABELS).spread(99).truth.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "folder, message",
    [
        ("nowhere", "no such folder"),
        (".", "holds the splits test, train, val; give one of them, as in"),
        ("test", "no label for the class folder green; its 2 labels are red, blue"),
    ],
)
def test_wrong_folders(image_folder, folder, message):
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        lp.find(image_folder / folder, ("red", "blue"))


def test_a_folder_without_pictures(tmp_path):
    (tmp_path / "red").mkdir()
    with pytest.raises(InputError, match="no pictures; expected"):
        lp.find(tmp_path, LABELS)


def test_labels_beside_the_model(tmp_path, image_folder):
    write_labels(tmp_path, LABELS)
    assert lp.labels_of(tmp_path / "model.keras", None, image_folder / "test") == LABELS


def test_labels_of_the_bundle(tmp_path, image_folder):
    bundle = tiny.write_tiny(tmp_path)
    assert lp.labels_of(tmp_path / "model.keras", bundle, image_folder / "test") == tiny.LABELS
    write_labels(tmp_path, LABELS)
    with pytest.raises(InputError, match="have different labels"):
        lp.labels_of(tmp_path / "model.keras", bundle, image_folder / "test")


def test_labels_beside_the_split_are_the_last_resort(tmp_path, image_folder):
    shutil.copytree(image_folder / "test", tmp_path / "data/test")
    with pytest.raises(InputError, match="no labels: neither"):
        lp.labels_of(tmp_path / "model.keras", None, tmp_path / "data/test")
    write_labels(tmp_path / "data", LABELS)
    assert lp.labels_of(tmp_path / "model.keras", None, tmp_path / "data/test") == LABELS


def test_labels_that_are_there_twice(tmp_path, image_folder):
    write_labels(tmp_path, ("red", "green", "red"))
    with pytest.raises(InputError, match="red is there twice"):
        lp.labels_of(tmp_path / "model.keras", None, image_folder / "test")
