"""Short names of the rules of docs/reference/bundle-format.md. Every refusal of a bundle has one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from glsl_infer.bundle.format_constants import RULES
from glsl_infer.errors import BundleError

_MAX_MESSAGE = 400


@contextmanager
def rule(name: str) -> Iterator[None]:
    """Set the rule of a ``BundleError`` raised within the block, unless it has one."""
    assert name in RULES
    try:
        yield
    except BundleError as error:
        error.rule = error.rule or name
        raise


def named(rule_name: str | None) -> str:
    """Return the end of a message with the rule's name, or an empty string."""
    return f" (rule: {rule_name})" if rule_name else ""


def without_rule(error: BundleError) -> str:
    """Return the message of an error without the rule's name, which helps only maintainers."""
    return str(error).replace(named(error.rule), "")


def one_line(error: Exception) -> str:
    """Return a message as one short line, regardless of the characters and lengths of names from the file."""
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error))
    return line if len(line) <= _MAX_MESSAGE else f"{line[:_MAX_MESSAGE]} ..."
