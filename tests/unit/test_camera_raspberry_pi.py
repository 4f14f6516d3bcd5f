"""The picamera2 source, on a fake camera: frame contents, and each borrowed buffer returned once."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from fake_picamera import OFFSET, STRIDE, Picamera, contents

from glsl_infer import DmaBuf
from glsl_infer.errors import ImageError, InputError, RunError
from glsl_infer.tools.camera import raspberry_pi
from glsl_infer.tools.camera.frame import Borrowed, Frame
from glsl_infer.tools.camera.latest import Latest
from glsl_infer.tools.camera.sources import every, open_source

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
