"""Score of the nine tests, each relative to a Pixel 2, whose score is 1,293.

The paper has the Pixel 2's times and its score, but not the weights. Here all nine tests have the same weight::

    score = 1293 / 9 * (sum over tests 1 to 8 of reference time / time  +  megapixels / 4)

A test that fails or is omitted adds nothing. For the 30 phones of the paper, the score is up to 53 % above the
published one, up to 24 % below it, and 24 % off in the median: the paper gives less weight to memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from glsl_infer.tools.aibench.tests import LARGEST, TESTS

PIXEL_2 = 1293.0


def score(results: Mapping[int, float]) -> float:
    """Return the score.

    Args:
        results: milliseconds an image by the number of the test; megapixels for test 9.
    """
    return PIXEL_2 / len(TESTS) * sum(ratio(number, result) for number, result in results.items())


def ratio(number: int, result: float) -> float:
    """Return the ratio of a result to a Pixel 2's; above 1 is better."""
    reference = {test.number: test.reference for test in TESTS}[number]
    return result / reference if number == LARGEST else reference / result
