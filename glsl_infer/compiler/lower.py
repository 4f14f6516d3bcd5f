"""Lowering of a prepared graph to a program.

Every operator appends its textures, shaders and passes to a ``Builder``. The graph is lowered at least twice: first to
plan weights and memory, then with the shared textures of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from glsl_infer import ops
from glsl_infer.compiler import exact_weights, sharing
from glsl_infer.compiler.copied_outputs import handed_on, with_copies
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.compiler.typical import typical_maps
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.graph.reference import Inputs
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.builder import Builder
from glsl_infer.lowering.findings import Findings
from glsl_infer.lowering.typical import Typical
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS, WEIGHTS_MODES, Cost
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program import CompiledNetwork, WeightsChoice
from glsl_infer.program.layout import LAYOUTS, Share
from glsl_infer.support.near_names import did_you_mean


def to_program(
    graph: Graph,
    *,
    weights: str = "auto",
    weights_for: Mapping[str, str] | None = None,
    layout: str = "atlas",
    memory: str = "auto",
    uniform_vectors: int = UNIFORM_VECTORS,
    tell: Callable[[str], object] = str,
    samples: Sequence[Inputs] = (),
    weight_bits: str = "auto",
    typical: Typical | None = None,
    findings: Findings = MappingProxyType({}),
    draw_cost: float = weights_plan.DRAW,
    exact: Collection[str] = (),
    in_eight: Cost | None = None,
    error: float = 0.0,
    enough: float = 0.0,
) -> CompiledNetwork:
    """Turn a prepared graph into textures, shaders and passes.

    Args:
        graph: a prepared graph, as ``ranges.prepare`` returns it.
        weights: ``baked`` (constants, a program for each slice), ``uniform`` (an array, a program for each
            kind of layer), ``texture`` (one draw for all slices, if the layer supports it) or ``auto`` (for each layer
            the mode with the lowest cost; see ``weights_plan``).
        weights_for: weights modes of single layers by name, which override ``weights``.
        layout: ``atlas`` (all slices of a layer in one texture) or ``planar`` (a texture for each slice).
        memory: the method by which layers share textures, see ``memory``; ``auto`` is the one that needs the fewest
            bytes.
        uniform_vectors: the longest uniform array, in vec4; see ``weights_plan.UNIFORM_VECTORS``. With ``auto``, the
            limit is raised if the constants would be more text than a reader accepts.
        tell: called with a progress message for each layer.
        samples: calibration images in the form of the network's inputs, for shaders of devices with truncated sums
            (``compiler.typical``).
        weight_bits: bits of weights in textures: ``auto`` (8 if that adds little noise, else 16) or ``16``.
        typical: calibration maps of this graph from an earlier program with other shared textures.
        findings: calibration data of images no longer available.
        draw_cost: microseconds of a draw, for ``auto``; see ``weights_plan.DRAW``.
        exact: layers with weights of more than 8 bits, as an earlier calibration chose them.
        in_eight: cost of the program with all maps in 8 bits. If given, the remaining budget is spent on weights of
            more than 8 bits (``exact_weights``).
        error: error of the outputs due to the rounding of maps; see ``exact_weights.choose``.
        enough: error below which no further layer gets more bits; see ``exact_weights.choose``.

    Raises:
        ModelError: a layer without a shader, by name.
        InputError: an unknown weights mode, layout or memory method; ``weights_for`` a layer without a choice of
            modes, or with an unsupported mode.
        MissingExtraError: ``flow`` without networkx.
    """
    alone = weights_for or {}
    for mode in (weights, *alone.values()):
        if mode not in WEIGHTS_MODES:
            raise InputError(f"weights '{mode}'; choose one of {', '.join(WEIGHTS_MODES)}")
    if layout not in LAYOUTS:
        raise InputError(f"layout '{layout}'; choose one of {', '.join(LAYOUTS)}")
    needed = gutters(graph)
    typical = typical or typical_of(graph, samples, findings)
    _require_a_gutter_of_zeros(graph, needed)

    def built(shares: Mapping[str, Share], *, planning: bool) -> Builder:
        return _built(
            graph,
            weights,
            alone,
            layout,
            needed,
            shares,
            typical,
            uniform_vectors,
            weight_bits,
            tell,
            draw_cost=draw_cost,
            exact=exact,
            planning=planning,
        )

    builder = built({}, planning=True)
    if in_eight is not None and samples and builder.offers:
        exact = exact_weights.choose(
            graph,
            builder.rounded,
            builder.offers,
            samples,
            whole=builder.whole,
            in_eight=in_eight,
            error=error,
            enough=enough,
        )
        typical.forget(exact)
        if exact:
            del builder  # frees a copy of all weights
            builder = built({}, planning=True)
    longer = weights_plan.longer_array(builder.choices, uniform_vectors) if weights == "auto" else None
    while longer is not None:
        uniform_vectors = longer
        builder = built({}, planning=True)
        longer = weights_plan.longer_array(builder.choices, uniform_vectors)
    moved = handed_on(graph, builder.values)
    if moved:
        return to_program(
            with_copies(graph, moved, builder.values),
            weights=weights,
            weights_for=alone,
            layout=layout,
            memory=memory,
            uniform_vectors=uniform_vectors,
            tell=tell,
            samples=samples,
            weight_bits=weight_bits,
            findings=findings,
            draw_cost=draw_cost,
            exact=exact,
        )
    program = builder.finish()
    choices = list(program.choices)
    for name in alone:
        if name not in choices:
            meant = did_you_mean(name, choices)
            raise InputError(f"no layer '{name}' has weights to choose for{meant}; there are: {', '.join(choices)}")
    shares, uses = sharing.plan(program, builder.grids, memory)
    typical.let_go()  # The calibration maps are needed no more.
    del builder, program  # They have copies of all weights.
    return replace(built(shares, planning=False).finish(), memory=uses)


def typical_of(graph: Graph, samples: Sequence[Inputs], findings: Findings = MappingProxyType({})) -> Typical:
    """Return the calibration maps of a prepared graph, computed when the first layer needs them.

    Args:
        graph: a prepared graph, as for ``to_program``.
        samples: the calibration images.
        findings: calibration data of images no longer available.
    """
    return Typical(lambda: typical_maps(graph, samples), given=len(samples) > 0, stored=findings)


def weights_choices(
    graph: Graph,
    weights_for: Mapping[str, str],
    *,
    given: bool,
    uniform_vectors: int = UNIFORM_VECTORS,
    weight_bits: str = "auto",
    tell: Callable[[str], object] = str,
    draw_cost: float = weights_plan.DRAW,
    exact: Collection[str] = (),
) -> tuple[WeightsChoice, ...]:
    """Return the choice of ``auto`` in atlas layout for each layer's weights, with no limit on the length of the text.

    Args:
        graph: a prepared graph.
        weights_for: as for ``to_program``.
        given: whether there are calibration images, for which weights are rounded.
        uniform_vectors: as for ``to_program``.
        weight_bits: as for ``to_program``.
        tell: as for ``to_program``.
        draw_cost: as for ``to_program``.
        exact: as for ``to_program``.
    """
    return _built(
        graph,
        "auto",
        weights_for,
        "atlas",
        gutters(graph),
        {},
        Typical(dict, given=given),
        uniform_vectors,
        weight_bits,
        tell,
        draw_cost=draw_cost,
        exact=exact,
        planning=True,
        counts=True,
    ).choices


def _built(
    graph: Graph,
    weights: str,
    weights_for: Mapping[str, str],
    layout: str,
    needed: Mapping[str, int],
    shares: Mapping[str, Share],
    typical: Typical,
    uniform_vectors: int,
    weight_bits: str,
    tell: Callable[[str], object],
    *,
    draw_cost: float,
    exact: Collection[str],
    planning: bool,
    counts: bool = False,
) -> Builder:
    bits = {name: chosen.bits for name, chosen in ranges_of(graph).items()}
    builder = Builder(
        graph,
        weights,
        weights_for,
        layout,
        needed,
        shares,
        typical,
        uniform_vectors,
        planning=planning,
        weight_bits=weight_bits,
        bits=bits,
        draw_cost=draw_cost,
        exact=exact,
        counts=counts,
    )
    for number, node in enumerate(graph.nodes, 1):
        what = "memory" if planning else "shaders"
        tell(f"{what}: layer {number} of {len(graph.nodes)}, {node.name}")
        try:
            ops.get(node.op).passes(node, builder)
        except ModelError as refusal:
            refusal.refused = node.name
            raise
    return builder


def _require_a_gutter_of_zeros(graph: Graph, needed: Mapping[str, int]) -> None:
    """Refuse padding around a view of a picture if byte 0, which its gutter holds, is not the value 0."""
    pictures = [node for node in graph.inputs if has_alpha_lane(node) and any(node.attrs["zeros"])]
    for reader in (reader for picture in pictures for reader in graph.consumers[picture.name]):
        if isinstance(ops.get(reader.op), ViewOperator) and needed[reader.name]:
            raise ModelError.layer(
                reader.name,
                "padding around it and the picture in it, of which byte 0 is not the value 0",
                "let a 1x1 convolution of the picture come first, or take the picture over [0, 1]",
            )
