"""JSON of strangers: numbers are no longer than any that is meant."""

from __future__ import annotations

import json
from typing import Any, Union

MOST_DIGITS = 300
"""Of a whole number: more do not fit into a float, and thousands take long to read."""


def loads(text: Union[str, bytes], **hooks: Any) -> Any:
    """Return JSON text as plain data; ``hooks`` as ``json.loads`` has them.

    Raises:
        ValueError: it is no JSON, or a whole number has more than ``MOST_DIGITS`` digits.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_int=_whole, **hooks)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits; at most {MOST_DIGITS}")
    return int(digits)
