"""One frame of a source: where its picture lies, and whose memory that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.gl.dma_buf import DmaBuf
from glsl_infer.support.closing import Closing


@dataclass(eq=False)
class Borrowed:
    """A camera's memory, lent for one frame.

    Attributes:
        read: copies its pixels for the CPU, uint8 (height, width, 3); only before ``give_back``.
        give_back: lets the camera write the next frame there; called once.
    """

    read: Callable[[], NDArray[np.uint8]]
    give_back: Callable[[], None]


@dataclass(eq=False)
class Frame(Closing):
    """One frame. Close it once the output for it has been read, or when nobody will ask for that.

    Attributes:
        picture: what a session runs on: uint8 (height, width, 3), or a dma-buf.
        index: its number, from 0 on.
        name: its name, if it has one.
        borrowed: what is given back by ``close``; None where the picture belongs to the frame.
    """

    picture: NDArray[np.uint8] | DmaBuf
    index: int
    name: str | None = None
    borrowed: Borrowed | None = None

    def pixels(self) -> NDArray[np.uint8]:
        """Return the picture for the CPU, uint8 (height, width, 3); a dma-buf is copied, before ``close`` alone."""
        if not isinstance(self.picture, DmaBuf):
            return self.picture
        if self.borrowed is None:
            raise ValueError("the frame has been closed, and its memory is the camera's again")
        return self.borrowed.read()

    def close(self) -> None:
        """Give the memory back; further calls do nothing."""
        borrowed, self.borrowed = self.borrowed, None
        if borrowed is not None:
            borrowed.give_back()
