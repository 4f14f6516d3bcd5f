"""Feature maps in 16 bits: every operator reads and stores them as exactly as floats allow, in every layout."""

from __future__ import annotations

import numpy as np
import pytest
from layer_check import TOLERANCE
from random_networks import KINDS, fine_rounding, layer_errors, random_bundle

from glsl_infer.gl.context import Context
from glsl_infer.lowering import fine
from glsl_infer.program.layout import FineMap
from glsl_infer.runtime.session import Session

SEEDS = (1, 2, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_every_operator_reads_and_stores_16_bits(context: Context, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = 0
    for seed in SEEDS:
        monkeypatch.setattr(fine, "ONE_DRAW", 64 * 64 * (seed % 2))  # both tiles at once, or one by one
        with Session(random_bundle(kind, seed, fine=True), context=context) as session:
            made, found = session.bundle, layer_errors(session, np.random.default_rng(seed))
        nodes = made.graph.by_name
        wrong = {name: off for name, off in found.items() if off > TOLERANCE + fine_rounding(made, nodes[name])}
        assert not wrong
        maps += sum(isinstance(value, FineMap) for value in made.values.values())
    assert maps, "no layer has 16 bits"
