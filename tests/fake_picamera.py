"""A fake of the library picamera2, for the engine's calls, which tracks requests and their release.

    picamera2 = Picamera([picture, picture])       # frames to repeat, uint8 (480, 640, 3)
    monkeypatch.setitem(sys.modules, "picamera2", picamera2)
    picamera2.cameras[-1].lent()                   # number of open requests; each may be released once

Each buffer's frame is in a file in memory instead of a dma-buf; ``contents`` reads it by descriptor.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

STRIDE = 4 * 640 + 64
OFFSET = 128
FRAME_SECONDS = 0.002
"""Seconds between two frames, in which other threads can run, as with a real camera."""


class Request:
    """The result of ``capture_request``."""

    def __init__(self, camera: Camera, fd: int, pixels: np.ndarray) -> None:
        self._camera, self._fd, self._pixels = camera, fd, pixels
        plane = SimpleNamespace(fd=fd, offset=OFFSET, length=os.fstat(fd).st_size)
        self.request = SimpleNamespace(buffers={"the main stream": SimpleNamespace(planes=[plane])})
        self.released = 0

    def make_array(self, name: str) -> np.ndarray:
        assert name == "main" and not self.released
        return np.dstack([self._pixels, np.zeros(self._pixels.shape[:2], np.uint8)])

    def release(self) -> None:
        self.released += 1
        assert self.released == 1, "a request is released once"
        assert not self._camera.closed, "before the camera is closed"
        with self._camera.freed:
            self._camera.free.append(self._fd)
            self._camera.freed.notify()


class Camera:
    """The result of ``Picamera2()``."""

    def __init__(self, library: Picamera) -> None:
        self._library = library
        self.requests: list[Request] = []
        self.free: list[int] = []
        self.freed = threading.Condition()
        self.started = self.stopped = self.closed = 0
        self.stream_map = {"main": "the main stream"}

    def create_video_configuration(self, main: dict[str, Any], buffer_count: int = 6) -> dict[str, Any]:
        return {"main": {**main, "stride": STRIDE}, "buffer_count": buffer_count}

    def configure(self, configuration: dict[str, Any]) -> None:
        main = configuration["main"]
        self._configuration = {"main": {**main, "format": self._library.gives.get(main["format"], main["format"])}}
        for _ in range(configuration["buffer_count"] if main["format"] == "XBGR8888" else 0):
            fd = os.memfd_create("frame")
            self._library.fds.append(fd)
            os.ftruncate(fd, OFFSET + STRIDE * main["size"][1])
            self.free.append(fd)

    def camera_configuration(self) -> dict[str, Any]:
        return self._configuration

    def start(self) -> None:
        if self._library.broken:
            raise RuntimeError("no camera is plugged in")
        self.started += 1

    def capture_array(self, name: str) -> np.ndarray:
        assert (name, self._configuration["main"]["format"]) == ("main", "BGR888")
        return self._next()

    def capture_request(self) -> Request:
        pixels = self._next()
        with self.freed:
            assert self.freed.wait_for(lambda: bool(self.free), 20), "all buffers are lent, and none comes back"
            fd = self.free.pop(0)
        height, width = pixels.shape[:2]
        rows = np.zeros((height, STRIDE), np.uint8)
        texels = np.full((height, width, 4), 77, np.uint8)  # the fourth byte is undefined
        texels[..., :3] = pixels
        rows[:, : 4 * width] = texels.reshape(height, -1)
        os.pwrite(fd, rows.tobytes(), OFFSET)
        self.requests.append(Request(self, fd, pixels))
        return self.requests[-1]

    def stop(self) -> None:
        self.stopped += 1

    def close(self) -> None:
        self.closed += 1

    def lent(self) -> int:
        return sum(not request.released for request in self.requests)

    def _next(self) -> np.ndarray:
        assert self.started and not self.stopped
        if self._library.left == 0:
            raise OSError("the cable")
        self._library.left -= 1
        time.sleep(FRAME_SECONDS)
        index, self._library.given = self._library.given, self._library.given + 1
        return self._library.pictures[index % len(self._library.pictures)]


class Picamera:
    """The fake module.

    ``left`` is the number of frames until the camera is unplugged. ``gives`` has formats to use instead of the
    requested ones.
    """

    def __init__(self, pictures: Sequence[np.ndarray], left: int = -1, broken: bool = False) -> None:
        self.pictures, self.left, self.broken = pictures, left, broken
        self.gives: dict[str, str] = {}
        self.given = 0
        self.fds: list[int] = []
        self.cameras: list[Camera] = []

    def Picamera2(self) -> Camera:
        self.cameras.append(Camera(self))
        return self.cameras[-1]

    def over(self) -> bool:
        """Return whether every camera was stopped and closed once, and all its requests were released."""
        return all((camera.stopped, camera.closed, camera.lent()) == (1, 1, 0) for camera in self.cameras)

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


def contents(fd: int, offset: int, stride: int, width: int, height: int) -> np.ndarray:
    """Return the contents of a plane with four bytes per pixel, uint8 (height, width, 4)."""
    rows = np.frombuffer(os.pread(fd, stride * height, offset), np.uint8).reshape(height, stride)
    return rows[:, : 4 * width].reshape(height, width, 4)
