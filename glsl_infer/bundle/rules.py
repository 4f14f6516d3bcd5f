"""The short names of the rules of docs/reference/bundle-format.md: every refusal of a bundle carries one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from glsl_infer.bundle.format_constants import RULES
from glsl_infer.errors import BundleError

_MAX_MESSAGE = 400


@contextmanager
def rule(name: str) -> Iterator[None]:
    """Name the rule that a ``BundleError`` from within is about, unless it has a name already."""
    assert name in RULES
    try:
        yield
    except BundleError as error:
        error.rule = error.rule or name
        raise


def named(rule_name: str | None) -> str:
    """Return how a message ends that is about a rule."""
    return f" (rule: {rule_name})" if rule_name else ""


def one_line(error: Exception) -> str:
    """Return a message as one short line, whatever characters and however many a name in the file has."""
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error))
    return line if len(line) <= _MAX_MESSAGE else f"{line[:_MAX_MESSAGE]} ..."
