"""Passes of sums of feature maps, followed by an activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold, number_texture, truncation
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from glsl_infer.graph import Node
    from glsl_infer.graph.activations import Activation
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FeatureMap


START = ("#ifdef CUT_SUMS", "#define START cut_offset", "#else", "#define START offset", "#endif")
"""Lines that select the initial value of a sum if a texture has both."""

MOST_FETCHED = 2
"""Largest number of inputs of a sum whose constants can be in a texture."""

MOST_CHANGED = 0.5 / 255.0
"""Largest change of the activation near 0, as a share of the range, for which sums start higher to correct truncation.

Roots, logarithms and negative powers exceed it by far. Their sums that start at exactly 0 are not corrected. For bytes
of 0 these are exact with truncation, too."""


def pointwise(node: Node, build: Builder) -> None:
    """Append the passes of the node's activation of the sum of all inputs.

    Raises:
        ModelError: there are more than ``MAX_TEXTURES`` inputs.
    """
    inputs = [build.feature_map(name) for name in node.inputs]
    if len(inputs) > MAX_TEXTURES:
        advice = f"at most {MAX_TEXTURES} can be added at once; add in steps"
        raise ModelError.layer(node.name, f"{len(inputs)} inputs", advice)
    target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
    out = fold.output(node.activation, node.attrs, target.channels)
    factors, starts = _constants(node, inputs, target, out)
    is_plain = not factors
    constants = {**factors, **starts}
    reads = [[Read(source.views[index]) for source in inputs] for index in range(len(target.views))]
    texture, units = None, dict[str, list[float]]()
    if _fetches(node, build, target, out, factors, reads):
        texels, units = number_texture.pack(constants, target.bits)
        texture = build.constant_texture(node, texels.shape[1], texels.shape[0], texels.tobytes())
    for index, view in enumerate(target.views):
        row = {number_texture.ROLE: [Read(View(texture, 0, index), stride=(0.0, 0.0))]} if texture else {}
        binding = build.bind(node, source=reads[index], **row)
        texel_fetches = [binding.fetch("source", k) for k in range(len(inputs))]
        terms = [
            f"sum += {fetch};" if is_plain else f"sum += factor{k} * {fetch};" for k, fetch in enumerate(texel_fetches)
        ]
        if texture:
            declarations = [
                *binding.declarations(number_texture.ROLE),
                *number_texture.declarations(constants),
                *START,
            ]
            terms = [*number_texture.lines(constants, target.bits, binding), "sum = START;", *terms]
            uniforms = {**units, **binding.texels(number_texture.ROLE)}
        else:
            declarations = [*binding.declarations(), *(f"uniform vec4 {name};" for name in factors)]
            uniforms = number_texture.uniforms_of(constants, index)
        padding_lanes = range(min(4, target.channels - 4 * index), 4)
        fragment = codegen.fragment(
            "pointwise.frag",
            includes=["store.glsl", "cut_sums.glsl"],
            activation=out.activation,
            constants=out.constants,
            saturates=True,
            lines={
                "declarations": declarations,
                "terms": terms,
                "pad_lanes": [f"sum.{'xyzw'[lane]} = {codegen.number(out.pad)};" for lane in padding_lanes],
            },
            defines={} if is_plain or texture else {"OFFSET": 1},
        )
        size, part = (target.width, target.height), str(index) if padding_lanes else None
        build.draw_tile(node, fragment, view, size, binding, {**uniforms, **out.uniforms(index)}, part=part)


def _constants(
    node: Node, inputs: Sequence[FeatureMap], target: FeatureMap, out: fold.StoredSum
) -> tuple[number_texture.Rows, number_texture.Rows]:
    """Return factors of the inputs, and initial values of the sums, by name; nothing for a sum of the texels alone."""
    addends = [fold.addend(source, out) for source in inputs]
    factors = [factor for factor, _ in addends]
    initial_sum = out.offset + sum(offset for _, offset in addends)
    offset = fold.slices(initial_sum, out.pad)
    if all((factor == 1.0).all() for factor in factors) and not offset.reshape(-1)[: target.channels].any():
        return {}, {}
    truncation_error = truncation.truncation_bound(factors)
    unit = 1.0 if node.activation.scales or node.activation.clips else target.scale_of
    is_sensitive = (initial_sum == 0.0) & (_change_near_0(node.activation, truncation_error) > MOST_CHANGED * unit)
    truncated_offset = offset + fold.slices(np.where(is_sensitive, 0.0, truncation_error))
    starts = {"offset": offset, "cut_offset": truncated_offset}
    return {f"factor{k}": fold.slices(factor) for k, factor in enumerate(factors)}, starts


def _fetches(
    node: Node,
    build: Builder,
    target: FeatureMap,
    out: fold.StoredSum,
    factors: number_texture.Rows,
    reads: Sequence[Sequence[Read]],
) -> bool:
    """Return whether a texture should hold the constants of all slices, to draw them in one pass.

    With more than two inputs, VideoCore IV has so many fetches in flight that it runs one thread. In 16 bits, the error
    of a constant from a texture would be up to 1/20 of a step.
    """
    if target.bits > 8 or not 0 < len(factors) <= MOST_FETCHED or out.uniforms(0) or out.activation.slope is None:
        return False
    times, pixels = build.times(node, target)
    saved = number_texture.draws_saved(
        target, [[read.view.texture for read in slice_reads] for slice_reads in reads], times
    )
    pixels *= times * target.width * target.height
    start = next(iter(factors.values()))  # any constant; all take the same time
    return number_texture.pays({**factors, "start": start}, target.bits, pixels, saved, build.draw_cost)


def _change_near_0(activation: Activation, truncation_error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much a function changes from its value at 0 within the truncation error, (channels,)."""
    with np.errstate(over="ignore"):
        change: NDArray[np.float64] = np.abs(activation(truncation_error) - activation(np.zeros_like(truncation_error)))
    return change
