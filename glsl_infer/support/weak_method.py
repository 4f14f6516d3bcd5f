"""Methods for those who may not keep their object alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., object])


def weakly(method: Method) -> Method:
    """Return a method for those who may not keep its object alive; they do not call it when that is gone."""
    weak = weakref.WeakMethod(method)

    def call(*arguments: object) -> object:
        bound = weak()
        assert bound is not None
        return bound(*arguments)

    return cast(Method, call)
