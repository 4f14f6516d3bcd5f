"""The storage of weights: chosen by a cost model, with reasons, or as requested."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glsl_infer.errors import InputError
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.weights_plan import LayerWeights
from glsl_infer.tools.videocore import estimate

PW = LayerWeights("pw", slices=32, pixels=23 * 23, columns=32, vectors=33)
"""A 1x1 convolution of X22's fourth stage."""


@pytest.mark.parametrize(
    "layer, mode",
    [
        (PW, "texture"),
        (replace(PW, slices=16, pixels=47 * 47), "uniform"),  # fewer draws to save, and more pixels
        (replace(PW, slices=48, pixels=11 * 11), "texture"),
        (replace(PW, slices=8, pixels=191 * 191), "uniform"),
        (replace(PW, slices=1), "baked"),  # no uploads, and one program in any mode
        (replace(PW, untextured="because"), "uniform"),
        (replace(PW, slices=6, pixels=96 * 96, columns=216, vectors=217), "baked"),
        (replace(PW, columns=216, vectors=217), "texture"),
    ],
)
def test_auto_chooses_the_cheapest_mode(layer: LayerWeights, mode: str) -> None:
    choice = weights_plan.choose(layer, "auto")
    assert choice.mode == mode
    costs = {other: cost for other, cost in choice.microseconds.items() if cost is not None}
    assert costs[mode] == min(costs.values())


def test_longer_arrays_take_longer() -> None:
    long, longer = (weights_plan.costs(replace(PW, vectors=count), 3500)["uniform"] for count in (1000, 1100))
    assert longer - long == pytest.approx(PW.slices * 100 * weights_plan.VECTOR)
    short, shorter = (weights_plan.costs(replace(PW, vectors=count), 3500)["uniform"] for count in (100, 33))
    assert short == shorter


def test_a_reason_has_the_savings_and_the_cost() -> None:
    # 32 * 23 * 23 fragments with 85 + 32 * 15.5 more instructions, 12,000 in a microsecond
    assert weights_plan.choose(PW, "auto").reason == "31 draws less save 2945 us, weights by texel cost 820 us"
    assert weights_plan.work(PW, "baked") == weights_plan.work(PW, "uniform")
    small = replace(PW, slices=6, pixels=9216, columns=216, vectors=217)
    assert "an array of 217 vec4 is longer than 216" in weights_plan.choose(small, "auto").reason
    assert "no texture: because" in weights_plan.choose(replace(PW, untextured="because"), "auto").reason


@pytest.mark.parametrize("mode", ["baked", "uniform", "texture"])
def test_a_chosen_mode_is_used(mode: str) -> None:
    choice = weights_plan.choose(replace(PW, slices=8, pixels=191 * 191), mode)
    assert (choice.mode, choice.reason) == (mode, f"asked for by --weights {mode}")


@pytest.mark.parametrize("mode", ["baked", "uniform", "texture"])
@pytest.mark.parametrize("text", ["auto", "baked", "uniform", "texture"])
def test_a_mode_chosen_for_one_layer_is_used(text: str, mode: str) -> None:
    choice = weights_plan.choose(PW, text, mode)
    assert (choice.mode, choice.reason) == (mode, f"asked for by --weights-for pw={mode}")


def test_one_layer_can_be_left_to_the_model() -> None:
    assert weights_plan.choose(PW, "baked", "auto") == weights_plan.choose(PW, "auto")


def test_one_layer_that_can_have_no_texture_is_refused() -> None:
    with pytest.raises(InputError, match="layer 'pw'"):
        weights_plan.choose(replace(PW, untextured="because"), "auto", "texture")


def test_a_layer_that_can_have_no_texture_gets_the_next_best() -> None:
    assert weights_plan.choose(replace(PW, untextured="because"), "texture").mode == "uniform"


def test_a_mode_that_a_layer_cannot_have_has_no_cost() -> None:
    choice = weights_plan.choose(replace(PW, vectors=500, untextured="because"), "auto")
    assert choice.microseconds["uniform"] is None
    assert choice.microseconds["texture"] is None
    assert choice.mode == "baked"


def test_cheaper_draws_lead_to_more_draws() -> None:
    layer = replace(PW, pixels=40 * 40)
    dear, cheap = (weights_plan.choose(layer, "auto", draw=draw) for draw in (weights_plan.DRAW, 25.0))
    assert (dear.mode, cheap.mode) == ("texture", "uniform")
    assert "draws saved 775 us" in cheap.reason


def test_a_draw_costs_as_much_as_in_the_estimate_of_boards() -> None:
    zero = estimate.costs(estimate.BOARDS[0])
    assert pytest.approx(zero.draw * 1000.0, rel=0.01) == weights_plan.DRAW
    assert estimate.QPUS * estimate.BOARDS[0].clock * 16 / estimate.CYCLES / 1e6 == weights_plan.INSTRUCTIONS
