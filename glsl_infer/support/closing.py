"""What holds GPU resources is closed at the end of a ``with`` block; what nobody closed is complained of."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import TracebackType
from typing import TypeVar

Self = TypeVar("Self", bound="Closing")


class Closing(ABC):
    """Base of classes with a ``close`` method that are used in ``with`` statements."""

    @abstractmethod
    def close(self) -> None:
        """Free what is held; further calls do nothing."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def warn_unclosed(what: str, source: object) -> None:
    """Warn of something that was dropped without ``close``, once it is freed: a warning may be an error."""
    warnings.warn(f"unclosed {what}: close it, or use it in a 'with' statement", ResourceWarning, 2, source)


def close_all(holders: Iterable[Closing]) -> None:
    """Close some holders, in order."""
    for holder in holders:
        holder.close()
