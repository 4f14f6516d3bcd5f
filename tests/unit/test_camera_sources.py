"""Frame sources, and the newest frame of a live source."""

from __future__ import annotations

import os
import struct
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from glsl_infer.errors import InputError, MissingExtraError, RunError
from glsl_infer.tools.camera.frame import Frame
from glsl_infer.tools.camera.latest import Latest
from glsl_infer.tools.camera.sources import every, open_source


def frame(index: int) -> Frame:
    return Frame(np.zeros((1, 1, 3), np.uint8), index)


def test_unread_frames_are_dropped_and_counted() -> None:
    some_read, all_read = threading.Event(), threading.Event()

    def frames() -> Iterator[Frame]:
        yield frame(0)
        some_read.wait(10)
        yield from map(frame, range(1, 100))
        all_read.set()

    with Latest(frames()) as latest:
        stream = iter(latest)
        assert next(stream).index == 0
        some_read.set()
        assert all_read.wait(10)
        assert next(stream).index == 99
        assert latest.dropped == 98
        assert list(stream) == []


def test_a_camera_that_is_unplugged_is_an_error_after_its_last_frame() -> None:
    def frames() -> Iterator[Frame]:
        yield frame(0)
        raise RunError("unplugged")

    with Latest(frames()) as latest:
        seen = []
        with pytest.raises(RunError, match="unplugged"):
            seen.extend(frame.index for frame in latest)


def test_closing_gives_the_camera_back() -> None:
    closed = threading.Event()

    def frames() -> Iterator[Frame]:
        try:
            index = 0
            while True:
                yield frame(index)
                index += 1
        finally:
            closed.set()

    with Latest(every(frames(), 3)) as latest:
        assert next(iter(latest)).index % 3 == 0
    assert closed.wait(10)
    assert not latest._thread.is_alive()


def test_invalid_sources_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path / "none", "a" * 300, ""):
        with pytest.raises(InputError, match="--source"):
            open_source(str(name))


def test_films_without_pyav_name_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "film.mp4").write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"needs PyAV, which is not installed; .* -m pip install av"):
        open_source(str(tmp_path / "film.mp4"))


def write_film(path: Path, colours: list[tuple[int, int, int]]) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for colour in colours:
            pixels = np.full((48, 64, 3), colour, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    return path


def test_every_frame_of_a_film_in_order(tmp_path: Path) -> None:
    colours = [(250, 10, 10), (10, 250, 10), (10, 10, 250), (200, 200, 200)]
    source = open_source(str(write_film(tmp_path / "film.mp4", colours)))
    items = list(source.frames)
    assert not source.live
    assert [item.index for item in items] == [0, 1, 2, 3]
    for item, colour in zip(items, colours):
        assert item.pixels().shape == (48, 64, 3) and item.pixels().dtype == np.uint8
        assert np.abs(item.pixels().mean(axis=(0, 1)) - colour).max() < 12  # the tolerance of the codec


def test_unreadable_films_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "film.mp4"
    text.write_bytes(b"no film at all")
    cut = write_film(tmp_path / "cut.mp4", [(1, 2, 3)] * 5)
    cut.write_bytes(cut.read_bytes()[:200])
    for path in (text, cut):
        with pytest.raises(InputError, match="not a film that can be read"):
            list(open_source(str(path)).frames)


def test_a_device_other_than_a_camera_is_refused() -> None:
    with pytest.raises(InputError, match="/dev/null: the camera cannot be opened"):
        list(open_source("/dev/null").frames)


@pytest.mark.skipif(find_spec("picamera2") is not None, reason="picamera2 is installed")
def test_a_missing_picamera2_names_the_package() -> None:
    with pytest.raises(MissingExtraError, match="python3-picamera2"):
        open_source("picamera2")


def test_a_frame_that_outgrows_its_animation(tmp_path: Path) -> None:
    """A GIF of 104 bytes, 16 x 16 pixels, whose second frame has 30,000 x 30,000, is refused at that frame."""
    path = tmp_path / "grown.gif"
    Image.new("P", (16, 16)).save(path)
    data = path.read_bytes()
    frame = data.index(b"\x2c", 13)
    grown = b"\x2c" + struct.pack("<HHHHB", 0, 0, 30_000, 30_000, 0) + data[frame + 10 : -1]
    path.write_bytes(data[:-1] + grown + b";")
    frames = open_source(str(path)).frames
    assert next(frames).pixels().shape == (16, 16, 3)
    with pytest.raises(InputError, match=r"damaged \(too many pixels\); the frames before the damage were processed"):
        next(frames)


def test_the_name_of_a_picture_begins_no_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a\nerror: nothing.png").write_text("no picture")
    assert not list(open_source(str(tmp_path)).frames)
    errors = capsys.readouterr().err
    assert errors.startswith("warning: ") and errors.count("\n") == 1
