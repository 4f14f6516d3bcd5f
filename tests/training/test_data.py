"""Image folders: which pictures belong to which split and label."""

import shutil

import numpy as np
import pytest
from PIL import Image

from glsl_infer.errors import ImageError, InputError
from glsl_infer.preprocess import load
from training import data


def empty_pictures(root, label, count):
    (root / label).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (root / label / f"{label}-{number}.jpg").touch()


def names(dataset):
    return {split: {path.name for path in pictures.paths} for split, pictures in dataset.splits.items()}


def test_split_folders(image_folder):
    found = data.find(image_folder)
    assert found.labels == ("blue", "green", "red")
    assert {name: len(split.paths) for name, split in found.splits.items()} == {"train": 18, "val": 9, "test": 6}
    for name, split in found.splits.items():
        assert split.labels.dtype == np.int64
        for path, label in zip(split.paths, split.labels):
            assert path.parent == image_folder / name / found.labels[label]


def test_the_test_split_is_optional(image_folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(image_folder, copy)
    shutil.rmtree(copy / "test")
    assert set(data.find(copy).splits) == {"train", "val"}


@pytest.mark.parametrize("missing", ["train", "val"])
def test_train_and_val_are_needed(image_folder, tmp_path, missing):
    copy = tmp_path / "copy"
    shutil.copytree(image_folder, copy)
    shutil.rmtree(copy / missing)
    with pytest.raises(InputError, match="both train and val"):
        data.find(copy)


def test_single_folder_is_split_by_ratio(tmp_path):
    for label in ("a", "b"):
        empty_pictures(tmp_path, label, 500)
    found = data.find(tmp_path, val_ratio=0.2, test_ratio=0.1)
    counts = {name: len(split.paths) for name, split in found.splits.items()}
    assert sum(counts.values()) == 1000
    assert len(set().union(*names(found).values())) == 1000
    assert counts["val"] == pytest.approx(200, abs=50) and counts["test"] == pytest.approx(100, abs=40)
    for split in found.splits.values():
        assert all(path.parent.name == found.labels[label] for path, label in zip(split.paths, split.labels))


def test_added_pictures_move_no_other(tmp_path):
    for label in ("a", "b"):
        empty_pictures(tmp_path, label, 100)
    before = names(data.find(tmp_path))
    empty_pictures(tmp_path, "a", 150)
    empty_pictures(tmp_path, "c", 100)
    after = names(data.find(tmp_path))
    assert all(before[split] and before[split] < after[split] for split in data.SPLITS)


def test_labels_txt_gives_the_order(image_folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(image_folder, copy)
    (copy / "labels.txt").write_text("red\nblue\ngreen\n")
    found = data.find(copy)
    assert found.labels == ("red", "blue", "green")
    val = found.splits["val"]
    assert {(path.parent.name, int(label)) for path, label in zip(val.paths, val.labels)} == {
        ("red", 0),
        ("blue", 1),
        ("green", 2),
    }


@pytest.mark.parametrize("listed, named", [("blue\ngreen\n", "red"), ("blue\ngreen\nred\nyellow\n", "yellow")])
def test_labels_txt_that_does_not_match(image_folder, tmp_path, listed, named):
    copy = tmp_path / "copy"
    shutil.copytree(image_folder, copy)
    (copy / "labels.txt").write_text(listed)
    with pytest.raises(InputError, match=named):
        data.find(copy)


def test_a_class_may_be_missing_from_one_split(image_folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(image_folder, copy)
    shutil.rmtree(copy / "val" / "blue")
    assert set(data.find(copy).splits["val"].labels) == {1, 2}


def test_folders_without_pictures(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        data.find(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no class folders"):
        data.find(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.txt").touch()
    with pytest.raises(InputError, match="no pictures in the train split"):
        data.find(tmp_path)


def test_pixels_are_what_the_engine_reads(image_folder):
    split = data.find(image_folder).splits["val"]
    pixels = data.pixels(split, 17)
    assert pixels.shape == (9, 17, 17, 3) and pixels.dtype == np.uint8
    for path, picture in zip(split.paths, pixels):
        assert np.array_equal(picture, load(path, 17))
    assert pixels[0].mean(axis=(0, 1)).argmax() == 2 and pixels[-1].mean(axis=(0, 1)).argmax() == 0


def test_a_damaged_picture_is_named(tmp_path):
    for split in ("train", "val"):
        (tmp_path / split / "a").mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / split / "a" / "good.png")
    (tmp_path / "val" / "a" / "torn.png").write_bytes(b"\x89PNG")
    with pytest.raises(ImageError, match=r"torn\.png"):
        data.pixels(data.find(tmp_path).splits["val"], 8)
