"""Data sets: the split, label and pixels of each image, one data set or several merged."""

from __future__ import annotations

import shutil
import tracemalloc

import numpy as np
import pytest
import tiny
from conftest import picture

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.preprocess import load
from training import data, manifest
from training import labelled_pictures as lp
from training.class_folders import draw


def empty_pictures(root, label, count):
    (root / label).mkdir(parents=True, exist_ok=True)
    for index in range(count):
        (root / label / f"{label}-{index}.jpg").touch()


def names(dataset):
    return {split: {path.name for path in pictures.paths} for split, pictures in dataset.splits.items()}


def test_split_folders(image_folder):
    images = data.find(image_folder)
    assert images.labels == ("blue", "green", "red")
    assert {name: len(split.paths) for name, split in images.splits.items()} == {"train": 18, "val": 9, "test": 6}
    for name, split in images.splits.items():
        assert split.labels.dtype == np.int64
        for path, label in zip(split.paths, split.labels):
            assert path.parent == image_folder / name / images.labels[label]


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
    images = data.find(tmp_path, val_ratio=0.2, test_ratio=0.1)
    counts = {name: len(split.paths) for name, split in images.splits.items()}
    assert sum(counts.values()) == 1000
    assert len(set().union(*names(images).values())) == 1000
    assert counts["val"] == pytest.approx(200, abs=50) and counts["test"] == pytest.approx(100, abs=40)
    for split in images.splits.values():
        assert all(path.parent.name == images.labels[label] for path, label in zip(split.paths, split.labels))


def test_added_pictures_move_no_other(tmp_path):
    for label in ("a", "b"):
        empty_pictures(tmp_path, label, 100)
    before = names(data.find(tmp_path))
    empty_pictures(tmp_path, "a", 150)
    empty_pictures(tmp_path, "c", 100)
    after = names(data.find(tmp_path))
    assert all(before[split] and before[split] < after[split] for split in data.SPLITS)


def test_a_name_decides_the_split_for_ever():
    names = ["a/1.jpg", "a/2.jpg", "ä/1.jpg", "b/x y.png", "b/\udcff.jpg"]
    assert [draw(name, 0.3, 0.3) for name in names] == ["test", "test", "test", "val", "train"]


def test_labels_txt_gives_the_order(image_folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(image_folder, copy)
    (copy / "labels.txt").write_text("red\nblue\ngreen\n")
    images = data.find(copy)
    assert images.labels == ("red", "blue", "green")
    val = images.splits["val"]
    assert {(path.parent.name, int(label)) for path, label in zip(val.paths, val.labels)} == {
        ("red", 0),
        ("blue", 1),
        ("green", 2),
    }


def test_pixels_equal_those_of_preprocess(image_folder):
    split = data.find(image_folder).splits["val"]
    pixels, labels, paths = data.read(split, 17)
    assert pixels.shape == (9, 17, 17, 3) and pixels.dtype == np.uint8
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] and paths == split.paths
    for path, read in zip(split.paths, pixels):
        assert np.array_equal(read, load(path, 17))
    assert pixels[0].mean(axis=(0, 1)).argmax() == 2 and pixels[-1].mean(axis=(0, 1)).argmax() == 0


def test_the_pixels_are_in_memory_once(tmp_path):
    for split in ("train", "val"):
        for index in range(80):
            picture(tmp_path / split / "a" / f"{index:02d}.png", (90, 90, 90), index + 100 * len(split), 96)
    (tmp_path / "train" / "a" / "00.png").write_bytes(b"")
    split = data.find(tmp_path).splits["train"]
    data.read(split, 8)  # a bad image makes Pillow import all its decoders
    tracemalloc.start()
    try:
        pixels = data.read(split, 96).pixels
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(pixels) == 79 and pixels.nbytes > 2_000_000
    assert peak < 1.5 * pixels.nbytes
    assert np.array_equal(pixels[0], load(split.paths[1], 96)) and np.array_equal(pixels[-1], load(split.paths[-1], 96))


def test_too_many_pixels_for_the_memory(image_folder):
    with pytest.raises(InputError, match=r"9 images of 10000000 x 10000000 pixels need [0-9.]+ GiB"):
        data.read(data.find(image_folder).splits["val"], 10**7)


# --- several data sets


@pytest.fixture
def other_folder(tmp_path):
    """Return a second data set: two classes, a test split, labels in another order, and coarse labels."""
    root = tmp_path / "other"
    for split in data.SPLITS:
        for index, label in enumerate(("oval", "square")):
            picture(root / split / label / "1.png", (90, 90, 90), 1000 + 10 * len(split) + index)
    (root / "labels.txt").write_text("square\noval\n")
    (root / "manifest.csv").write_text("file,label,coarse_label\na,square,angular\nb,oval,round\nc,oval,round\n")
    return root


def test_joined_labels_follow_each_other(image_folder, other_folder):
    images = data.find([image_folder, other_folder])
    assert images.labels == ("blue", "green", "red", "square", "oval")
    assert {name: len(split.paths) for name, split in images.splits.items()} == {"train": 20, "val": 11, "test": 8}
    for split in images.splits.values():
        assert all(path.parent.name == images.labels[label] for path, label in zip(split.paths, split.labels))
    for folders in (other_folder, str(other_folder), [other_folder]):
        assert data.find(folders).labels == ("square", "oval")


def test_coarse_labels(image_folder, other_folder):
    assert data.find(image_folder).coarse is None
    assert data.find(other_folder).coarse == {"square": "angular", "oval": "round"}
    own = {label: label for label in ("blue", "green", "red")}
    assert data.find([image_folder, other_folder]).coarse == {**own, "square": "angular", "oval": "round"}


def test_labels_of_another_data_set_are_their_own_coarse_labels(other_folder):
    labels = ("oval", "square", "pear")
    expected = {"oval": "round", "square": "angular", "pear": "pear"}
    assert manifest.coarse_labels(other_folder, labels, complete=False) == expected
    with pytest.raises(InputError, match="no line for pear"):
        manifest.coarse_labels(other_folder, labels)


def test_a_manifest_without_coarse_labels(other_folder):
    (other_folder / "manifest.csv").write_text("file,label\na,square\n")
    assert data.find(other_folder).coarse is None


@pytest.mark.parametrize(
    "lines, message",
    [
        ("a,square,angular\n", "manifest.csv: has no line for oval"),
        ("a,square,angular\nb,oval,\n", "manifest.csv:3: has no coarse_label"),
        ("a,oval,round\nb,square,angular\nc,oval,long\n", "manifest.csv:4: oval belongs to long here and to round"),
        ("a,oval\xe9,round", "manifest.csv: is not UTF-8 text"),
    ],
)
def test_manifests_that_cannot_be_right(other_folder, lines, message):
    (other_folder / "manifest.csv").write_bytes(f"file,label,coarse_label\n{lines}".encode("latin-1"))
    with pytest.raises(InputError, match=message):
        data.find(other_folder)


def test_a_split_that_one_of_them_lacks_is_left_out(image_folder, other_folder, capsys):
    shutil.rmtree(other_folder / "test")
    assert set(data.find([image_folder, other_folder]).splits) == {"train", "val"}
    assert f"warning: test is left out: {other_folder} has none" in capsys.readouterr().err


def test_the_same_label_in_two_data_sets(image_folder, other_folder):
    for split in data.SPLITS:
        (other_folder / split / "oval").rename(other_folder / split / "Red")
    (other_folder / "labels.txt").unlink()
    (other_folder / "manifest.csv").unlink()
    with pytest.raises(InputError, match="'red'"):
        data.find([image_folder, other_folder])
    with pytest.raises(InputError, match="'blue' and 'blue'"):
        data.find([image_folder, image_folder])
    with pytest.raises(InputError, match="no data set given"):
        data.find([])


LABELS = ("red", "green", "blue")


def write_labels(folder, labels):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "labels.txt").write_text("".join(f"{label}\n" for label in labels), "utf-8")


def test_the_order_of_the_labels_is_that_of_the_logits(image_folder):
    result = lp.find(image_folder / "test", LABELS)
    assert result.labels == LABELS
    assert result.truth.tolist() == [0, 0, 1, 1, 2, 2]
    assert [path.parent.name for path in result.paths] == ["red", "red", "green", "green", "blue", "blue"]


def test_a_split_can_lack_classes(image_folder):
    result = lp.find(image_folder / "test", ("cyan", *LABELS))
    assert set(result.truth.tolist()) == {1, 2, 3}


def test_limit_spreads_over_the_split(image_folder):
    result = lp.find(image_folder / "train", LABELS).spread(3)
    assert result.truth.tolist() == [0, 1, 2]
    assert lp.find(image_folder / "test", LABELS).spread(99).truth.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "folder, message",
    [
        ("nowhere", "no such folder"),
        (".", "holds the splits test, train, val; give one of them, as in"),
        ("test", "no label for the class folder green; its 2 labels are red, blue"),
    ],
)
def test_wrong_folders_are_refused(image_folder, folder, message):
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        lp.find(image_folder / folder, ("red", "blue"))


def test_a_folder_without_pictures(tmp_path):
    (tmp_path / "red").mkdir()
    with pytest.raises(InputError, match="no images; expected"):
        lp.find(tmp_path, LABELS)


def test_labels_next_to_the_model_are_read(tmp_path, image_folder):
    write_labels(tmp_path, LABELS)
    assert lp.labels_of(tmp_path / "model.keras", None, image_folder / "test") == LABELS


def test_labels_of_the_bundle(tmp_path, image_folder):
    bundle = tiny.write_tiny(tmp_path)
    assert lp.labels_of(tmp_path / "model.keras", bundle, image_folder / "test") == tiny.LABELS
    write_labels(tmp_path, LABELS)
    with pytest.raises(InputError, match="have different labels"):
        lp.labels_of(tmp_path / "model.keras", bundle, image_folder / "test")


def test_labels_next_to_the_split_are_read_last(tmp_path, image_folder):
    shutil.copytree(image_folder / "test", tmp_path / "data/test")
    with pytest.raises(InputError, match="no labels: neither"):
        lp.labels_of(tmp_path / "model.keras", None, tmp_path / "data/test")
    write_labels(tmp_path / "data", LABELS)
    assert lp.labels_of(tmp_path / "model.keras", None, tmp_path / "data/test") == LABELS


def test_labels_that_are_there_twice(tmp_path, image_folder):
    write_labels(tmp_path, ("red", "green", "red"))
    with pytest.raises(InputError, match="red is there twice"):
        lp.labels_of(tmp_path / "model.keras", None, image_folder / "test")
