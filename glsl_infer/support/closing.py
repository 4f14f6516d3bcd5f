"""Base class of objects with GPU resources, which are closed at the end of a ``with`` block."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import TracebackType
from typing import TypeVar

Self = TypeVar("Self", bound="Closing")


class Closing(ABC):
    """Context manager whose block ends with ``close``."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources. Further calls have no effect."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def warn_unclosed(resource: str, source: object) -> None:
    """Warn about an object dropped without ``close``. Free it first, because a warning can raise."""
    warnings.warn(f"unclosed {resource}: close it, or use it in a 'with' statement", ResourceWarning, 2, source)


def close_all(holders: Iterable[Closing]) -> None:
    """Close objects in order."""
    for holder in holders:
        holder.close()
