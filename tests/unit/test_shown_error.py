"""What a detector is off by counts where it is sure of something, and the pictures that show that are looked at."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer.compiler.ranges import prepare, shown_error
from glsl_infer.compiler.ranges.rounded_runs import Runs
from glsl_infer.compiler.ranges.shown_error import Judge, scores_of, telling
from glsl_infer.graph import Graph, GraphOutput, host_steps
from glsl_infer.graph.host_steps import HostStep

RNG = np.random.default_rng(3)
SIDE, PLACES = 8, 64


def detector(scores: int = 1, steps: tuple[HostStep, ...] = ()) -> Graph:
    """Boxes of four numbers and scores for each of 64 places."""
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


def test_boxes_have_scores() -> None:
    assert scores_of(detector()) == {"boxes": "scores"}
    assert scores_of(detector(3, (HostStep(host_steps.SIGMOID),))) == {"boxes": "scores"}
    assert scores_of(detector(3)) == {}  # numbers that may be anything


def test_only_what_a_network_is_sure_of_counts() -> None:
    judge = Judge(detector())
    boxes, logits = RNG.normal(size=(PLACES, 4)), np.full(PLACES, -30.0)
    logits[5] = 3.0
    exact = judge.shown(ends(boxes, logits))
    spreads = judge.spreads([exact])

    def off(place: int, by: float) -> float:
        moved = boxes.copy()
        moved[place] += by
        return shown_error.error([judge.squares(exact, ends(moved, logits))], spreads)

    assert off(5, 1.0) > 10.0 * off(6, 1.0) > 0.0
    other = logits.copy()
    other[6] -= 1000.0  # as unlikely as before
    assert judge.squares(exact, ends(boxes, other)) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_picture_without_anything_is_not_looked_at() -> None:
    graph = detector()
    pictures = [{"image": RNG.integers(0, 256, (SIDE, SIDE, 3), np.uint8)} for _ in range(12)]
    judge = Judge(graph)
    sure = [judge.certainty(shown_error.ends_of(graph, picture)) for picture in pictures]
    assert telling(graph, pictures, 3) == [first + int(np.argmax(sure[first : first + 4])) for first in (0, 4, 8)]
    assert telling(graph, pictures, 12) == list(range(12))


def test_a_search_that_makes_it_worse_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([0.5, *[0.6] * 9])
    monkeypatch.setattr(Runs, "error", lambda *_: next(found))
    pictures = [{"image": RNG.integers(0, 256, (SIDE, SIDE, 3), np.uint8)} for _ in range(4)]
    made = prepare(detector(), pictures, precision="8", tolerance=1e-6)
    assert made.precision == ()
    assert made.spent is not None and made.spent.error == made.spent.before == 0.5
