"""Reshape a vector to a feature map, pixel by pixel, as at the start of generators and decoders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Operator, vector
from glsl_infer.program.layout import View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.bindings import Binding
    from glsl_infer.lowering.builder import Builder


WIDEST_STRIDE = 7
"""Largest stride within a quad, in texels of the vector for each pixel. A GPU can displace corners by 1/16 of a pixel
(VideoCore IV truncates them), and the displacement must stay below half a texel."""


_TEXELS = ("FIRST", "SECOND", "THIRD")
"""Definitions in the shader for the fetches of a pixel."""


class VectorMap(Operator):
    """``activation`` of a map whose pixels are consecutive elements of one vector or several.

    Each vector has complete pixels. Attributes: ``shape``, (height, width, channels); ``activation``; the range
    ``scales`` and ``zeros``.
    """

    attrs = {"shape": None, "activation": "linear", "scales": None, "zeros": None}
    on_parts = "map"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the attribute; the inputs must have as many elements."""
        shape = tuple(node.attrs["shape"])
        lengths = [vector(node, vector_shape) for vector_shape in inputs]
        if len(shape) != 3 or sum(lengths) != math.prod(shape) or any(length % shape[-1] for length in lengths):
            raise ModelError.layer(
                node.name, f"a map {shape} of vectors of {lengths}", "both must hold as many numbers, in whole pixels"
            )
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Concatenate, reshape, and activate."""
        return node.activation(np.concatenate(inputs).reshape(node.attrs["shape"]))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw a quad for each row of each slice, or for each pixel if the channel count is odd or large."""
        height, width, channels = build.shapes[node.name]
        sources = [build.fixed_point(name) for name in node.inputs]
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        out = fold.output(node.activation, node.attrs, channels)
        factor, offset = fold.slices(out.factor), fold.slices(out.offset)
        is_plain = bool((out.factor == 1.0).all() and not out.offset.any())
        runs = list(_runs(height, width, channels, [source.length for source in sources]))
        parities = range(1 + channels % 2)
        for index, parity, run in itertools.product(range(len(target.views)), parities, runs):
            first_element = run.first_element + 4 * index
            if first_element % 2 != parity:
                continue
            source = sources[run.source]
            stride = (channels / 2 if run.pixels > 1 else 0.0, 0.0)
            # For a slice of at most two channels, the second texel is unused and might not exist.
            steps = (0, int(channels - 4 * index > 2 or parity), 2)[: 2 + channels % 2]
            last_texel = source.size[0] - 1
            texels = [min(first_element // 2 + step, last_texel) for step in steps]
            reads = [Read(View(source.texture, texel, 0), stride=stride) for texel in texels]
            binding = build.bind(node, source=reads)
            unused = range(min(4, channels - 4 * index), 4)
            fragment = _fragment(binding, out, source.scale, len(reads), unused, is_plain=is_plain)
            uniforms: dict[str, Sequence[float]] = dict(out.uniforms(index))
            if channels % 2:
                uniforms["odd"] = [float(parity)]
            if not is_plain:
                uniforms |= {"factor": factor[index].tolist(), "offset": offset[index].tolist()}
            view = target.views[index]
            run_view = replace(view, x=view.x + run.x, y=view.y + run.y)
            part = str(index) if unused else None
            build.draw_tile(node, fragment, run_view, (run.pixels, 1), binding, uniforms, part=part)


def _fragment(binding: Binding, out: fold.StoredSum, scale: float, reads: int, unused: range, *, is_plain: bool) -> str:
    """Return the shader of a slice.

    Args:
        binding: reads of the vector, as ``source``.
        out: activation and range of the map.
        scale: scale of the vector.
        reads: texels that a pixel reads: 2, or 3 for an odd channel count.
        unused: lanes beyond the last channel.
        is_plain: whether elements are stored without factor and offset.
    """
    fetches = {name: f"decode({binding.fetch('source', step)})" for step, name in zip(range(reads), _TEXELS)}
    return codegen.fragment(
        "vector_map.frag",
        includes=["store.glsl", "fixed_point.glsl"],
        activation=out.activation,
        constants=out.constants,
        saturates=True,
        lines={
            "declarations": [
                *binding.declarations(),
                *([] if is_plain else ["uniform vec4 factor;", "uniform vec4 offset;"]),
            ],
            "result": [] if is_plain else ["y = factor * y + offset;"],
            "pad_lanes": [f"y.{'xyzw'[lane]} = {codegen.number(out.pad)};" for lane in unused],
        },
        defines={"VECTOR_SCALE": scale, **fetches, **({"ODD_CHANNELS": 1} if reads == len(_TEXELS) else {})},
    )


class _Run(NamedTuple):
    """Adjacent pixels of a row.

    Attributes:
        x: column of the first pixel.
        y: row.
        pixels: number of pixels.
        source: index of the vector with their elements.
        first_element: index of the first pixel's first element in it.
    """

    x: int
    y: int
    pixels: int
    source: int
    first_element: int


def _runs(height: int, width: int, channels: int, lengths: Sequence[int]) -> Iterator[_Run]:
    """Yield runs of pixels whose elements are in one source; single pixels for an odd or large channel count."""
    source_ends = np.cumsum(lengths)
    for y in range(height):
        x = 0
        while x < width:
            first = (y * width + x) * channels
            source = int(np.searchsorted(source_ends, first, side="right"))
            start = int(source_ends[source]) - lengths[source]
            single_pixels = channels % 2 or channels > 2 * WIDEST_STRIDE
            pixels = 1 if single_pixels else min(width - x, (int(source_ends[source]) - first) // channels)
            yield _Run(x, y, pixels, source, first - start)
            x += pixels


OPERATOR = VectorMap()
