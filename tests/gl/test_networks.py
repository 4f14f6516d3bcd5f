"""Networks layer by layer: random ones around every operator, and the small models."""

from __future__ import annotations

import needs
import numpy as np
import pytest
import small_models
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from layer_check import TOLERANCE, allowed, layer_error, stored_inputs
from operator_table.cost import tolerance
from random_networks import KINDS, fine_rounding, layer_errors, random_bundle

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.gl.context import Context
from glsl_infer.graph import Node, reference
from glsl_infer.program.layout import FeatureMap, FixedMap, SixteenBitMap
from glsl_infer.runtime.session import Session
from models import NAMES, RUN_EVERYWHERE


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
            errors = layer_errors(session, np.random.default_rng(seed))
        assert all(error <= allowed(session.bundle, name) for name, error in errors.items()), errors

    check()


@pytest.mark.drivers("all")
@pytest.mark.parametrize("kind", KINDS)
def test_a_correct_driver_passes_the_self_check(context: Context, kind: str) -> None:
    # The seed is fixed: its tolerances come from a few noisy runs, and one random network in about 700 exceeds them.
    Session(random_bundle(kind, 1), context=context, selfcheck=True).close()


EXACT = 1e-9
"""Error of float64 values that are a whole number of steps, in steps."""


def runs(name: str) -> object:
    """Return a model's test parameter: `make test` on all drivers if every runner runs it, else `make test-all`.

    The latter runs on llvmpipe.
    """
    return pytest.param(name, marks=pytest.mark.drivers if name in RUN_EVERYWHERE else pytest.mark.exhaustive)


def overlap(bundle: Bundle, node: Node) -> bool:
    """Return whether inputs of a node are views of the same tiles, so that they cannot differ at random."""
    regions_of_slices = [
        [view for view in value.views] if isinstance(value, (FeatureMap, SixteenBitMap)) else [value.texture]
        for value in (bundle.values[read] for read in dict.fromkeys(node.inputs))
        if not isinstance(value, FixedMap)
    ]
    return len({region for regions in regions_of_slices for region in regions}) < sum(map(len, regions_of_slices))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*map(runs, NAMES)])
def test_every_layer_is_within_its_tolerance(context: Context, name: str) -> None:
    needs.installed("keras")
    exported = small_models.exported(name)
    bundle, rng = bundles.read(exported.path), np.random.default_rng(0)
    values = dict(reference.all_values(bundle, exported.inputs))
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in bundle.graph.nodes:
            allowed = None if node.operator.is_input else tolerance(node)
            if allowed is not None:
                inputs = [values[read] for read in node.inputs] if overlap(bundle, node) else None
                error = layer_error(session, node.name, inputs or stored_inputs(bundle, node.name, rng))
                limit = min(allowed, TOLERANCE) + fine_rounding(bundle, node) + EXACT
                assert error <= limit, f"{node.name} ({node.op})"
        outputs = session.run(exported.inputs)
    assert set(outputs) == {output.name for output in bundle.manifest.outputs}
    assert all(np.isfinite(numbers).all() for numbers in outputs.values())
