"""Choice of convolutions with weights of more than 8 bits, by the effect of rounding on the outputs and by cost.

Maps in 16 bits gain nothing if weights lose more than the maps do. One layer at a time gets the rounded weights of its
texture, and the outputs are compared, as in ``ranges.sensitivity`` for maps. The search for maps in 16 bits leaves a
part of the work and draws that ``auto`` may add. It is spent on the layers with the largest gain: on weights of 16 bits
in the texture, or on floats in the shader's text or uniforms, which add draws instead of instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glsl_infer.compiler.ranges.cross_validation import Fold
from glsl_infer.compiler.ranges.rounded_runs import Runs
from glsl_infer.compiler.ranges.sensitivity import FAR_COST, FAR_DRAWS, FAR_WORTH, MOST_COST, looked_at
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.builder import Builder, FinerOffer
from glsl_infer.lowering.weights_plan import Cost

WORTH = 0.2
"""Counterpart of ``sensitivity.WORTH`` for weights.

It is lower because the error of maps, with which weights are compared, includes the clipping of unseen images at the
ends of ranges.
"""


@dataclass(frozen=True)
class FinerWeights:
    """Limits of the search for weights of more than 8 bits.

    Attributes:
        cost_8bit: cost of the program with all maps in 8 bits.
        error: error of the outputs due to the rounding of maps; see ``sensitivity.Spent.error``.
        enough: total error, as a root of summed squares, below which no further layer is chosen.
        is_far: whether outputs had too large an error, so that ``FAR_COST`` is spent.
    """

    cost_8bit: Cost
    error: float = 0.0
    enough: float = 0.0
    is_far: bool = False


def choose(
    graph: Graph,
    plan: Builder,
    images: Sequence[Inputs],
    limits: FinerWeights,
    progress: Callable[[str], object] = str,
) -> frozenset[str]:
    """Return the layers to store with weights of more than 8 bits.

    Args:
        graph: a prepared graph.
        plan: the plan of a program with 8-bit weights.
        images: calibration inputs, of which a selection is computed.
        limits: the remaining budget.
        progress: called with a progress message for each layer.
    """
    errors = _errors(graph, plan, images, limits, progress)
    prices = {name: _price(plan.offers[name], limits.cost_8bit) for name in errors}
    most_work, most_draws = (FAR_COST, FAR_DRAWS) if limits.is_far else (MOST_COST, MOST_COST)
    least_gain = WORTH * FAR_WORTH if limits.is_far else WORTH
    work_left = most_work - plan.cost.work / limits.cost_8bit.work
    draws_left = most_draws - plan.cost.draws / limits.cost_8bit.draws
    total_error = limits.error**2 + sum(error**2 for error in errors.values())  # squared
    chosen = set[str]()
    for name in sorted(errors, key=lambda name: (-(errors[name] ** 2) / max(*prices[name], 1e-4), name)):
        if total_error <= limits.enough**2:
            break
        gain, (work, draws) = errors[name] ** 2, prices[name]
        is_affordable = work <= max(work_left, 0.0) and draws <= max(draws_left, 0.0)
        if is_affordable and gain >= least_gain * max(work, draws) * total_error:
            work_left, draws_left = work_left - work, draws_left - draws
            total_error = max(total_error - gain, 1e-24)
            chosen.add(name)
    return frozenset(chosen)


def _errors(
    graph: Graph,
    plan: Builder,
    images: Sequence[Inputs],
    limits: FinerWeights,
    progress: Callable[[str], object],
) -> dict[str, float]:
    """Return the error of the outputs due to the rounded weights of each layer; arguments as for ``choose``."""
    names, count = looked_at(graph, plan.offers.keys(), len(images))
    measured_images = [images[index * len(images) // count] for index in range(count)]
    rounded = dict[str, Node]()
    for name in sorted(names):
        progress(f"weights: layer {len(rounded) + 1} of {len(names)}, {name}")
        rounded[name] = plan.offers[name].rounded()
    return Runs(graph, measured_images, [Fold()] * count, rounded, as_values=limits.is_far).errors


def _price(offer: FinerOffer, total: Cost) -> tuple[float, float]:
    """Return the cost of finer weights of a layer, as shares of all instructions and of all draws."""
    current, finer = offer.current, offer.finer
    mode = weights_plan.choose(finer, "auto").mode
    draws = 0 if mode == "texture" else finer.slices - current.textures
    work = weights_plan.work(finer, mode) - weights_plan.work(current, "texture")
    return work / total.work, draws / total.draws
