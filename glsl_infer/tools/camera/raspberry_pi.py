"""Camera of a Raspberry Pi through picamera2: frames as pixels, or as the dma-bufs written by the camera.

It follows picamera2's documentation and source (0.3.38), and has run only on substitutes without a real camera.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ImageError, InputError, MissingExtraError, RunError
from glsl_infer.gl.dma_buf import DmaBuf, DmaBufPlane
from glsl_infer.tools.camera.frame import Borrowed, Frame

SIZE = (640, 480)
"""Requested width and height: no network here reads more than the centred square of this size."""

# libcamera's names have the order of a little-endian word: the bytes in memory are R, G, B, and in the second format
# one more.
_PIXELS, _SHARED = "BGR888", "XBGR8888"
_FOURCC = "XB24"
"""Name of ``_SHARED`` in ``drm_fourcc.h``. GPUs do not read three bytes a pixel."""

BUFFERS = 8
"""Number of dma-bufs for frames. At most five are out of the camera: two on the GPU, the newest, one just captured,
and one kept by picamera2. The camera itself needs one to write and one to continue with."""


def library() -> Any:
    """Return the module picamera2.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import picamera2
    except ImportError:
        raise MissingExtraError(
            "--source picamera2 needs the library picamera2, which is not installed: sudo apt-get install "
            "python3-picamera2, and a virtual environment made with --system-site-packages"
        ) from None
    return picamera2


def copied(picamera2: Any) -> Iterator[Frame]:
    """Yield frames of pixels copied by picamera2.

    Raises:
        InputError: the camera cannot be opened.
        RunError: the camera gives no more frames.
    """
    camera = _opened(picamera2, _PIXELS)
    index = 0
    try:
        while True:
            try:
                pixels = camera.capture_array("main")
            except (RuntimeError, OSError) as error:
                raise _unplugged(error) from None
            yield Frame(_rgb(pixels), index)
            index += 1
    finally:
        camera.stop()
        camera.close()


def shared(picamera2: Any) -> Iterator[Frame]:
    """Yield frames in dma-bufs. Each must be closed, or the camera runs out of memory for others.

    Closing the iterator stops the camera at once. The camera is closed with the last frame.

    Raises:
        ImageError: the camera's format is not readable by a GPU.
        As ``copied``.
    """
    requests = _Requests(_opened(picamera2, _SHARED, buffer_count=BUFFERS))
    index = 0
    try:
        while True:
            yield requests.frame(index)
            index += 1
    finally:
        requests.end()


class _Requests:
    """Borrowed frames of a camera, which stays open until all are returned."""

    def __init__(self, camera: Any) -> None:
        self._camera = camera
        self._lock = threading.Lock()  # frames are taken and returned in different threads
        self._lent, self._over = 0, False

    def frame(self, index: int) -> Frame:
        """Wait for the next frame and return it."""
        try:
            request = self._camera.capture_request()
        except (RuntimeError, OSError) as error:
            raise _unplugged(error) from None
        with self._lock:
            self._lent += 1
        borrowed = Borrowed(lambda: _rgb(request.make_array("main")), partial(self._give_back, request))
        try:
            return Frame(self._described(request), index, borrowed=borrowed)
        except BaseException:
            borrowed.give_back()
            raise

    def end(self) -> None:
        """Stop the camera; close it once all frames are returned."""
        try:
            self._camera.stop()
        finally:
            with self._lock:
                self._over = True
                close = not self._lent
            if close:
                self._camera.close()

    def _give_back(self, request: Any) -> None:
        try:
            request.release()
        finally:
            with self._lock:
                self._lent -= 1
                close = self._over and not self._lent
            if close:
                self._camera.close()

    def _described(self, request: Any) -> DmaBuf:
        main = self._camera.camera_configuration()["main"]
        if main["format"] != _SHARED:
            raise ImageError(f"the camera gives {main['format']} and not {_SHARED}")
        width, height = main["size"]
        plane = request.request.buffers[self._camera.stream_map["main"]].planes[0]
        return DmaBuf(width, height, _FOURCC, (DmaBufPlane(plane.fd, plane.offset, main["stride"]),))


def _opened(picamera2: Any, pixel_format: str, **more: Any) -> Any:
    camera: Any = None
    try:
        camera = picamera2.Picamera2()
        camera.configure(camera.create_video_configuration(main={"size": SIZE, "format": pixel_format}, **more))
        camera.start()
    except (RuntimeError, IndexError, OSError) as error:
        if camera is not None:
            camera.close()
        raise InputError(
            f"--source picamera2: the camera cannot be opened ({error}); a USB camera is --source /dev/video0"
        ) from None
    return camera


def _rgb(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(pixels[..., :3])


def _unplugged(error: Exception) -> RunError:
    return RunError(f"picamera2: the camera gives no more frames ({error}); was it unplugged?")
