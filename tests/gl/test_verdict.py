"""The exact reference decides whether rounding or the driver makes a bundle differ from its model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tiny

from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.runtime.session import Session
from glsl_infer.tools.validate.measures import Agreement
from glsl_infer.tools.validate.verdict import Verdict, sentences

pytestmark = pytest.mark.drivers("all")


def judged(context: Context, wrong: float, softmax: bool) -> dict[str, Any]:
    """Return the verdict for a driver whose output is off by ``wrong`` standard deviations, and another model."""
    rng = np.random.default_rng(0)
    bundle = tiny.tiny_bundle()
    (entry,), (output,) = bundle.manifest.inputs, bundle.manifest.outputs
    sample = {entry.name: rng.integers(0, 256, entry.shape, np.uint8)}
    with Session(bundle, context=context) as session:
        drawn = session.run(sample)[output.name]
    drawn = drawn + wrong * drawn.std() * rng.standard_normal(drawn.shape)
    verdict = Verdict(bundle, [output.name] if softmax else [])
    exact = reference.run(bundle, sample)[output.name]
    powers = np.exp(exact - exact.max())
    verdict.add(sample, {output.name: drawn}, {output.name: powers / powers.sum() if softmax else exact + exact.std()})
    return {
        "judged": 1,
        "wrong": "conv" if wrong else None,
        "outputs": [{"name": output.name, **verdict.as_json()[output.name]}],
    }


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize(("wrong", "who"), [(0.0, "this driver is right"), (3.0, "something else (first in 'conv')")])
def test_whose_difference_it_is(context: Context, wrong: float, who: str, softmax: bool) -> None:
    found = judged(context, wrong, softmax)
    (line,) = sentences(found)
    assert line.startswith("on 1 pictures the exact reference (NumPy) has a cosine of ")
    assert who in line
    (end,) = found["outputs"]
    assert (end["reference_cosine"] > 0.9999) == softmax
    assert (end["driver_cosine"] > 0.9999) == (not wrong)


def test_how_far_labels_are_apart() -> None:
    one = Agreement()
    one.add(np.array([1.0, 2.0, 0.0, 0.0]), np.array([1.5, 1.0, 0.0, 0.0]))  # another label, which has 0.5 less
    one.add(np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.0, 9.0, 0.0, 0.0]))  # the same label
    expected = np.array([1.5, 1.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0])
    assert (one.margin, one.top1) == (0.5, 0.5)
    assert one.margin_share == pytest.approx(0.5 / expected.std())
    end = {"name": "y", "top1": one.top1, "margin": one.margin, "margin_share": one.margin_share}
    (line,) = sentences({"outputs": [end]})
    assert "at most 0.5 apart, 17.2% of its outputs' spread; labels so close are no answer" in line
