"""Sources of frames, and the newest frame of a live one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from glsl_infer.camera.latest import Latest
from glsl_infer.camera.sources import Frame, every, open_source
from glsl_infer.errors import InputError, MissingExtraError, RunError


def frame(index: int) -> Frame:
    return Frame(np.zeros((1, 1, 3), np.uint8), index)


def test_frames_that_nobody_takes_are_dropped_and_counted() -> None:
    given, all_given = threading.Event(), threading.Event()

    def frames() -> Iterator[Frame]:
        yield frame(0)
        given.wait(10)
        yield from map(frame, range(1, 100))
        all_given.set()

    with Latest(frames()) as latest:
        taken = iter(latest)
        assert next(taken).index == 0
        given.set()
        assert all_given.wait(10)
        assert next(taken).index == 99
        assert latest.dropped == 98
        assert list(taken) == []


def test_a_camera_that_is_unplugged_is_an_error_after_its_last_frame() -> None:
    def frames() -> Iterator[Frame]:
        yield frame(0)
        raise RunError("unplugged")

    with Latest(frames()) as latest:
        seen = []
        with pytest.raises(RunError, match="unplugged"):
            seen.extend(one.index for one in latest)


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


def test_what_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path / "none", "a" * 300):
        with pytest.raises(InputError, match="--source"):
            open_source(str(name))


@pytest.mark.skipif(find_spec("av") is not None, reason="PyAV is installed")
def test_films_without_pyav_say_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"glsl-infer\[camera\]"):
        open_source(str(tmp_path / "film.mp4"))


@pytest.mark.skipif(find_spec("picamera2") is not None, reason="picamera2 is installed")
def test_picamera2_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match="python3-picamera2"):
        open_source("picamera2")
