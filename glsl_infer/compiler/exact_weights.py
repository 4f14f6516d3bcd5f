"""Choice of convolutions with weights of more than 8 bits, by the effect of rounding on the outputs and by cost.

Maps in 16 bits gain nothing if weights lose more than the maps do. One layer at a time gets the rounded weights of its
texture, and the outputs are compared, as in ``ranges.sensitivity`` for maps. The search for maps in 16 bits leaves a
part of the work and draws that ``auto`` may add. It is spent on the layers with the largest gain: on weights of 16 bits
in the texture, or on floats in the shader's text or uniforms, which add draws instead of instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.compiler.ranges.expected_error import Fold
from glsl_infer.compiler.ranges.rounded_runs import Runs
from glsl_infer.compiler.ranges.sensitivity import MOST_COST, looked_at
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.weights_plan import Cost, LayerWeights

WORTH = 0.2
"""Counterpart of ``sensitivity.WORTH`` for weights.

It is lower because the error of maps, with which weights are compared, includes the clipping of unseen images at the
ends of ranges.
"""


def choose(
    graph: Graph,
    rounded: Mapping[str, Node],
    offers: Mapping[str, tuple[LayerWeights, LayerWeights]],
    samples: Sequence[Inputs],
    *,
    whole: Cost,
    in_eight: Cost,
    error: float,
    enough: float = 0.0,
) -> frozenset[str]:
    """Return the layers to store with weights of more than 8 bits.

    Args:
        graph: a prepared graph.
        rounded: nodes with the weights as rounded for their textures, by layer name.
        offers: for layers with 8-bit weights, the inputs of the choice of a mode: with 8 bits, and with more.
        samples: calibration inputs, of which a selection is computed.
        whole: cost of the program as it is.
        in_eight: cost of the program with all maps in 8 bits.
        error: error of the outputs due to the rounding of maps; see ``sensitivity.Spent.error``.
        enough: total error, as a root of summed squares, below which no further layer is chosen.
    """
    names, count = looked_at(graph, offers.keys() & rounded.keys(), len(samples))
    pictures = [samples[index * len(samples) // count] for index in range(count)]
    errors = Runs(graph, pictures, [Fold()] * count, {name: rounded[name] for name in sorted(names)}).errors
    prices = {name: _price(*offers[name], in_eight) for name in errors}
    room = [MOST_COST - whole.work / in_eight.work, MOST_COST - whole.draws / in_eight.draws]
    total = error**2 + sum(one**2 for one in errors.values())
    chosen = set[str]()
    for name in sorted(errors, key=lambda name: (-(errors[name] ** 2) / max(*prices[name], 1e-4), name)):
        if total <= enough**2:
            break
        affordable = all(price <= max(there, 0.0) for price, there in zip(prices[name], room))
        if affordable and errors[name] ** 2 >= WORTH * max(prices[name]) * total:
            room = [there - price for price, there in zip(prices[name], room)]
            total = max(total - errors[name] ** 2, 1e-24)
            chosen.add(name)
    return frozenset(chosen)


def _price(now: LayerWeights, finer: LayerWeights, whole: Cost) -> tuple[float, float]:
    """Return the cost of finer weights of a layer, as shares of all instructions and of all draws."""
    mode = weights_plan.choose(finer, "auto").mode
    draws = 0 if mode == "texture" else finer.slices - now.textures
    return (weights_plan.work(finer, mode) - weights_plan.work(now, "texture")) / whole.work, draws / whole.draws
