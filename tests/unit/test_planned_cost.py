"""auto counts its cost as the program is planned, and spends the budget left by maps on the weights that lose most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from test_sensitivity import GRAPH, PICTURES

from glsl_infer.compiler import exact_weights, lower, ranges
from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.planned_cost import Plans, planned
from glsl_infer.compiler.ranges import Calibration, Precision, prepare, sensitivity
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.lowering.builder import Builder
from glsl_infer.lowering.frame_cost import INSTRUCTIONS_PER_DENSE_WEIGHT, other_work
from glsl_infer.lowering.target import Target
from glsl_infer.lowering.weights_plan import Cost

SAMPLES = [{"image": picture} for picture in PICTURES]


@pytest.mark.parametrize("bits", ["8", "16"])
def test_draws_are_those_of_the_program(bits: str) -> None:
    graph = prepare(optimize(GRAPH), Calibration(PICTURES), precision=Precision(bits)).graph
    cost = planned(graph, calibrated=True)
    passes = lower.to_program(graph, calibration=Calibration(SAMPLES)).passes
    assert cost.draws == pytest.approx(len(passes), abs=2)
    assert cost.work > 0.0


def test_auto_costs_no_more_than_it_may() -> None:
    cost_8bit = planned(prepare(optimize(GRAPH), Calibration(PICTURES)).graph, calibrated=True)
    _, _, prepared = build(GRAPH, [], options=Options(precision="auto"), calibration=SAMPLES)
    assert prepared.cost_8bit == cost_8bit
    rule = sum(choice.why != sensitivity.BY_MEASURE for choice in prepared.precision)
    cost = planned(prepared.graph, calibrated=True)
    assert max(cost.over(cost_8bit)) <= sensitivity.MOST_COST or len(prepared.precision) == rule


class Asked(Plans):
    """Plans that record every graph and its cost."""

    def __init__(self) -> None:
        super().__init__(Target(), calibrated=True)
        self.graphs: list[tuple[Graph, Cost]] = []

    def __call__(self, graph: Graph) -> Cost:
        cost = super().__call__(graph)
        self.graphs.append((graph, cost))
        return cost


def chain(length: int) -> Graph:
    """Return a network of convolutions, each with a pooling and a gate, and a dense layer."""
    rng = np.random.default_rng(6)
    body, last, channels = [input_node(20)], "image", 3
    for index in range(length):
        body += [
            conv_node(rng, f"conv{index}", (last,), channels, 12, kernel=(3, 3), padding=(1, 1, 1, 1)),
            Node(f"pool{index}", "average_pool", (f"conv{index}",), {"pool": (20, 20), "strides": (20, 20)}),
            conv_node(rng, f"gate{index}", (f"pool{index}",), 12, 12, activation="sigmoid"),
            Node(f"gated{index}", "binary", (f"conv{index}", f"gate{index}"), {"operation": "multiply"}),
        ]
        last, channels = f"gated{index}", 12
    return classifier(rng, body, 12, 40)


@pytest.mark.slow
def test_only_layers_with_changed_maps_are_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dozens of plans differ in a map or two each, and each has the cost of a plan of all layers."""
    monkeypatch.setattr(sensitivity, "WORTH", 0.0)
    for name in ("AUTO_TOLERANCE", "AUTO_NUMBERS"):
        monkeypatch.setattr(ranges, name, 0.0)
    plans = Asked()
    graph = optimize(chain(8))
    prepare(graph, Calibration(SAMPLES), precision=Precision("auto"), plan=plans)
    assert len(plans.graphs) >= 10
    layers = len(plans.graphs[0][0].nodes)
    assert plans.layers <= layers + 8 * len(plans.graphs) < layers * len(plans.graphs) / 3
    for graph, cost in plans.graphs:
        assert planned(graph, calibrated=True) == cost


def test_dense_layers_are_work_too() -> None:
    """Without the work of dense layers, 16-bit maps would appear more expensive than they are."""

    def work(classes: int) -> float:
        rng = np.random.default_rng(4)
        body = [input_node(8), conv_node(rng, "feed", ("image",), 3, 16, activation="relu(6)")]
        graph = prepare(optimize(classifier(rng, body, 16, classes))).graph
        return planned(graph, calibrated=True).work

    assert work(100) - work(4) == pytest.approx(INSTRUCTIONS_PER_DENSE_WEIGHT * 16 * 96, rel=0.01)


@pytest.mark.parametrize(("bits", "instructions"), [({}, 38.0), ({"pool": 8}, 38.0), ({"pool": 16}, 2 * 123.0)])
def test_a_map_of_16_bits_is_stored_twice(bits: dict[str, int], instructions: float) -> None:
    graph = Graph("g", (input_node(8), Node("pool", "max_pool", ("image",))), "pool")
    assert other_work(graph, {"pool"}, bits) == 4 * 4 * instructions


def test_finer_weights_are_offered_for_8_bits_in_a_texture_only() -> None:
    rng = np.random.default_rng(2)
    modes = {"feed": "baked", "bytes": "texture", "exact": "texture", "array": "uniform"}
    body = [input_node(20), conv_node(rng, "feed", ("image",), 3, 8)]
    for name in [*modes][1:]:
        node = conv_node(rng, name, (body[-1].name,), 8, 8)
        small = {key: np.float32(0.1) * values for key, values in node.weights.items()}
        body.append(replace(node, weights=small))
    graph = prepare(classifier(rng, body, 8)).graph
    maps = lower.maps_of(graph, Calibration(PICTURES))
    target = Target(weights_for=modes)
    builder = Builder(graph, target, lower.storage_of(graph), maps, {"exact"}, planning=True)
    lower.lowered(builder)
    assert {name: target.choice(builder.layer_weights[name]).mode for name in modes} == modes
    ((name, offer),) = builder.offers.items()
    assert (name, offer.current.bits, offer.finer.bits) == ("bytes", 8, 16)


@pytest.mark.parametrize("draw_cost", [1.0, 10_000.0])
def test_the_plan_follows_the_cost_of_a_draw(draw_cost: float) -> None:
    options = Options(precision="8", draw_cost=draw_cost)
    _, program, prepared = build(GRAPH, [], options=options, calibration=4 * SAMPLES)
    cost = planned(prepared.graph, Target(draw_cost=draw_cost), calibrated=True)
    assert cost.draws == pytest.approx(len(program.passes), abs=2)
    other = planned(prepared.graph, Target(draw_cost=10_000.0 / draw_cost), calibrated=True)
    assert (other.draws < cost.draws) == (draw_cost < 10.0) and other.draws != cost.draws


def test_maps_in_16_bits_do_not_draw_less() -> None:
    _, _, prepared = build(GRAPH, [], options=Options(precision="auto"), calibration=4 * SAMPLES)
    cost = planned(prepared.graph, calibrated=True)
    assert prepared.cost_8bit is not None and prepared.cost_8bit.draws <= cost.draws
    assert prepared.cost_8bit.work < cost.work


def test_weights_that_lose_most_are_kept_finer_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    offered: list[frozenset[str]] = []
    choose = exact_weights.choose

    def chosen(*args: object, **options: object) -> frozenset[str]:
        offered.append(choose(*args, **options))  # type: ignore[arg-type]
        return offered[-1]

    monkeypatch.setattr(sensitivity, "MOST_COST", 0.0)
    monkeypatch.setattr(exact_weights, "MOST_COST", 9.0)
    monkeypatch.setattr(exact_weights, "WORTH", 0.0)
    monkeypatch.setattr(exact_weights, "choose", chosen)
    options = Options(precision="auto")
    _, finer, _ = build(GRAPH, [], options=options, calibration=SAMPLES)
    monkeypatch.setattr(exact_weights, "choose", lambda *_, **__: frozenset[str]())
    _, plain, prepared = build(GRAPH, [], options=options, calibration=SAMPLES)
    assert offered and offered[0]

    def output_error(program: object) -> float:
        errors = []
        for picture in PICTURES:
            exact = reference.run(prepared.graph, picture, mode="float")
            errors.append(reference.run(program.graph, picture, mode="float") - exact)  # type: ignore[attr-defined]
        return float(np.sqrt(np.mean(np.square(errors))))

    assert output_error(finer) < 0.5 * output_error(plain)


def test_partial_sums_are_planned_before_calibration() -> None:
    rng = np.random.default_rng(3)
    body = [input_node(8), conv_node(rng, "feed", ("image",), 3, 64, activation="relu(6)")]
    body.append(conv_node(rng, "wide", ("feed",), 64, 8, kernel=(5, 5), padding=(2, 2, 2, 2)))
    pictures = [{"image": rng.integers(0, 256, (8, 8, 3), np.uint8)} for _ in range(3)]
    bundle, _, prepared = build(classifier(rng, body, 8), ("a", "b", "c"), calibration=pictures)
    assert "wide-products" in bundle.graph.by_name
    assert prepared.cost_8bit is not None and prepared.cost_8bit.draws > 0
