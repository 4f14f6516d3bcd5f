"""The layout of a data set, and unreadable images."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.preprocess import load
from training import crops, data, reading


def save(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (2, 2)).save(path)
    return path


@pytest.fixture
def folder(image_folder, tmp_path):
    """Return a copy of the data set that a test can damage."""
    return shutil.copytree(image_folder, tmp_path / "set")


def refused(folder):
    with pytest.raises(InputError) as error:
        data.find(folder)
    message = str(error.value)
    assert "\n" not in message and str(folder) in message
    return message


def counts(result):
    return {name: len(split.paths) for name, split in result.splits.items()}


def test_a_class_that_a_split_lacks(folder):
    shutil.rmtree(folder / "val" / "blue")
    shutil.rmtree(folder / "test" / "red")
    assert "val has no images of blue; test has no images of red; every class needs a folder" in refused(folder)


def test_a_class_without_training_images_is_reported(folder):
    save(folder / "val" / "yellow" / "1.png")
    assert "train has no images of yellow; test has no images of yellow" in refused(folder)


def test_an_empty_class_folder_is_a_missing_one(folder):
    for path in (folder / "train" / "green").iterdir():
        path.unlink()
    assert "train has no images of green" in refused(folder)


def test_listed_classes_may_be_missing_from_val_and_test(folder, capsys):
    (folder / "labels.txt").write_text("blue\ngreen\nred\n")
    shutil.rmtree(folder / "val" / "blue")
    images = data.find(folder)
    assert images.labels == ("blue", "green", "red") and set(images.splits["val"].labels) == {1, 2}
    assert "val has no images of 1 of 3 classes: blue" in capsys.readouterr().err
    shutil.rmtree(folder / "train" / "red")
    assert "train has no images of red" in refused(folder)


@pytest.mark.parametrize(
    "listed, named",
    [
        ("blue\ngreen\n", "not listed: red"),
        ("blue\ngreen\nred\nyellow\n", "without a folder: yellow"),
        ("blue\ngreen\nblue\nred\n", "there twice: blue"),
        ("blue\n\ngreen\nred\n", "line 2 is empty"),
        ("", "has no labels"),
    ],
)
def test_labels_txt_that_does_not_match(folder, listed, named):
    (folder / "labels.txt").write_text(listed)
    assert named in refused(folder)


def test_folders_without_pictures(tmp_path):
    assert "no such folder" in refused(tmp_path / "nowhere")
    assert "is a file" in refused(save(tmp_path / "1.png"))
    assert "no class folders" in refused(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.txt").touch()
    assert "there are no images of a; every class needs a folder with images" in refused(tmp_path)


def test_too_few_pictures_to_split(tmp_path, capsys):
    for label, count in (("many", 60), ("one", 1)):
        for index in range(count):
            save(tmp_path / label / f"{index}.png")
    assert counts(data.find(tmp_path, val_ratio=0.2, test_ratio=0.0)).keys() == {"train", "val"}
    assert "few images of some classes: none falls by its name into val of one" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"too few images of .*one: none falls by its name into train"):
        data.find(tmp_path, val_ratio=0.99, test_ratio=0.0)
    with pytest.raises(InputError, match="none falls by its name into val"):
        data.find(tmp_path, val_ratio=0.0, test_ratio=0.0)


@pytest.mark.parametrize("names", [("Train", "Val"), ("training", "validation"), ("train", "validation")])
def test_misnamed_splits_are_reported(folder, names):
    shutil.rmtree(folder / "test")
    (folder / "train").rename(folder / names[0])
    (folder / "val").rename(folder / names[1])
    assert f"has {names[0]}, {names[1]}, but training needs both train and val" in refused(folder)


def test_a_class_can_have_the_name_of_a_split(tmp_path):
    for label in ("Train", "bus"):
        for index in range(40):
            save(tmp_path / label / f"{index}.png")
    assert data.find(tmp_path).labels == ("Train", "bus")


def test_classes_that_differ_by_case_alone(folder):
    (folder / "val" / "red").rename(folder / "val" / "Red")
    assert "'Red' and 'red' are the same or differ by case or encoding alone" in refused(folder)


def test_classes_that_differ_by_the_encoding_of_accents_alone(folder):
    for split, form in (("train", "NFC"), ("val", "NFD"), ("test", "NFC")):
        (folder / split / "red").rename(folder / split / unicodedata.normalize(form, "rosé"))
    assert r"'rose\u0301' and 'ros\xe9' are the same or differ" in refused(folder)


@pytest.mark.parametrize("name", ["two\nlines", "end ", "bad\udce9"])
def test_folders_with_invalid_labels_as_names_are_refused(folder, name):
    save(folder / "train" / "red" / "x.png").parent.rename(folder / "train" / name)
    assert ascii(name) in refused(folder) and "cannot be a label" in refused(folder)


def test_hidden_files_and_folders_are_passed_over(folder, capsys):
    before = data.find(folder)
    save(folder / "train" / "red" / ".red.png")
    save(folder / "train" / ".cache" / "1.png")
    save(folder / "train" / "red" / ".thumbnails" / "1.png")
    (folder / "val" / "red" / ".DS_Store").touch()
    assert counts(data.find(folder)) == counts(before)
    assert capsys.readouterr().err == ""


def test_files_other_than_images_are_named(folder, capsys):
    (folder / "train" / "red" / "notes.txt").touch()
    (folder / "val" / "red" / "photo.heic").touch()
    assert counts(data.find(folder)) == {"train": 18, "val": 9, "test": 6}
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"warning: {folder}: left out, no images by their names (.avif, .bmp, .gif")
    assert lines[1:] == [f"  {folder}/train/red/notes.txt", f"  {folder}/val/red/photo.heic"]


def test_pictures_in_folders_inside_class_folders(folder):
    (folder / "train" / "red" / "empty" / "deeper").mkdir(parents=True)
    data.find(folder)
    save(folder / "train" / "red" / "empty" / "deeper" / "1.png")
    message = refused(folder)
    assert f"{folder}/train/red/empty: images in a folder inside a class folder, 1.png for one" in message


def test_links_are_followed(folder, tmp_path):
    before = data.find(folder)
    (folder / "train" / "red").rename(tmp_path / "elsewhere")
    (folder / "train" / "red").symlink_to(tmp_path / "elsewhere")
    (folder / "val" / "red" / "linked.png").symlink_to(save(tmp_path / "new" / "1.png"))
    linked = data.find(folder)
    assert linked.splits["train"].paths == before.splits["train"].paths
    assert folder / "val" / "red" / "linked.png" in linked.splits["val"].paths


# --- duplicate images
def test_the_same_bytes_in_two_splits_are_named(folder, capsys):
    pairs = [(folder / "train/red/red0.png", folder / "val/red/copy.png"), (folder / "val/blue/blue1.png",) * 2]
    shutil.copy(*pairs[0])
    (folder / "test/blue/link.png").symlink_to(pairs[1][0])
    shutil.copy(folder / "train/red/red1.png", folder / "train/red/again.png")  # allowed: the same split and label
    data.find(folder)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("warning: 2 images are there more than once, in two splits or under two labels")
    assert sorted(lines[1:]) == sorted(
        [f"  {pairs[0][0]} = {pairs[0][1]}", f"  {pairs[1][0]} = {folder}/test/blue/link.png"]
    )


def test_the_same_bytes_under_two_labels_are_named(folder, capsys):
    shutil.copy(folder / "train/red/red0.png", folder / "train/green/red0.png")
    data.find(folder)
    assert f"{folder}/train/green/red0.png = {folder}/train/red/red0.png" in capsys.readouterr().err


def test_pictures_of_the_same_size_that_differ(folder, capsys):
    size = (folder / "train/red/red0.png").stat().st_size
    for split, byte in (("train", b"a"), ("val", b"b")):
        (folder / split / "red" / "same_size.png").write_bytes(byte * size)
        (folder / split / "red" / "empty.png").touch()
    data.find(folder)
    assert capsys.readouterr().err == ""


SPOILED = {
    "blue/cut.jpg": "the image is damaged",
    "blue/empty.png": "the file is empty",
    "blue/gone.png": "no such file",
    "green/pipe.png": "is a pipe",
    "green/text.jpg": "not an image",
    "red/torn.png": "not an image",
}


@pytest.fixture
def damaged_folder(image_folder, tmp_path):
    """Return a data set with six invalid image files in train, each for another reason."""
    damaged_folder = shutil.copytree(image_folder, tmp_path / "set")
    train = damaged_folder / "train"
    photo = tmp_path / "photo.jpg"

    Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)).save(photo)
    (train / "blue" / "cut.jpg").write_bytes(photo.read_bytes()[:1500])
    (train / "blue" / "empty.png").touch()
    (train / "blue" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    os.mkfifo(train / "green" / "pipe.png")
    (train / "green" / "text.jpg").write_text("<html>404</html>")
    (train / "red" / "torn.png").write_bytes(b"\x89PNG")
    return damaged_folder


def test_unreadable_images_are_skipped_and_named(damaged_folder, capsys):
    split = data.find(damaged_folder).splits["train"]
    assert len(split.paths) == 24
    pixels, labels, paths = data.read(split, 12)
    assert len(pixels) == len(paths) == 18 and np.bincount(labels).tolist() == [6, 6, 6]
    for picture, label, path in zip(pixels, labels, paths):
        assert np.array_equal(picture, load(path, 12)) and path.parent.name == ("blue", "green", "red")[label]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "warning: 6 of 24 images cannot be read and are left out (--strict stops here):"
    assert len(lines) == 7
    for line, (name, reason) in zip(lines[1:], SPOILED.items()):
        assert line.startswith(f"  {damaged_folder}/train/{name}: ") and reason in line


def test_unreadable_images_are_an_error_in_strict_mode(damaged_folder, capsys):
    split = data.find(damaged_folder).splits["train"]
    with pytest.raises(InputError) as error:
        data.read(split, 12, strict=True)
    lines = str(error.value).splitlines()
    assert lines[0] == "6 of 24 images cannot be read:"
    assert all(f"train/{name}: " in line for line, name in zip(lines[1:], SPOILED))
    assert capsys.readouterr().err == ""


def test_readable_images_cause_no_warning(image_folder, capsys):
    data.read(data.find(image_folder).splits["val"], 12, strict=True)
    assert capsys.readouterr().err == ""


def test_a_class_without_readable_images_is_an_error(damaged_folder):
    for path in (damaged_folder / "val" / "red").iterdir():
        path.write_bytes(b"")
    with pytest.raises(InputError, match=f"no image of a class can be read: {damaged_folder}/val/red"):
        data.read(data.find(damaged_folder).splits["val"], 12)


def test_a_split_without_readable_images_is_an_error(damaged_folder):
    for path in (damaged_folder / "val").glob("*/*"):
        path.write_bytes(b"")
    with pytest.raises(InputError, match="9 of 9 images cannot be read:\n"):
        data.read(data.find(damaged_folder).splits["val"], 12)


def test_super_resolution_skips_unreadable_images(damaged_folder, capsys):
    paths = crops.find(damaged_folder)["train"]
    assert len(crops.read(paths, 16)) == 18
    assert "6 of 24 images cannot be read" in capsys.readouterr().err
    with pytest.raises(InputError, match="6 of 24"):
        crops.read(paths, 16, strict=True)


def test_an_interruption_does_not_wait_for_all_images(tmp_path):
    done = []

    def work(index):
        if index == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)
        done.append(index)

    with pytest.raises(KeyboardInterrupt):
        reading.each([tmp_path] * 5000, work)
    assert len(done) < 4000


def test_a_terminal_shows_progress(image_folder):
    terminal, stderr = pty.openpty()
    fcntl.ioctl(stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    script = (
        "import sys; from pathlib import Path; from training import data\n"
        "data.read(data.find(Path(sys.argv[1])).splits['val'], 12)"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", script, image_folder], check=True, cwd=root, stderr=stderr)
    os.close(stderr)
    text = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "reading: " in text and "/9 [" in text
