"""``NDArray`` for annotations, without what ``numpy.typing`` costs a start: 44 million instructions of a Pi's CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NDArray"]

if TYPE_CHECKING:
    from numpy.typing import NDArray
else:
    from numpy import ndarray

    class NDArray:
        """Stands for ``numpy.typing.NDArray``: of whatever type, it is an array."""

        def __class_getitem__(cls, kind):
            return ndarray
