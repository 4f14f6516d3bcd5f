"""Every row of operators.md: the importer reads its model with Keras' semantics, and every refusal has its message."""

from __future__ import annotations

from functools import cache
from typing import Any

import keras
import pytest
from imported import check_model
from operator_table import REFUSALS, ROWS, SAMPLE, models, others
from operator_table.row import Refusal, Row

from glsl_infer import ops
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.errors import ModelError
from glsl_infer.importers.keras import to_graph
from glsl_infer.lowering.target import Target


@cache
def model_of(row: Row) -> Any:
    """Return the shared model of a row, which tests must not change."""
    return models.row_model(row)


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=() if row in SAMPLE else pytest.mark.exhaustive, id=row.name) for row in ROWS]
)
def test_a_row_computes_keras_outputs(row: Row) -> None:
    check_model(model_of(row), input_range=row.input_range, fed=row.bytes, tolerance=1e-4)


@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal.name for refusal in REFUSALS])
def test_a_refusal_has_the_words_of_its_row(refusal: Refusal) -> None:
    with pytest.raises(ModelError) as caught:
        models.refuse(refusal)
    where = f"layer '{refusal.subject}': " if refusal.subject else ""
    assert str(caught.value).startswith(where + refusal.says)


@pytest.mark.parametrize("row", [row for row in ROWS if row.layer in ("SeparableConv2D", "PReLU")])
def test_a_row_has_the_same_weights_in_every_process(row: Row) -> None:
    """Error bounds hold for fixed weights, also of layers that keep the values of their initializer."""
    weights = []
    for seed in (7, 8):
        keras.utils.set_random_seed(seed)
        weights.append(models.row_model(row).get_weights())
    assert all((first == second).all() for first, second in zip(*weights))


def test_names_of_refusals_are_unique() -> None:
    assert len({refusal.name for refusal in REFUSALS}) == len(REFUSALS)


@pytest.mark.exhaustive
def test_every_operator_is_reached_by_a_row() -> None:
    # Rows have one image; tests/keras/test_import_heads.py has vectors as inputs. Keras has no local responses.
    # Rows are narrow, and constants of pixels, gates and two dense layers of means have no row.
    elsewhere = {"constant_map", "convolution_products", "convolution_sum", "gated_convolution", "gated_sum"}
    elsewhere |= {"dense_of_sums", "mean_products"} | {node.op for node in others.subjects()}
    expected = set(ops.names()) - {"input_fixed", "local_response_norm", *elsewhere}
    result: set[str] = set()
    optimized = {}
    for row in ROWS:
        graph = to_graph(model_of(row), row.input_range)
        optimized[row] = optimize(graph)
        result |= {node.op for network in (graph, optimized[row]) for node in network.nodes}
    for row, graph in optimized.items():  # ranges take long, and only a few operators come after them
        if result < expected:
            pictures = models.pictures(row, 1)[1:]
            # Partial sums occur only in planar layout and in layers wider than those of any row.
            prepared = [
                prepare(graph, Calibration(pictures), target=Target(layout=layout)).graph
                for layout in ("planar", "atlas")
            ]
            result |= {node.op for network in prepared for node in network.nodes}
    assert result == expected
