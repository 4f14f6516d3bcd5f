"""The error of a detector counts mainly for confident detections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.compiler.ranges import Calibration, Precision, prepare, rounded_runs
from glsl_infer.compiler.ranges.rounded_runs import OutputComparison, scores_of
from glsl_infer.graph import Graph, GraphOutput, host_steps
from glsl_infer.graph.host_steps import HostStep

RNG = np.random.default_rng(3)
SIDE, PLACES = 8, 64
PICTURES = [{"image": RNG.integers(0, 256, (SIDE, SIDE, 3), np.uint8)} for _ in range(2)]


def detector(scores: int = 1, steps: tuple[HostStep, ...] = ()) -> Graph:
    """Return a detector with boxes of four values and scores for each of 64 positions."""
    body = [
        input_node(SIDE),
        conv_node(RNG, "body", ("image",), 3, 8, kernel=(3, 3), activation="relu"),
        conv_node(RNG, "box", ("body",), 8, 4, activation="linear"),
        conv_node(RNG, "score", ("body",), 8, scores, activation="linear"),
    ]
    ends = [
        GraphOutput("boxes", ("box",), (HostStep(host_steps.ROWS, 4),), purpose="values"),
        GraphOutput("scores", ("score",), (HostStep(host_steps.ROWS, scores), *steps), purpose="values"),
    ]
    return Graph("detector", body, ends)


def ends(box: np.ndarray, score: np.ndarray) -> dict[str, np.ndarray]:
    return {"box": box.reshape(SIDE, SIDE, -1), "score": score.reshape(SIDE, SIDE, -1)}


def sure_detector(logit: float) -> Graph:
    graph = detector()
    score = graph.by_name["score"]
    weights = {"kernel": 0.0 * score.weights["kernel"], "bias": np.full(1, logit, np.float32)}
    return graph.rebuilt([replace(node, weights=weights) if node is score else node for node in graph.nodes])


@pytest.mark.parametrize(("logit", "pictures"), [(3.0, 2), (3.0, 1), (-3.0, 2)])
def test_all_rows_count_if_too_few_images_have_detections(logit: float, pictures: int) -> None:
    comparison = OutputComparison(sure_detector(logit), PICTURES[:pictures])
    boxes, logits = RNG.normal(size=(PLACES, 4)), np.full(PLACES, -30.0)
    scored = comparison.scored(ends(boxes, logits))
    assert len(scored) == 2
    alike = logit < 0.0 or pictures < 2
    assert (scored[0][0].shape == (4 * PLACES, 1)) is alike


def test_boxes_have_scores() -> None:
    assert scores_of(detector()) == {"boxes": "scores"}
    assert scores_of(detector(3, (HostStep(host_steps.SIGMOID),))) == {"boxes": "scores"}
    assert scores_of(detector(3)) == {}  # unbounded outputs are not scores


def test_only_confident_detections_count() -> None:
    comparison = OutputComparison(sure_detector(3.0), PICTURES)
    boxes, logits = RNG.normal(size=(PLACES, 4)), np.full(PLACES, -30.0)
    logits[5] = 3.0
    exact = comparison.scored(ends(boxes, logits))
    spreads = comparison.spreads([exact])

    def error_of_shift(index: int, by: float) -> float:
        shifted = boxes.copy()
        shifted[index] += by
        return rounded_runs.error([comparison.squares(exact, ends(shifted, logits))], spreads)

    assert error_of_shift(5, 1.0) > 10.0 * error_of_shift(6, 1.0) > 0.0
    other = logits.copy()
    other[6] -= 1000.0  # as unlikely as before
    assert comparison.squares(exact, ends(boxes, other)) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_bits_go_to_layers_of_confident_detections(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch without confident detections has the largest rounding error; scores more than halve its weight."""
    body = [
        input_node(SIDE),
        conv_node(RNG, "near", ("image",), 3, 8, kernel=(3, 3), activation="relu"),
        conv_node(RNG, "far", ("image",), 3, 8, kernel=(3, 3), activation="relu"),
        conv_node(RNG, "near-box", ("near",), 8, 4, activation="linear"),
        conv_node(RNG, "far-box", ("far",), 8, 4, activation="linear"),
        conv_node(RNG, "near-score", ("near",), 8, 1, activation="linear"),
        conv_node(RNG, "far-score", ("far",), 8, 1, activation="linear"),
    ]
    body[4] = replace(body[4], weights={**body[4].weights, "kernel": 5.0 * body[4].weights["kernel"]})
    for index, bias in ((5, 4), (6, -30)):
        weights = {"kernel": 0.01 * (index == 5) * body[index].weights["kernel"], "bias": np.full(1, bias, np.float32)}
        body[index] = replace(body[index], weights=weights)
    rows, column = HostStep(host_steps.ROWS, 4), HostStep(host_steps.ROWS, 1)
    concatenate = HostStep(host_steps.CONCATENATE)
    boxes = GraphOutput("boxes", ("near-box", "far-box"), (rows, concatenate), purpose="values")
    scores = GraphOutput("scores", ("near-score", "far-score"), (column, concatenate), purpose="values")
    pictures = [{"image": RNG.integers(0, 256, (SIDE, SIDE, 3), np.uint8)} for _ in range(4)]
    graph = Graph("detector", body, [boxes, scores])

    def nearer() -> float:
        spent = prepare(graph, Calibration(pictures), precision=Precision("8", tolerance=1e-9)).spent
        assert spent is not None
        errors = {row.layer: row.error for row in spent.layers}
        return errors["near"] / errors["far"]

    error = nearer()
    monkeypatch.setattr(rounded_runs, "scores_of", lambda _: {})
    assert error > 2.0 * nearer()
