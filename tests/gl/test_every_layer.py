"""Random networks of every operator, layer by layer on any stored input, in every layout and weights mode.

Each driver draws two networks of each kind, and two more in `make test-all`. llvmpipe draws another four there.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from layer_check import allowed
from random_networks import KINDS, layer_errors, random_bundle

from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session


@pytest.mark.parametrize(
    ("examples", "first"),
    [
        pytest.param(2, 0, marks=pytest.mark.drivers),
        pytest.param(2, 1 << 32, marks=[pytest.mark.drivers("all"), pytest.mark.exhaustive]),
        pytest.param(4, 2 << 32, marks=pytest.mark.exhaustive),
    ],
    ids=["first", "second", "third"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_layer_is_exact(context: Context, kind: str, examples: int, first: int) -> None:
    @given(st.integers(first, first + (1 << 32) - 1))
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
    def check(seed: int) -> None:
        with Session(random_bundle(kind, seed), context=context) as session:
            found = layer_errors(session, np.random.default_rng(seed))
        assert all(error <= allowed(session.bundle, name) for name, error in found.items()), found

    check()


@pytest.mark.drivers("all")
@pytest.mark.parametrize("kind", KINDS)
def test_a_correct_driver_passes_the_self_check(context: Context, kind: str) -> None:
    # The seed is fixed: its tolerances come from a few noisy runs, and one random network in about 700 exceeds them.
    Session(random_bundle(kind, 1), context=context, selfcheck=True).close()
