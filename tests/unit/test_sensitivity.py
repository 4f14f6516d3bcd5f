"""Bits go to the layers that reduce the outputs' error most, until a tolerance holds or a budget is used up."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.compiler import ranges
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.ranges import Calibration, Precision, PreparedGraph, precision, prepare, sensitivity
from glsl_infer.compiler.ranges.cross_validation import Fold
from glsl_infer.compiler.ranges.sensitivity import AUTO_TOLERANCE, BY_MEASURE, CostRatios, Limits
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.tools.validate import verdict

RNG = np.random.default_rng(8)
PICTURES = [RNG.integers(0, 256, (20, 20, 3), np.uint8) for _ in range(5)]


def network() -> Graph:
    body = [
        input_node(20),
        conv_node(RNG, "first", ("image",), 3, 12, kernel=(3, 3), activation="relu"),
        conv_node(RNG, "second", ("first",), 12, 12, kernel=(3, 3), groups=12, activation="linear"),
        conv_node(RNG, "third", ("second",), 12, 24, activation="relu"),
        conv_node(RNG, "fourth", ("third",), 24, 6, kernel=(3, 3), activation="linear"),
        Node("mean", "average_pool", ("fourth",)),
    ]
    return Graph("network", body, [GraphOutput("numbers", ("mean",), purpose="values")])


GRAPH = network()


def prepared_graph(precision: str = "8", **options: float) -> PreparedGraph:
    return prepare(GRAPH, Calibration(PICTURES), precision=Precision(precision, **options))  # type: ignore[arg-type]


def output_error(prepared: PreparedGraph) -> float:
    """Return the error of the exact reference on calibration images: on others, values saturate, too."""
    squares = []
    for picture in PICTURES[:4]:
        floats = reference.run(GRAPH, picture, mode="float")
        squares.append(((reference.run(prepared.graph, picture) - floats) ** 2).mean() / floats.var())
    return float(np.sqrt(np.mean(squares)))


def test_the_layer_with_the_largest_loss_and_its_gain_from_sixteen_bits() -> None:
    prepared = prepare(GRAPH, Calibration(PICTURES))
    coarse = [
        node.with_attrs(scales=(40.0 * node.attrs["scales"][0],)) if node.name == "second" else node
        for node in prepared.graph.nodes
    ]
    result = sensitivity.loses_most(prepared.graph.rebuilt(coarse), PICTURES)
    assert result is not None
    assert result.layer == "second"
    assert result.in_sixteen < 0.5 * result.error <= result.alone
    assert verdict.blamed({"loses_most": asdict(result)})[0].startswith("layer 'second' loses most: its 8 bits alone")
    assert sensitivity.loses_most(prepared_graph("16").graph, PICTURES) is None


def test_without_budget_or_tolerance_errors_are_not_measured() -> None:
    assert prepared_graph().spent is None


@pytest.mark.parametrize("share", [0.7, 0.3, 0.05])
def test_a_tolerance_holds(share: float) -> None:
    plain = output_error(prepared_graph())
    result = prepared_graph(tolerance=share * plain)
    assert result.spent is not None
    assert result.spent.error <= share * plain < result.spent.before
    # The error left by 16 bits depends on ranges chosen after the search (``headroom.widen_ranges``).
    assert output_error(result) <= max(
        3.0 * result.spent.error if share < 0.1 else 1.1 * result.spent.error, share * plain
    )
    assert plain == pytest.approx(result.spent.before, rel=0.1)
    sixteen_bit = {choice.layer for choice in result.precision}
    assert sixteen_bit == {layer.layer for layer in result.spent.layers if layer.bits == 16}
    assert {choice.why for choice in result.precision} == {BY_MEASURE}
    # None of these maps is joined to another, so each is worth its own error for its own time.
    gains = [layer.error**2 / layer.milliseconds for layer in result.spent.layers]
    assert gains == sorted(gains, reverse=True)


def test_an_unreachable_limit_uses_16_bits_everywhere_and_is_reported() -> None:
    spent = prepared_graph(tolerance=1e-9).spent
    assert spent is not None
    assert spent.error > 1e-9
    assert {layer.bits for layer in spent.layers} == {16}
    assert spent.error < spent.before / 50.0


def test_a_budget_is_kept() -> None:
    largest_cost = sum(layer.milliseconds for layer in prepared_graph(tolerance=1e-9).spent.layers)  # type: ignore[union-attr]
    errors = []
    for share in (0.1, 0.5, 1.01):
        spent = prepared_graph(budget=share * largest_cost).spent
        assert spent is not None
        assert sum(layer.milliseconds for layer in spent.layers if layer.bits == 16) <= share * largest_cost
        errors.append(spent.error)
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1]


def test_auto_spends_a_tenth_where_the_error_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "AUTO_TOLERANCE", 1e-4)
    monkeypatch.setattr(ranges, "AUTO_SHARE", 0.5)  # a tenth of this small network is too little for any layer
    plain, result = prepared_graph(), prepared_graph("auto")
    assert plain.spent is None
    assert result.spent is not None and result.spent.before > 1e-4
    rule = prepare(
        GRAPH, Calibration(assumed=(-4.0, 4.0)), precision=Precision("auto")
    )  # without images, no error is measured
    assert rule.spent is None
    measured = [choice for choice in result.precision if choice.why == BY_MEASURE]
    assert measured and sum(choice.added for choice in result.precision) <= 0.5 + 1e-9
    assert output_error(result) < output_error(plain)


def test_auto_leaves_a_network_alone_whose_error_is_small() -> None:
    prepared = prepare(
        GRAPH,
        Calibration(PICTURES),
        precision=Precision("auto", layers=dict.fromkeys(("first", "second", "third"), 16)),
    )
    assert prepared.spent is not None and prepared.spent.before <= AUTO_TOLERANCE
    assert all(choice.why != BY_MEASURE for choice in prepared.precision)


def test_a_large_network_is_measured_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    all_layers = {layer.layer for layer in prepared_graph(tolerance=1e-9).spent.layers}  # type: ignore[union-attr]
    monkeypatch.setattr(sensitivity, "MOST_WORK", 8.0 * precision.work(GRAPH))
    spent = prepared_graph(tolerance=1e-9).spent
    assert spent is not None
    measured = {layer.layer for layer in spent.layers}
    assert measured < all_layers and "fourth" in measured
    assert spent.error < spent.before


def test_a_flag_that_is_the_same_everywhere_does_not_decide_alone() -> None:
    """A nearly constant output has no spread to compare its error with."""
    drawn = conv_node(RNG, "flag", ("mean",), 6, 1, activation="linear")
    weights = {"kernel": drawn.weights["kernel"] * 1e-4, "bias": np.full(1, 8.0, np.float32)}
    flag = replace(drawn, weights=weights)
    ends = [GraphOutput("numbers", ("mean",), purpose="values"), GraphOutput("flag", ("flag",), purpose="values")]
    with_flag = Graph("both", [*GRAPH.nodes, flag], ends)
    spent = prepare(with_flag, Calibration(PICTURES), precision=Precision(tolerance=1e-9)).spent
    assert spent is not None
    assert spent.before < 1.0


def test_layers_set_by_the_user_stay() -> None:
    prepared = prepare(
        GRAPH, Calibration(PICTURES), precision=Precision("8", layers={"fourth": 8, "mean": 8}, tolerance=1e-9)
    )
    assert {choice.layer for choice in prepared.precision} == {"first", "second", "third"}


def test_concatenated_maps_get_bits_together() -> None:
    side = conv_node(RNG, "side", ("third",), 24, 6, kernel=(3, 3), activation="linear")
    body = [*GRAPH.nodes[:-1], side, Node("both", "concat_copy", ("side", "fourth"))]
    graph = Graph("joined", body, [GraphOutput("numbers", ("both",), purpose="values")])
    for budget in np.geomspace(1e-4, 1.0, 9):
        prepared = prepare(graph, Calibration(PICTURES), precision=Precision("8", budget=float(budget)))
        sixteen_bit = {choice.layer for choice in prepared.precision}
        assert ("side" in sixteen_bit) == ("fourth" in sixteen_bit)
        assert prepared.spent is not None
        assert sum(layer.milliseconds for layer in prepared.spent.layers if layer.bits == 16) <= budget


def test_a_tolerance_requires_images_and_a_model_of_one_part() -> None:
    with pytest.raises(InputError, match="--tolerance"):
        prepare(
            Graph("g", [input_node(8), conv_node(RNG, "a", ("image",), 3, 4)], "a"), precision=Precision(tolerance=0.1)
        )
    options = Options(tolerance=0.1, delegate_for=("third",))
    with pytest.raises(InputError, match=r"--tolerance and --budget.*'net"):
        build(GRAPH, (), options=options, calibration=PICTURES)


def test_stronger_images_than_those_of_calibration_count() -> None:
    """The error grows if four of sixteen images are stronger: calibrated without them, small maps would saturate."""
    body = [
        input_node(20),
        conv_node(RNG, "large", ("image",), 3, 12, kernel=(3, 3), activation="relu"),
        conv_node(RNG, "small", ("large",), 12, 8, kernel=(3, 3), strides=(4, 4), activation="relu"),
        conv_node(RNG, "numbers", ("small",), 8, 4, activation="linear"),
    ]
    graph = Graph("g", body, [GraphOutput("numbers", ("numbers",), purpose="values")])
    weak = [RNG.integers(0, 64, (20, 20, 3), np.uint8) for _ in range(16)]
    measured = [*weak[:12], *(RNG.integers(0, 256, (20, 20, 3), np.uint8) for _ in range(4))]
    before = [
        prepare(graph, Calibration(pictures), precision=Precision("auto")).spent.before for pictures in (weak, measured)
    ]  # type: ignore[union-attr]
    assert before[1] > 3.0 * before[0]


def test_the_cost_of_a_map_includes_its_pools() -> None:
    body = [*GRAPH.nodes[:4], Node("mean", "average_pool", ("third",)), Node("top", "max_pool", ("mean",))]
    graph = Graph("g", body, [GraphOutput("numbers", ("top",), purpose="values")])
    assert [node.name for node in precision.followers(graph, "third")] == ["mean"]  # a max pool copies values
    by_itself = Graph("g", body[:4], [GraphOutput("numbers", ("third",), purpose="values")])
    costs = [sensitivity.milliseconds(network, network.by_name["third"]) for network in (by_itself, graph)]
    assert costs[1] > costs[0]


def test_auto_does_not_trust_measured_gains_while_outputs_are_useless() -> None:
    """The least important layer on the measured images is too expensive for its gain, but other images need it."""
    ranged = prepare(GRAPH, Calibration(PICTURES)).graph
    samples = [(picture, Fold()) for picture in PICTURES]
    _, free = sensitivity.spend(ranged, {}, samples, Limits(tolerance=1e9))
    last = min(free.layers, key=lambda layer: layer.error).layer
    in_8 = {layer.layer: None for layer in free.layers if layer.layer != last}  # else its share of the error grows

    def counted(graph: Graph) -> CostRatios:
        return CostRatios(1.9, 1.0, 1.9) if graph.by_name[last].attrs["bits"] == 16 else CostRatios(1.0, 1.0, 1.0)

    def badness(graph: Graph) -> float:
        return 0.05 if graph.by_name[last].attrs["bits"] == 16 else 5.0

    limits = Limits(0.0, share=0.12)
    chosen, _ = sensitivity.spend(ranged, in_8, samples, limits, counted)
    assert chosen.get(last) is None
    chosen, spent = sensitivity.spend(ranged, in_8, samples, limits, counted, badness)
    assert chosen[last] is not None and spent.times == 1.9


@pytest.mark.parametrize(("time", "stored"), [(1.9, True), (2.1, False)])
def test_all_maps_in_16_bits_can_be_cheaper_than_some(time: float, stored: bool) -> None:
    """Each join of maps with different bits takes an additional draw, so that one more map alone is too expensive."""
    ranged = prepare(GRAPH, Calibration(PICTURES)).graph
    layers = precision.possible_layers(ranged)

    def sixteen(graph: Graph) -> int:
        return sum(graph.by_name[name].attrs["bits"] == 16 for name in layers)

    def counted(graph: Graph) -> CostRatios:
        count = sixteen(graph)
        return CostRatios(2.1, 1.0, time) if count == len(layers) else CostRatios(1.0 + 2.0 * count, 1.0, 1.0)

    def badness(graph: Graph) -> float:
        return 5.0 - 4.5 * (sixteen(graph) == len(layers))

    samples = [(picture, Fold()) for picture in PICTURES]
    chosen, spent = sensitivity.spend(ranged, {}, samples, Limits(0.0, share=0.12), counted, badness)
    assert {name for name, choice in chosen.items() if choice is not None} == (set(layers) if stored else set())
    assert spent.times == (2.1 if stored else 1.0)


@pytest.mark.parametrize(("time", "stored"), [(1.0, True), (1.1, False)])
def test_all_maps_in_16_bits_need_no_gain_if_a_frame_is_not_slower(time: float, stored: bool) -> None:
    """A layer with coarse steps must have 8 bits, so that all others change the outputs by less than 2 %."""
    ranged = prepare(GRAPH, Calibration(PICTURES)).graph
    samples = [(picture, Fold()) for picture in PICTURES]
    other_layers = precision.possible_layers(ranged).keys() - {"third"}
    coarse = ranged.by_name["third"].with_attrs(scales=(40.0 * ranged.by_name["third"].attrs["scales"][0],))
    ranged = ranged.rebuilt([coarse if node.name == "third" else node for node in ranged.nodes])

    def counted(graph: Graph) -> CostRatios:
        count = sum(graph.by_name[name].attrs["bits"] == 16 for name in other_layers)
        return CostRatios(2.1, 1.0, time) if count == len(other_layers) else CostRatios(1.0 + 2.0 * count, 1.0, 1.0)

    chosen, _ = sensitivity.spend(ranged, {"third": None}, samples, Limits(0.0, share=0.12), counted, lambda _: 5.0)
    assert {name for name, choice in chosen.items() if choice is not None} == (other_layers if stored else set())
