"""Sources of frames: a folder of images, a film, a V4L2 device, or the camera of a Raspberry Pi.

Folders, and films supported by Pillow (animated GIF, PNG and WebP), need no additional library. Other films and
``/dev/video*`` need PyAV (``pip install av``). ``picamera2`` needs the library of this name, which is
``python3-picamera2`` in Raspberry Pi OS.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from glsl_infer.errors import ImageError, InputError, MissingExtraError, RunError
from glsl_infer.runtime.pictures import paths as pictures
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.decoding import fit_into_memory
from glsl_infer.support.plain_text import one_line
from glsl_infer.tools.camera import raspberry_pi
from glsl_infer.tools.camera.frame import Frame
from glsl_infer.tools.camera.raspberry_pi import SIZE

PICAMERA2 = "picamera2"

_SOURCES = "give picamera2, /dev/videoN, a film or a folder of images"

_ANIMATED = {".gif", ".png", ".apng", ".webp"}


@dataclass(frozen=True)
class CameraSource:
    """Frames, and whether the source is live: frames of a live source are lost if they are not read in time.

    Attributes:
        frames: frames of pixels; close it to release the camera or file.
        shared: opens the same source again for frames in dma-bufs, or None if it has none; ``importing`` chooses.
    """

    name: str
    live: bool
    frames: Iterator[Frame]
    shared: Callable[[], Iterator[Frame]] | None = None


def open_source(name: str) -> CameraSource:
    """Open a source by its name: ``picamera2``, ``/dev/videoN``, a film file or a folder.

    Raises:
        InputError: it does not exist, or has no frames.
        MissingExtraError: a required library is not installed.
    """
    if name == PICAMERA2:
        library = raspberry_pi.library()
        return CameraSource(name, True, raspberry_pi.copied(library), partial(raspberry_pi.shared, library))
    if not name:  # from an unset variable; as a path it would be the current folder
        raise InputError(f"--source is empty; {_SOURCES}")
    if name.isdecimal() and not Path(name).exists():
        raise InputError(f"--source {name}: name the camera by its path: --source /dev/video{int(name)}")
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            reason = "there is no such camera" if name.startswith("/dev/video") else "no such file"
        else:
            reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"--source {name}: {reason}; {_SOURCES}") from None
    if stat.S_ISDIR(mode):
        return CameraSource(name, False, _folder(pictures.find([path], warn=_warn)))
    if stat.S_ISCHR(mode):
        return CameraSource(name, True, _v4l2(name, _av("reading a camera")))
    if not stat.S_ISREG(mode):
        raise InputError(f"--source {name}: is not a film, a folder or a camera")
    if path.suffix.lower() in _ANIMATED:
        return CameraSource(name, False, _animation(path))
    if path.suffix.lower() in pictures.SUFFIXES:
        return CameraSource(name, False, _folder([path]))
    return CameraSource(name, False, _film(name, _av("reading a film other than GIF, PNG and WebP")))


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr, flush=True)


def every(frames: Iterator[Frame], step: int) -> Iterator[Frame]:
    """Yield every ``step``-th frame, starting at the first, and close the others; closing it closes ``frames``."""
    try:
        for frame in frames:
            if frame.index % step == 0:
                yield frame
            else:
                frame.close()
    finally:
        close = getattr(frames, "close", None)
        if close is not None:
            close()


def _folder(files: list[Path]) -> Iterator[Frame]:
    """Yield the images of a folder; unreadable ones are skipped with a warning."""
    for index, path in enumerate(files):
        try:
            pixels = np.asarray(preprocess.open_image(path))
        except ImageError as error:
            print(one_line(f"warning: {error}; left out"), file=sys.stderr)
            continue
        yield Frame(pixels, index, str(path), f"image {index + 1} of {len(files)}")


def _animation(path: Path) -> Iterator[Frame]:
    preprocess.open_image(path)  # raises a readable error if the file is damaged
    try:
        with Image.open(path) as image:
            count = getattr(image, "n_frames", 1)
            for index in range(count):
                image.seek(index)
                fit_into_memory(image, full_image=True, least=0)  # a frame of a GIF can be larger than those before
                yield Frame(np.asarray(image.convert("RGB")), index, position=f"frame {index + 1} of {count}")
    except Exception as error:  # Pillow's decoders raise a dozen types
        reason = "too many pixels" if isinstance(error, Image.DecompressionBombError) else error
        raise InputError(f"{path}: damaged ({reason}); the frames before the damage were processed") from None


def _film(name: str, av: Any) -> Iterator[Frame]:
    try:
        with av.open(str(Path(name).absolute()), options={"protocol_whitelist": "file"}) as container:
            stream = container.streams.video[0]
            length = container.duration and container.duration / av.time_base
            for index, frame in enumerate(container.decode(stream)):
                position = _position(index, stream.frames, frame.time, length)
                yield Frame(np.ascontiguousarray(frame.to_ndarray(format="rgb24")), index, position=position)
    except (av.error.FFmpegError, IndexError) as error:  # IndexError: the file has no video stream
        raise InputError(f"{name}: not a film that can be read ({error})") from None


def _position(index: int, count: int, seconds: float | None, length: float | None) -> str:
    """Return the position of a film's frame; files can lack the number of frames (0), times and the length (None)."""
    frame = f"frame {index + 1} of {count}" if count else f"frame {index + 1}"
    if seconds is None:
        return frame
    return f"{frame}, {_clock(seconds)} of {_clock(length)}" if length else f"{frame}, {_clock(seconds)}"


def _clock(seconds: float) -> str:
    """Return a time as players show it: minutes and seconds."""
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes}:{seconds:02}"


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


def _av(purpose: str) -> Any:
    try:
        import av
    except ImportError:
        raise MissingExtraError.of("PyAV", "av", purpose) from None
    return av
