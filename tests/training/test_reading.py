"""Unreadable images: each is named with the reason and skipped, or, in strict mode, an error."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.preprocess import load
from training import crops, data, reading

SPOILED = {
    "blue/cut.jpg": "the image is damaged",
    "blue/empty.png": "the file is empty",
    "blue/gone.png": "no such file",
    "green/pipe.png": "is a pipe",
    "green/text.jpg": "not an image",
    "red/torn.png": "not an image",
}


@pytest.fixture
def folder(image_folder, tmp_path):
    """Return a data set with six invalid image files in train, each for another reason."""
    folder = shutil.copytree(image_folder, tmp_path / "set")
    train = folder / "train"
    photo = tmp_path / "photo.jpg"

    Image.fromarray(np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)).save(photo)
    (train / "blue" / "cut.jpg").write_bytes(photo.read_bytes()[:1500])
    (train / "blue" / "empty.png").touch()
    (train / "blue" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    os.mkfifo(train / "green" / "pipe.png")
    (train / "green" / "text.jpg").write_text("<html>404</html>")
    (train / "red" / "torn.png").write_bytes(b"\x89PNG")
    return folder


def test_unreadable_images_are_skipped_and_named(folder, capsys):
    split = data.find(folder).splits["train"]
    assert len(split.paths) == 24
    pixels, labels, paths = data.read(split, 12)
    assert len(pixels) == len(paths) == 18 and np.bincount(labels).tolist() == [6, 6, 6]
    for picture, label, path in zip(pixels, labels, paths):
        assert np.array_equal(picture, load(path, 12)) and path.parent.name == ("blue", "green", "red")[label]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "warning: 6 of 24 images cannot be read and are left out (--strict stops here):"
    assert len(lines) == 7
    for line, (name, reason) in zip(lines[1:], SPOILED.items()):
        assert line.startswith(f"  {folder}/train/{name}: ") and reason in line


def test_unreadable_images_are_an_error_in_strict_mode(folder, capsys):
    split = data.find(folder).splits["train"]
    with pytest.raises(InputError) as error:
        data.read(split, 12, strict=True)
    lines = str(error.value).splitlines()
    assert lines[0] == "6 of 24 images cannot be read:"
    assert all(f"train/{name}: " in line for line, name in zip(lines[1:], SPOILED))
    assert capsys.readouterr().err == ""


def test_readable_images_cause_no_warning(image_folder, capsys):
    data.read(data.find(image_folder).splits["val"], 12, strict=True)
    assert capsys.readouterr().err == ""


def test_a_class_without_readable_images_is_an_error(folder):
    for path in (folder / "val" / "red").iterdir():
        path.write_bytes(b"")
    with pytest.raises(InputError, match=f"no image of a class can be read: {folder}/val/red"):
        data.read(data.find(folder).splits["val"], 12)


def test_a_split_without_readable_images_is_an_error(folder):
    for path in (folder / "val").glob("*/*"):
        path.write_bytes(b"")
    with pytest.raises(InputError, match="9 of 9 images cannot be read:\n"):
        data.read(data.find(folder).splits["val"], 12)


def test_super_resolution_skips_unreadable_images(folder, capsys):
    paths = crops.find(folder)["train"]
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
