"""The models of tests/models export, and their bundles agree with Keras."""

from __future__ import annotations

import pytest
import small_models

from models import NAMES, RUN_EVERYWHERE

LEAST_LIKE = 0.99
"""Correlation of 8-bit feature maps with floats. The models have random weights, which lose more than trained ones."""

LESS_LIKE = {"mask_argmax": 0.98, "pilotnet": 0.95}
"""Lower bounds of two models.

A pixel between two classes can take either class. The likeness of a single value depends on its relative error: 4 %,
although over 21 images it correlates with Keras' value to 0.9997.
"""


def test_models_of_every_runner_exist() -> None:
    assert set(RUN_EVERYWHERE) <= set(NAMES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in RUN_EVERYWHERE else pytest.mark.exhaustive) for name in NAMES]
)
def test_a_model_exports_and_agrees_with_keras(name: str) -> None:
    exported = small_models.exported(name)
    assert not exported.refusal
    assert exported.floats <= 1e-5, "the importer means something else than Keras"
    assert exported.likeness >= LESS_LIKE.get(name, LEAST_LIKE), "8 bits lose too much"
