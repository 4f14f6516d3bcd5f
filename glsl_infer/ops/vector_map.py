"""Reshape a vector to a feature map, pixel by pixel, as at the start of generators and decoders."""

from __future__ import annotations

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
    from glsl_infer.lowering.builder import Builder


WIDEST_STRIDE = 7
"""Largest stride within a quad, in texels of the vector for each pixel. A GPU can displace corners by 1/16 of a pixel
(VideoCore IV truncates them), and the displacement must stay below half a texel."""


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
        plain = bool((out.factor == 1.0).all() and not out.offset.any())
        last_texels = [source.size[0] - 1 for source in sources]
        runs = list(_runs(height, width, channels, [source.length for source in sources]))
        for index, view in enumerate(target.views):
            unused = range(min(4, channels - 4 * index), 4)
            for odd in range(1 + channels % 2):
                for run in runs:
                    first_element = run.first_element + 4 * index
                    if first_element % 2 != odd:
                        continue
                    stride = (channels / 2 if run.pixels > 1 else 0.0, 0.0)
                    texture, last_texel = sources[run.source].texture, last_texels[run.source]
                    # For a slice of at most two channels, the second texel is unused and might not exist.
                    steps = (0, int(channels - 4 * index > 2 or odd), 2)[: 2 + channels % 2]
                    reads = [
                        Read(View(texture, min(first_element // 2 + step, last_texel), 0), stride=stride)
                        for step in steps
                    ]
                    binding = build.bind(node, source=reads)
                    names = ("FIRST", "SECOND", "THIRD")
                    fragment = codegen.fragment(
                        "vector_map.frag",
                        includes=["store.glsl", "fixed_point.glsl"],
                        activation=out.activation,
                        constants=out.constants,
                        saturates=True,
                        lines={
                            "declarations": [
                                *binding.declarations(),
                                *([] if plain else ["uniform vec4 factor;", "uniform vec4 offset;"]),
                            ],
                            "result": [] if plain else ["y = factor * y + offset;"],
                            "pad_lanes": [f"y.{'xyzw'[lane]} = {codegen.number(out.pad)};" for lane in unused],
                        },
                        defines={
                            "SCALE": sources[run.source].scale,
                            **{
                                name: f"decode({binding.fetch('source', step)})"
                                for step, name in zip(range(len(reads)), names)
                            },
                            **({"ODD": 1} if channels % 2 else {}),
                        },
                    )
                    uniforms: dict[str, Sequence[float]] = dict(out.uniforms(index))
                    if channels % 2:
                        uniforms["odd"] = [float(odd)]
                    if not plain:
                        uniforms |= {"factor": factor[index].tolist(), "offset": offset[index].tolist()}
                    target_view = replace(view, x=view.x + run.x, y=view.y + run.y)
                    build.draw_tile(
                        node,
                        fragment,
                        target_view,
                        (run.pixels, 1),
                        binding,
                        uniforms,
                        part=str(index) if unused else None,
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
