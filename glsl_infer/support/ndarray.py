"""``NDArray`` for annotations, without importing ``numpy.typing``, which takes 44 million instructions on a Pi."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NDArray"]

if TYPE_CHECKING:
    from numpy.typing import NDArray
else:
    from numpy import ndarray

    class NDArray:
        """Runtime replacement of ``numpy.typing.NDArray``: any subscript gives ``numpy.ndarray``."""

        def __class_getitem__(cls, kind):
            return ndarray
