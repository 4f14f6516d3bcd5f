"""Bound methods with only a weak reference to their object."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., object])


def weak_method(method: Method) -> Method:
    """Return a bound method without a reference to its object. It must not be called after the object is gone."""
    weak = weakref.WeakMethod(method)

    def call(*arguments: object) -> object:
        bound = weak()
        assert bound is not None
        return bound(*arguments)

    return cast(Method, call)
