"""One frame of a source: its image, and the owner of the image's memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.gl.dma_buf import DmaBuf
from glsl_infer.support.closing import Closing


@dataclass(eq=False)
class Borrowed:
    """A camera's memory, borrowed for one frame.

    Attributes:
        read: copies its pixels to the CPU, uint8 (height, width, 3); only before ``give_back``.
        give_back: lets the camera reuse the memory; called once.
    """

    read: Callable[[], NDArray[np.uint8]]
    give_back: Callable[[], None]


@dataclass(eq=False)
class Frame(Closing):
    """One frame. Close it after the output for it has been read, or when that output is not needed any more.

    Attributes:
        picture: input of a session: uint8 (height, width, 3), or a dma-buf.
        index: its number, from 0.
        name: its name, if it has one.
        position: its position in a film or folder, as a text for the user.
        borrowed: memory returned to the camera by ``close``; None if the frame owns the image.
    """

    picture: NDArray[np.uint8] | DmaBuf
    index: int
    name: str | None = None
    position: str = ""
    borrowed: Borrowed | None = None

    def pixels(self) -> NDArray[np.uint8]:
        """Return the image for the CPU, uint8 (height, width, 3). A dma-buf is copied, only before ``close``."""
        if not isinstance(self.picture, DmaBuf):
            return self.picture
        if self.borrowed is None:
            raise ValueError("the frame has been closed, and its memory is the camera's again")
        return self.borrowed.read()

    def close(self) -> None:
        """Return the memory to the camera; further calls do nothing."""
        borrowed, self.borrowed = self.borrowed, None
        if borrowed is not None:
            borrowed.give_back()
