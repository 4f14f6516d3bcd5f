"""Frame sources of the camera, also picamera2, and the commands that it starts."""

from __future__ import annotations

import os
import shlex
import struct
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import av
import numpy as np
import pytest
from fake_picamera import OFFSET, STRIDE, Picamera, contents
from PIL import Image

from glsl_infer import DmaBuf
from glsl_infer.errors import ImageError, InputError, MissingExtraError, RunError
from glsl_infer.tools.camera import raspberry_pi
from glsl_infer.tools.camera.frame import Borrowed, Frame
from glsl_infer.tools.camera.latest import Latest
from glsl_infer.tools.camera.presence import Reaction
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
        indices = []
        with pytest.raises(RunError, match="unplugged"):
            indices.extend(frame.index for frame in latest)


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
    truncated = write_film(tmp_path / "cut.mp4", [(1, 2, 3)] * 5)
    truncated.write_bytes(truncated.read_bytes()[:200])
    for path in (text, truncated):
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


PICTURES = [np.random.default_rng(seed).integers(0, 256, (480, 640, 3), np.uint8) for seed in range(3)]


@pytest.fixture
def picamera2() -> Iterator[Picamera]:
    library = Picamera(PICTURES)
    yield library
    library.close()


def test_frames_have_the_pixels_of_the_camera(picamera2: Picamera) -> None:
    frames = raspberry_pi.copied(picamera2)
    for index in range(4):
        frame = next(frames)
        assert frame.index == index
        np.testing.assert_array_equal(frame.pixels(), PICTURES[index % 3])
    frames.close()
    assert picamera2.over()


def test_dma_bufs_have_the_pixels_until_they_are_closed(picamera2: Picamera) -> None:
    frames = raspberry_pi.shared(picamera2)
    for index in range(20):  # more frames than buffers
        with next(frames) as frame:
            assert frame.index == index
            assert isinstance(frame.picture, DmaBuf)
            assert (frame.picture.width, frame.picture.height, frame.picture.fourcc) == (640, 480, "XB24")
            (plane,) = frame.picture.planes
            assert (plane.offset, plane.stride) == (OFFSET, STRIDE)
            np.testing.assert_array_equal(frame.pixels(), PICTURES[index % 3])
            stored = contents(plane.fd, plane.offset, plane.stride, 640, 480)
            np.testing.assert_array_equal(stored[..., :3], PICTURES[index % 3])
        with pytest.raises(ValueError, match="has been closed"):
            frame.pixels()
    frames.close()
    assert picamera2.over()


def test_a_frame_returns_its_memory_once() -> None:
    calls = []
    frame = Frame(PICTURES[0], 0, borrowed=Borrowed(lambda: PICTURES[1], lambda: calls.append(1)))
    for _ in range(3):
        frame.close()
    assert calls == [1]
    np.testing.assert_array_equal(frame.pixels(), PICTURES[0])


def test_the_camera_is_closed_with_its_last_open_frame(picamera2: Picamera) -> None:
    frames = raspberry_pi.shared(picamera2)
    first, second = next(frames), next(frames)
    frames.close()
    (camera,) = picamera2.cameras
    assert (camera.stopped, camera.closed, camera.lent()) == (1, 0, 2)
    second.close()
    second.close()
    assert (camera.closed, camera.lent()) == (0, 1)
    first.close()
    assert picamera2.over()


@pytest.mark.parametrize("source", [raspberry_pi.copied, raspberry_pi.shared])
def test_an_unplugged_camera_is_reported(source: object) -> None:
    picamera2 = Picamera(PICTURES, left=2)
    assert callable(source)
    frames = source(picamera2)
    next(frames).close()
    last = next(frames)
    with pytest.raises(RunError, match=r"gives no more frames \(the cable\); was it unplugged"):
        next(frames)
    last.close()
    assert picamera2.over()
    picamera2.close()


@pytest.mark.parametrize("source", [raspberry_pi.copied, raspberry_pi.shared])
def test_a_camera_that_cannot_be_opened_is_reported(source: object) -> None:
    picamera2 = Picamera(PICTURES, broken=True)
    assert callable(source)
    with pytest.raises(InputError, match=r"the camera cannot be opened \(no camera is plugged in\)"):
        next(source(picamera2))
    assert [camera.closed for camera in picamera2.cameras] == [1]
    picamera2.close()


def test_another_pixel_format_is_refused(picamera2: Picamera) -> None:
    picamera2.gives["XBGR8888"] = "YUYV"
    with pytest.raises(ImageError, match="the camera gives YUYV and not XBGR8888"):
        next(raspberry_pi.shared(picamera2))
    assert picamera2.over()
    assert len(picamera2.cameras[0].requests) == 1


def test_unread_frames_return_to_the_camera(picamera2: Picamera) -> None:
    picamera2.left = 200
    with Latest(every(raspberry_pi.shared(picamera2), 3)) as latest:
        indices = []
        with pytest.raises(RunError, match="unplugged"):
            for frame in latest:
                indices.append(frame.index)
                frame.close()
    assert indices == sorted(indices) and indices[-1] == 198
    assert picamera2.over()
    assert latest.dropped == 67 - len(indices)


def test_closing_returns_the_unread_frame(picamera2: Picamera) -> None:
    latest = Latest(raspberry_pi.shared(picamera2))
    with next(iter(latest)):
        latest.close()
    assert not latest._thread.is_alive()
    assert picamera2.over()
    assert len(picamera2.cameras[0].requests) > 1


def test_a_source_has_copied_and_shared_frames(picamera2: Picamera, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "picamera2", picamera2)
    source = open_source("picamera2")
    assert source.live and picamera2.cameras == [], "opened with the first frame"
    assert source.shared is not None
    frames = source.shared()
    with next(frames) as frame:
        assert isinstance(frame.picture, DmaBuf)
    frames.close()
    assert isinstance(next(source.frames).picture, np.ndarray)
    source.frames.close()
    assert picamera2.over()


def test_a_program_that_cannot_be_started_is_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "ring.sh"
    Reaction(shlex.quote(str(script)), None, "--on")
    warning = f"warning: --on {script}: no such file"
    assert capsys.readouterr().err == warning + "\n"
    Reaction(f"{shlex.quote(str(script))} hall", None, "--on")
    assert capsys.readouterr().err.startswith(f"{warning}; a path with spaces needs quotes")
    Reaction("ring.sh", None)
    assert capsys.readouterr().err.startswith("warning: --on-appear ring.sh: no such program; give the path of")
    script.write_text("#!/bin/sh\n")
    Reaction(str(script), None)
    advice = f"make it so: chmod +x {shlex.quote(str(script))}"
    assert capsys.readouterr().err == f"warning: --on-appear {script}: is not executable; {advice}\n"
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    Reaction("ring.sh hall", None)
    assert capsys.readouterr().err.endswith("no such program; for the file in this folder, give ./ring.sh\n")
    Reaction(f"{shlex.quote(sys.executable)} --version", None)
    assert not capsys.readouterr().err


def test_a_command_can_be_longer_than_a_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    Reaction(f"{shlex.quote(sys.executable)} {'x' * 5000}", None)
    assert not capsys.readouterr().err
    Reaction("x" * 5000, None)
    assert "no such program" in capsys.readouterr().err


def test_a_program_with_spaces_in_its_path_is_started(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Quoted with arguments, and without quotes if the path is all of the command."""
    script, ran = tmp_path / "my ring.sh", tmp_path / "ran"
    script.write_text(f'#!/bin/sh\necho "rang $1" >> {shlex.quote(str(ran))}\n')
    script.chmod(0o755)
    for command in (str(script), f"{shlex.quote(str(script))} hall"):
        reaction = Reaction(command, None)
        reaction.appeared(None)
        assert reaction._process is not None
        assert reaction._process.wait(30) == 0
    assert ran.read_text() == "rang \nrang hall\n"
    assert not capfd.readouterr().err
