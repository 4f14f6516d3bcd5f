"""Which convolutions keep their weights finer than 8 bits: those whose rounding moves the outputs most for its cost.

Maps in 16 bits gain nothing where weights lose more than maps do. One layer at a time gets the weights that its texture
would have, and the outputs are compared, as ``ranges.sensitivity`` does with maps. What maps left of the work and
draws that ``auto`` may add is spent where it gains most: for weights of 16 bits in the texture, or as floats in the
shader's text or uniforms, which add draws instead of instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.compiler.ranges.held_out import Fold
from glsl_infer.compiler.ranges.rounded_runs import Runs
from glsl_infer.compiler.ranges.sensitivity import MOST_COST, looked_at
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.weights_plan import Cost, LayerWeights

WORTH = 0.2
"""``sensitivity.WORTH`` of weights. It is less: the error of maps that they are compared with has in it what pictures
that nobody has shown lose at the ends of ranges."""


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
    """Return the layers to keep finer.

    Args:
        graph: prepared.
        rounded: layers with the weights that their textures would have.
        offers: of those with 8 bits, what the choice of a mode depends on: in 8 bits, and finer.
        samples: typical inputs; some are looked at.
        whole: what the program costs as it is.
        in_eight: what it would cost with all maps in 8 bits.
        error: what rounding of maps does to the outputs; see ``sensitivity.Spent.error``.
        enough: no layer is kept finer once all errors together are less.
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
    """Return which share of the instructions and of the draws it adds that a layer's weights are finer."""
    mode = weights_plan.choose(finer, "auto").mode
    draws = 0 if mode == "texture" else finer.slices - now.textures
    return (weights_plan.work(finer, mode) - weights_plan.work(now, "texture")) / whole.work, draws / whole.draws
