"""The answer ``none of these`` for classifiers that were trained without a class for it.

none_of_these.json has a rule for each of the project's models, by the SHA-256 of its manifest. The runners for
browsers and Android have the same table. scripts/bench/none_of_these.py measures the rules. Models from
``glsl-infer train`` have a class for this answer instead.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.support.records import dataclass

if TYPE_CHECKING:
    import numpy as np

    from glsl_infer.bundle import Bundle
    from glsl_infer.support.ndarray import NDArray

NONE = "none of these"
"""Label for pictures of other things; models from ``glsl-infer train`` have a class with this label."""

FILE = Path(__file__).with_name("none_of_these.json")


@dataclass(frozen=True)
class NoneRule:
    """The logit of ``none of these`` for the logits of a picture.

    The logits of known pictures vary mostly along a few directions. The farther a picture is from all of them, the
    larger is the logit of this answer. The distance is that of a normal distribution with these directions and an
    equal variance in all others (probabilistic principal components: Tipping and Bishop, 1999).

    Attributes:
        least: smallest logit of this answer.
        logit: for a picture at distance 0, if that is more.
        scale: added for each unit of the distance.
        mean: of all logits of known pictures.
        directions: (directions, classes); the squared distance is that to the mean, minus the squared products with
            these vectors.
    """

    least: float
    logit: float
    scale: float
    mean: float
    directions: NDArray[np.float64]

    def logit_of(self, logits: NDArray[np.float64]) -> float:
        """Return the logit of ``none of these`` for logits (classes,)."""
        return max(self.least, self.logit + self.scale * self.distance(logits))

    def distance(self, logits: NDArray[np.float64]) -> float:
        """Return the distance of logits (classes,) to those of known pictures, at least 0."""
        deviation = logits - self.mean
        along = self.directions @ deviation
        return math.sqrt(max(float(deviation @ deviation - along @ along), 0.0))


def rule_of(bundle: Bundle) -> NoneRule | None:
    """Return the rule of a model, or None if it is not listed."""
    contents = read()
    stored_rule = contents["models"].get(bundle.digest or "")
    return None if stored_rule is None else rule(stored_rule, contents["zero"])


def rule(stored_rule: dict[str, Any], zero: str) -> NoneRule:
    """Return the rule of an entry of the file.

    The directions are strings with a character for each class. Its code minus that of ``zero`` is the number of steps.
    """
    import numpy as np  # here, because commands import this module for NONE alone

    steps = np.array(
        [[ord(character) - ord(zero) for character in row] for row in stored_rule["directions"]], np.float64
    )
    return NoneRule(
        stored_rule["least"],
        stored_rule["logit"],
        stored_rule["scale"],
        stored_rule["mean"],
        steps * stored_rule["step"],
    )


@cache
def read() -> dict[str, Any]:
    """Return the contents of the file."""
    contents: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return contents
