"""A feature map of the numbers of a vector, pixel by pixel: what generators and decoders begin with."""

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
"""Texels of the vector from pixel to pixel within a quad. A GPU may put corners a 16th of a pixel beside their place
(VideoCore IV cuts them to whole 16ths), which must stay below half a texel."""


class VectorMap(Operator):
    """``activation`` of a map whose pixels' channels are the numbers of one vector or several, one after the other.

    Each vector holds whole pixels. Attributes: ``shape``, (height, width, channels); ``activation``; the range
    ``scales`` and ``zeros``.
    """

    attrs = {"shape": None, "activation": "linear", "scales": None, "zeros": None}
    on_parts = "map"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the attribute; the inputs must hold as many numbers."""
        shape = tuple(node.attrs["shape"])
        lengths = [vector(node, given) for given in inputs]
        if len(shape) != 3 or sum(lengths) != math.prod(shape) or any(length % shape[-1] for length in lengths):
            raise ModelError.layer(
                node.name, f"a map {shape} of vectors of {lengths}", "both must hold as many numbers, in whole pixels"
            )
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Join, reshape, activate."""
        return node.activation(np.concatenate(inputs).reshape(node.attrs["shape"]))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw a quad for each row of each slice; for each pixel where channels are odd in number, or many."""
        height, width, channels = build.shapes[node.name]
        sources = [build.fixed_point(name) for name in node.inputs]
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        out = fold.output(node.activation, node.attrs, channels)
        factor, offset = fold.slices(out.factor), fold.slices(out.offset)
        plain = bool((out.factor == 1.0).all() and not out.offset.any())
        lasts = [source.size[0] - 1 for source in sources]
        runs = list(_runs(height, width, channels, [source.length for source in sources]))
        for index, view in enumerate(target.views):
            unused = range(min(4, channels - 4 * index), 4)
            for odd in range(1 + channels % 2):
                for run in runs:
                    number = run.number + 4 * index
                    if number % 2 != odd:
                        continue
                    stride = (channels / 2 if run.pixels > 1 else 0.0, 0.0)
                    texture, last = sources[run.source].texture, lasts[run.source]
                    # Where the slice has two channels at most, the second texel is not wanted, and may not be there.
                    steps = (0, int(channels - 4 * index > 2 or odd), 2)[: 2 + channels % 2]
                    reads = [Read(View(texture, min(number // 2 + step, last), 0), stride=stride) for step in steps]
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
                    place = replace(view, x=view.x + run.x, y=view.y + run.y)
                    build.draw_tile(
                        node,
                        fragment,
                        place,
                        (run.pixels, 1),
                        binding,
                        uniforms,
                        part=str(index) if unused else None,
                    )


class _Run(NamedTuple):
    """So many ``pixels`` of a row from (x, y) on, and where the first one's numbers begin: a source, and its number."""

    x: int
    y: int
    pixels: int
    source: int
    number: int


def _runs(height: int, width: int, channels: int, lengths: Sequence[int]) -> Iterator[_Run]:
    """Yield runs of pixels whose numbers lie in one source, at an even distance; one pixel of odd or many channels."""
    ends = np.cumsum(lengths)
    for y in range(height):
        x = 0
        while x < width:
            first = (y * width + x) * channels
            source = int(np.searchsorted(ends, first, side="right"))
            start = int(ends[source]) - lengths[source]
            alone = channels % 2 or channels > 2 * WIDEST_STRIDE
            pixels = 1 if alone else min(width - x, (int(ends[source]) - first) // channels)
            yield _Run(x, y, pixels, source, first - start)
            x += pixels


OPERATOR = VectorMap()
