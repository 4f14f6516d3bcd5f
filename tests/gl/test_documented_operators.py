"""Every row of the operator lists of MACE and TensorFlow Lite's GPU delegate runs."""

from __future__ import annotations

import numpy as np
import pytest
from documented_operators import LISTS, Documented, graph_of, picture, rows

from glsl_infer import cpu, ops
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.runtime.session import Session

ROWS = rows()
AVAILABLE = {*ops.names(), *cpu.KERNELS}
STEPS = 3.0
"""Largest error of a small graph in steps of 1/255: each of its layers rounds, and ties may go either way."""


def label(row: Documented) -> str:
    return f"{row.list}-{row.name}"


def test_lists_are_whole_and_graphs_exist() -> None:
    assert {row.list for row in ROWS} == set(LISTS)
    for row in ROWS:
        assert row.graph and row.operator in AVAILABLE | {""}, row.name
        assert row.runs in ("shader", "CPU", "folded")


@pytest.mark.drivers("all")
@pytest.mark.parametrize("row", ROWS, ids=label)
def test_a_row_runs(context: Context, row: Documented) -> None:
    assert not row.operator or row.operator in AVAILABLE
    graph = graph_of(row.graph)
    built = build(graph, (), options=Options(), calibration=[picture(seed) for seed in range(1, 9)])
    assert any(part.on_cpu for part in built.parts) == (row.runs == "CPU" and row.operator in cpu.KERNELS)
    given = picture(0)
    expected = reference.run(built.graph, given, mode="float")
    with Session(built.bundle, context=context) as session:
        output = np.asarray(session.run(given))
    width = max(float(np.ptp(expected)), 1e-6)
    assert output.shape == expected.shape
    if row.graph == "argmax":
        assert (output == expected).mean() > 0.9
    else:
        assert np.abs(output - expected).max() <= STEPS / 255.0 * max(width, 1.0)
