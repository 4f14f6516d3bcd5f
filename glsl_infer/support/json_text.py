"""JSON of strangers: numbers are no longer than any that is meant, and nothing is said twice."""

from __future__ import annotations

import json
from typing import Any, Union

MOST_DIGITS = 300
"""Of a whole number: more do not fit into a float, and thousands take long to read."""


def loads(text: Union[str, bytes], **hooks: Any) -> Any:
    """Return JSON text as plain data; ``hooks`` as ``json.loads`` has them.

    Raises:
        ValueError: it is no JSON, a whole number has more than ``MOST_DIGITS`` digits, or an object has a key twice:
            readers differ in which counts.
        RecursionError: it is nested too deeply.
    """
    hooks.setdefault("object_pairs_hook", unique)
    return json.loads(text, parse_int=_whole, **hooks)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object.

    Raises:
        ValueError: it has a key twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits; at most {MOST_DIGITS}")
    return int(digits)
