"""Parse untrusted JSON: refuse very long integers and repeated keys."""

from __future__ import annotations

import json
from typing import Any, Union

MOST_DIGITS = 300
"""Largest number of digits of an integer. Longer ones exceed the range of a float, and take quadratic time to parse."""


def loads(text: Union[str, bytes], **hooks: Any) -> Any:
    """Parse JSON text; ``hooks`` are those of ``json.loads``.

    An ``object_pairs_hook`` must itself refuse repeated keys.

    Raises:
        ValueError: the text is not JSON, an integer has more than ``MOST_DIGITS`` digits, or an object has a key twice
            (parsers differ in which value counts).
        RecursionError: the nesting is too deep.
    """
    hooks.setdefault("object_pairs_hook", _object_of)
    return json.loads(text, parse_int=_parse_integer, **hooks)


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of (key, value) pairs, for ``object_pairs_hook``.

    Raises:
        ValueError: a key occurs twice.
    """
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has the same key twice")
    return result


def _parse_integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits; at most {MOST_DIGITS}")
    return int(digits)
