"""Transfer of frames to the GPU: imported as dma-bufs if the driver supports it, else copied by the CPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from glsl_infer.errors import GlError, ImageError, InputError, ShaderError
from glsl_infer.gl import dma_import
from glsl_infer.runtime.session import Session
from glsl_infer.tools.camera.frame import Frame
from glsl_infer.tools.camera.sources import CameraSource

TOLERANCE = 2
"""Largest accepted difference, in steps of 255, between the GPU's reads of a dma-buf and of its copy. A failed
import differs far more."""


def frames_for(session: Session, source: CameraSource, *, copy: bool = False) -> Iterator[Frame]:
    """Return the frames of a source, as dma-bufs if the source has them and the driver reads the first one correctly.

    If the driver reports support for dma-bufs but fails to import one, a note is written to standard error.

    Args:
        session: the session whose context is tried.
        source: the source; ``source.frames`` is returned unread, or not used at all.
        copy: whether to use copies in any case.

    Raises:
        RunError: the camera gives no frame.
    """
    if copy or source.shared is None or dma_import.refusal(session.context) is not None:
        return source.frames
    frames, first = source.shared(), None
    try:
        first = next(frames)
        _require_equal_reads(session, first)
    except (InputError, ShaderError, GlError) as error:
        _close_frames(frames, first)
        print(f"note: {error}; frames are copied to the GPU instead", file=sys.stderr)
        return source.frames
    except BaseException:
        _close_frames(frames, first)
        raise
    return _resumed(first, frames)


def _require_equal_reads(session: Session, frame: Frame) -> None:
    """Upload a frame as a dma-buf and as a copy, and compare the pixels that the GPU reads.

    Raises:
        ImageError: the driver does not import the dma-buf, or reads other values from it.
        ShaderError, GlError: as ``Session.run``.
    """
    reads = []
    for picture in (frame.picture, frame.pixels()):
        session.upload(picture)
        reads.append(session.input_pixels().astype(int))
        session.context.gl.check("when the GPU read a frame of the camera")
    difference = int(np.abs(reads[0] - reads[1]).max())
    if difference > TOLERANCE:
        raise ImageError(f"the driver reads something else in {frame.picture} ({difference} of 255 off)")


def _close_frames(frames: Iterator[Frame], first: Frame | None) -> None:
    """Close the first frame and the iterator of the others."""
    if first is not None:
        first.close()
    close = getattr(frames, "close", None)
    if close is not None:
        close()


def _resumed(first: Frame, frames: Iterator[Frame]) -> Iterator[Frame]:
    """Yield a frame that was read before, then the others."""
    try:
        yield first
        yield from frames
    finally:
        _close_frames(frames, None)
