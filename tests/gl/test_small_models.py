"""The models of tests/models on the GPU: every layer within 0.52 of a stored step, and complete frames."""

from __future__ import annotations

import needs
import numpy as np
import pytest
import small_models
from layer_check import TOLERANCE, layer_error, stored_inputs
from operator_table.cost import tolerance
from random_networks import fine_rounding

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.gl.context import Context
from glsl_infer.graph import Node, reference
from glsl_infer.program.layout import FeatureMap, FineMap, FixedMap
from glsl_infer.runtime.session import Session
from models import NAMES, RUN_EVERYWHERE

EXACT = 1e-9
"""Error of float64 values that are a whole number of steps, in steps."""


def runs(name: str) -> object:
    """Return a model's test parameter: `make test` on all drivers if every runner runs it, else `make test-all`.

    The latter runs on llvmpipe.
    """
    return pytest.param(name, marks=pytest.mark.drivers if name in RUN_EVERYWHERE else pytest.mark.exhaustive)


def overlap(made: Bundle, node: Node) -> bool:
    """Return whether inputs of a node are views of the same tiles, so that they cannot differ at random."""
    places = [
        [view for view in value.views] if isinstance(value, (FeatureMap, FineMap)) else [value.texture]
        for value in (made.values[read] for read in dict.fromkeys(node.inputs))
        if not isinstance(value, FixedMap)
    ]
    return len({place for part in places for place in part}) < sum(map(len, places))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", map(runs, NAMES))
def test_a_model(context: Context, name: str) -> None:
    needs.installed("keras")
    exported = small_models.made(name)
    made, rng = bundles.read(exported.path), np.random.default_rng(0)
    values = dict(reference.all_values(made, exported.inputs))
    with Session(made, context=context, selfcheck=True) as session:
        for node in made.graph.nodes:
            allowed = None if node.operator.is_input else tolerance(node)
            if allowed is not None:
                shown = [values[read] for read in node.inputs] if overlap(made, node) else None
                error = layer_error(session, node.name, shown or stored_inputs(made, node.name, rng))
                most = min(allowed, TOLERANCE) + fine_rounding(made, node) + EXACT
                assert error <= most, f"{node.name} ({node.op})"
        outputs = session.run(exported.inputs)
    assert set(outputs) == {output.name for output in made.manifest.outputs}
    assert all(np.isfinite(numbers).all() for numbers in outputs.values())
