"""What convolutions gain whose weights are finer than 8 bits: what their rounding does to the outputs, and the price.

Maps in 16 bits gain nothing where weights lose more than maps do, so both are bought from one purse
(``ranges.sensitivity``). One layer at a time gets the weights that its texture would have, and the outputs are
compared. Finer are 16 bits in the texture, or floats in the shader's text or uniforms, which add draws instead of
instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.compiler.ranges.rounded_runs import Runs
from glsl_infer.compiler.ranges.sensitivity import FinerWeights, looked_at
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.weights_plan import Cost, LayerWeights


def gains(
    graph: Graph,
    rounded: Mapping[str, Node],
    offers: Mapping[str, tuple[LayerWeights, LayerWeights]],
    samples: Sequence[Inputs],
    whole: Cost,
) -> dict[str, FinerWeights]:
    """Return for layers what their weights lose in 8 bits, and what it costs to keep them finer.

    Args:
        graph: prepared.
        rounded: layers with the weights that their textures would have.
        offers: of those with 8 bits, what the choice of a mode depends on: in 8 bits, and finer.
        samples: typical inputs; some are looked at.
        whole: what the program costs with all maps in 8 bits.
    """
    names, count = looked_at(graph, offers.keys() & rounded.keys(), len(samples))
    pictures = [samples[index * len(samples) // count] for index in range(count)]
    errors = Runs(graph, pictures, [{}] * count, {name: rounded[name] for name in sorted(names)}).errors
    return {name: FinerWeights(error, _price(*offers[name], whole)) for name, error in errors.items()}


def _price(now: LayerWeights, finer: LayerWeights, whole: Cost) -> float:
    """Return which share of the instructions or of the draws it adds that a layer's weights are finer."""
    mode = weights_plan.choose(finer, "auto").mode
    draws = 0 if mode == "texture" else finer.slices - now.textures
    work = weights_plan.work(finer, mode) - weights_plan.work(now, "texture")
    return max(work / whole.work, draws / whole.draws)
