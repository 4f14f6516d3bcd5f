"""The answer ``none of these`` for classifiers that were trained without a class for it.

none_of_these.json has a logit of this answer for the project's models, by the SHA-256 of their manifests. A picture
belongs to none of the classes if a class with this logit is more probable than all others together.
scripts/bench/none_of_these.py measures the logit on photographs outside the training data. Models from
``glsl-infer train`` have a class for this answer instead.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glsl_infer.bundle import Bundle

NONE = "none of these"
"""Label for pictures of other things; models from ``glsl-infer train`` have a class with this label."""

FILE = Path(__file__).with_name("none_of_these.json")


def none_logit(bundle: Bundle) -> float | None:
    """Return the logit of the answer, or None for a model that is not listed."""
    entry = _entries().get(bundle.digest or "")
    return None if entry is None else entry["logit"]


@cache
def _entries() -> dict[str, Any]:
    entries: dict[str, Any] = json.loads(FILE.read_text("utf-8"))["models"]
    return entries
