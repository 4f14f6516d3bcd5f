"""Where frames come from: a folder of pictures, a film, a V4L2 device, or the camera of a Raspberry Pi.

Folders, and films that Pillow reads (animated GIF, PNG and WebP), need nothing more; other films and ``/dev/video*``
need PyAV (``pip install 'glsl-infer[camera]'``), ``picamera2`` the library of that name, which Raspberry Pi OS has as
``python3-picamera2``.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer import preprocess
from glsl_infer.cli import pictures
from glsl_infer.errors import ImageError, InputError, MissingExtraError, RunError

PICAMERA2 = "picamera2"
SIZE = (640, 480)
"""Width and height that a camera is asked for: no network here reads more than its centred square of that."""

_ANIMATED = {".gif", ".png", ".apng", ".webp"}


@dataclass(frozen=True)
class Frame:
    """One frame: uint8 (height, width, 3), its number from 0 on, and its name if it has one."""

    pixels: NDArray[np.uint8]
    index: int
    name: str | None = None


@dataclass(frozen=True)
class Source:
    """Frames, and whether they come by themselves: those of a live source that nobody takes are lost.

    Attributes:
        frames: close it to give the camera or the file back.
    """

    name: str
    live: bool
    frames: Iterator[Frame]


def open_source(name: str) -> Source:
    """Open a source by its name: ``picamera2``, ``/dev/videoN``, a film file or a folder.

    Raises:
        InputError: there is no such thing, or it holds no frames.
        MissingExtraError: the library that it needs is not installed.
    """
    if name == PICAMERA2:
        return Source(name, True, _picamera2())
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"--source {name}: {reason}; give picamera2, /dev/videoN, a film file or a folder of pictures"
        ) from None
    if stat.S_ISDIR(mode):
        return Source(name, False, _folder(pictures.find([path])))
    if stat.S_ISCHR(mode):
        return Source(name, True, _v4l2(name, _av("reading a camera")))
    if not stat.S_ISREG(mode):
        raise InputError(f"--source {name}: is no film, no folder and no camera")
    if path.suffix.lower() in _ANIMATED:
        return Source(name, False, _animation(path))
    if path.suffix.lower() in pictures.SUFFIXES:
        return Source(name, False, _folder([path]))
    return Source(name, False, _film(name, _av("reading a film that is no GIF, PNG or WebP")))


def every(frames: Iterator[Frame], step: int) -> Iterator[Frame]:
    """Yield every ``step``-th frame, the first among them; closing it closes ``frames``."""
    try:
        yield from (frame for frame in frames if frame.index % step == 0)
    finally:
        close = getattr(frames, "close", None)
        if close is not None:
            close()


def _folder(files: list[Path]) -> Iterator[Frame]:
    """Yield the pictures of a folder; one that cannot be read is named and passed over."""
    for index, path in enumerate(files):
        try:
            pixels = np.asarray(preprocess.open_image(path))
        except ImageError as error:
            print(f"warning: {error}; left out", file=sys.stderr)
            continue
        yield Frame(pixels, index, str(path))


def _animation(path: Path) -> Iterator[Frame]:
    preprocess.open_image(path)  # says in words what is wrong with it
    try:
        with Image.open(path) as image:
            for index in range(getattr(image, "n_frames", 1)):
                image.seek(index)
                yield Frame(np.asarray(image.convert("RGB")), index)
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        raise InputError(f"{path}: damaged ({error}); the frames before were computed") from None


def _film(name: str, av: Any) -> Iterator[Frame]:
    try:
        with av.open(name) as container:
            for index, frame in enumerate(container.decode(video=0)):
                yield Frame(np.ascontiguousarray(frame.to_ndarray(format="rgb24")), index)
    except (av.error.FFmpegError, IndexError) as error:  # IndexError: there is no picture in it
        raise InputError(f"{name}: not a film that can be read ({error})") from None


def _v4l2(name: str, av: Any) -> Iterator[Frame]:
    width, height = SIZE
    try:
        container = av.open(name, format="v4l2", options={"video_size": f"{width}x{height}"})
    except av.error.FFmpegError as error:
        raise InputError(f"{name}: the camera cannot be opened ({error}); is another program using it?") from None
    with container:
        try:
            for index, frame in enumerate(container.decode(video=0)):
                yield Frame(np.ascontiguousarray(frame.to_ndarray(format="rgb24")), index)
        except av.error.FFmpegError as error:
            raise RunError(f"{name}: the camera gives no more frames ({error}); was it unplugged?") from None
    raise RunError(f"{name}: the camera gives no more frames; was it unplugged?")


def _picamera2() -> Iterator[Frame]:
    try:
        import picamera2
    except ImportError:
        raise MissingExtraError(
            "--source picamera2 needs the library picamera2, which is not installed: sudo apt-get install "
            "python3-picamera2, and a virtual environment made with --system-site-packages"
        ) from None
    return _picamera2_frames(picamera2)


def _picamera2_frames(picamera2: Any) -> Iterator[Frame]:
    try:
        camera = picamera2.Picamera2()
        # libcamera calls by the order in a little-endian word what Python gives as R, G, B.
        camera.configure(camera.create_video_configuration(main={"size": SIZE, "format": "BGR888"}))
        camera.start()
    except (RuntimeError, IndexError, OSError) as error:
        raise InputError(f"--source picamera2: the camera cannot be opened ({error})") from None
    index = 0
    try:
        while True:
            try:
                pixels = camera.capture_array("main")
            except (RuntimeError, OSError) as error:
                raise RunError(f"picamera2: the camera gives no more frames ({error}); was it unplugged?") from None
            yield Frame(np.ascontiguousarray(pixels[..., :3]), index)
            index += 1
    finally:
        camera.stop()
        camera.close()


def _av(purpose: str) -> Any:
    try:
        import av
    except ImportError:
        raise MissingExtraError.of("PyAV", "camera", purpose) from None
    return av
