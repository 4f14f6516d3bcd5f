"""The short names of the rules of docs/bundle-format.md: every refusal of a bundle carries one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from glsl_infer.bundle.format_constants import RULES
from glsl_infer.errors import BundleError


@contextmanager
def rule(name: str) -> Iterator[None]:
    """Name the rule that a ``BundleError`` from within is about, unless it has a name already."""
    assert name in RULES
    try:
        yield
    except BundleError as error:
        error.rule = error.rule or name
        raise
