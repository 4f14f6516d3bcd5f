"""Lifetimes of objects with GPU resources: closing by a ``with`` block, and methods with weak references."""

from __future__ import annotations

import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TypeVar, cast

Self = TypeVar("Self", bound="Closing")
Method = TypeVar("Method", bound=Callable[..., object])


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


def weak_method(method: Method) -> Method:
    """Return a bound method without a reference to its object. It must not be called after the object is gone."""
    weak = weakref.WeakMethod(method)

    def call(*arguments: object) -> object:
        bound = weak()
        assert bound is not None
        return bound(*arguments)

    return cast(Method, call)
