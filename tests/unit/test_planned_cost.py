"""What auto may spend is counted as the program is planned, and what maps leave goes to weights that lose most."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from test_sensitivity import GRAPH, PICTURES

from glsl_infer.compiler import exact_weights, lower, ranges
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.planned_cost import planned
from glsl_infer.compiler.ranges import prepare, purse, sensitivity
from glsl_infer.graph import Graph, reference
from glsl_infer.lowering.other_work import DENSE
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS

SAMPLES = [{"image": picture} for picture in PICTURES]


@pytest.mark.parametrize("bits", ["8", "16"])
def test_draws_are_those_of_the_program(bits: str) -> None:
    graph = prepare(optimize(GRAPH), PICTURES, precision=bits).graph
    cost = planned(graph, given=True, uniform_vectors=UNIFORM_VECTORS)
    passes = lower.to_program(graph, samples=SAMPLES).passes
    assert cost.draws == pytest.approx(len(passes), abs=2)
    assert cost.work > 0.0


def test_auto_costs_no_more_than_it_may() -> None:
    in_eight = planned(prepare(optimize(GRAPH), PICTURES).graph, given=True, uniform_vectors=UNIFORM_VECTORS)
    _, _, prepared = build(GRAPH, [], options=Options(precision="auto"), calibration=SAMPLES)
    assert prepared.in_eight == in_eight
    rule = sum(choice.why != purse.BY_MEASURE for choice in prepared.precision)
    cost = planned(prepared.graph, given=True, uniform_vectors=UNIFORM_VECTORS)
    assert cost.over(in_eight) <= purse.MOST_COST or len(prepared.precision) == rule


def test_dense_layers_are_work_too() -> None:
    """Else 16 bits of maps would seem dearer than they are where most of the work is behind them."""

    def work(classes: int) -> float:
        rng = np.random.default_rng(4)
        body = [input_node(8), conv_node(rng, "feed", ("image",), 3, 16, activation="relu(6)")]
        graph = prepare(optimize(classifier(rng, body, 16, classes))).graph
        return planned(graph, given=True, uniform_vectors=UNIFORM_VECTORS).work

    assert work(100) - work(4) == pytest.approx(DENSE * 16 * 96, rel=0.01)


@pytest.mark.parametrize("draw_cost", [1.0, 10_000.0])
def test_the_plan_is_that_of_what_a_person_asks_for(draw_cost: float) -> None:
    options = Options(precision="auto", draw_cost=draw_cost)
    _, program, prepared = build(GRAPH, [], options=options, calibration=SAMPLES)
    cost = planned(prepared.graph, given=True, uniform_vectors=UNIFORM_VECTORS, draw_cost=draw_cost)
    assert cost.draws == pytest.approx(len(program.passes), abs=2)
    assert prepared.in_eight is not None and prepared.in_eight.draws <= cost.draws
    other = planned(prepared.graph, given=True, uniform_vectors=UNIFORM_VECTORS, draw_cost=100.0 / draw_cost)
    assert (other.draws < cost.draws) == (draw_cost < 10.0) and other.draws != cost.draws


def test_weights_that_lose_most_are_kept_finer_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "AUTO_TOLERANCE", 9.0)  # no map is bought
    monkeypatch.setattr(purse, "MOST_COST", 9.0)
    monkeypatch.setattr(purse, "WORTH", 0.0)
    options = Options(precision="auto")
    _, finer, _ = build(GRAPH, [], options=options, calibration=SAMPLES)
    monkeypatch.setattr(exact_weights, "gains", lambda *_, **__: {})
    _, plain, prepared = build(GRAPH, [], options=options, calibration=SAMPLES)
    assert finer.exact and not plain.exact

    def off(program: object) -> float:
        moved = []
        for picture in PICTURES:
            exact = reference.run(prepared.graph, picture, mode="float")
            moved.append(reference.run(program.graph, picture, mode="float") - exact)  # type: ignore[attr-defined]
        return float(np.sqrt(np.mean(np.square(moved))))

    assert off(finer) < 0.5 * off(plain)


@pytest.mark.parametrize(("loses", "bought"), [(1e3, (0, 1)), (1e-9, (1, 0))])
def test_maps_and_weights_are_bought_from_one_purse(loses: float, bought: tuple[int, int]) -> None:
    """There is enough for one of them: what loses more."""
    graph = prepare(optimize(GRAPH), PICTURES).graph

    def counted(stored: Graph, exact: Collection[str]) -> float:
        return 1.0 + 0.1 * (len(exact) + sum(node.attrs.get("bits") == 16 for node in stored.nodes))

    finer = {"third": sensitivity.FinerWeights(loses, 0.1)}
    made, found = sensitivity.spend(graph, {}, PICTURES, tolerance=0.0, share=1.0, counted=counted, finer=finer)
    assert (len(made), len(found.exact)) == bought


def test_partial_sums_are_planned_before_any_picture_is_looked_at() -> None:
    rng = np.random.default_rng(3)
    body = [input_node(8), conv_node(rng, "feed", ("image",), 3, 64, activation="relu(6)")]
    body.append(conv_node(rng, "wide", ("feed",), 64, 8, kernel=(5, 5), padding=(2, 2, 2, 2)))
    pictures = [{"image": rng.integers(0, 256, (8, 8, 3), np.uint8)} for _ in range(3)]
    made, _, prepared = build(classifier(rng, body, 8), ("a", "b", "c"), calibration=pictures)
    assert "wide-products" in made.graph.by_name
    assert prepared.in_eight is not None and prepared.in_eight.draws > 0
