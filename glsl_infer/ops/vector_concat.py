"""Concatenation of vectors in 16-bit fixed point; ``optimize.vectors_apart`` puts it where ``concat`` joins vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program import quantize
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class VectorConcat(Operator):
    """All inputs, one after the other. Attribute ``scale``: that of the stored vector."""

    attrs = {"scale": None}
    on_parts = "join"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (sum of lengths,)."""
        return (sum(vector(node, shape) for shape in inputs),)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Join the vectors."""
        return np.concatenate(inputs)

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round to 16-bit fixed point."""
        return quantize.store16(exact, node.attrs["scale"])

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return the inputs' bounds, one after the other."""
        return np.concatenate([low for low, _ in inputs]), np.concatenate([high for _, high in inputs])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw a quad for each run of texels whose numbers come from the same vectors in the same way."""
        lengths = [build.fixed_point(name).length for name in node.inputs]
        if sum(lengths) > 2 * MAX_TEXTURE_SIZE:
            raise ModelError.layer(
                node.name,
                f"a concatenation to {sum(lengths)} numbers",
                f"at most {2 * MAX_TEXTURE_SIZE} are supported, more only in front of Dense layers",
            )
        draw_places(node, build, [Place(number, at) for number, length in enumerate(lengths) for at in range(length)])


class Place(NamedTuple):
    """A number: of which input, and which of its numbers."""

    source: int
    number: int


def draw_places(node: Node, build: Builder, places: Sequence[Place]) -> None:
    """Append the draws of a vector whose numbers come from these places of the node's inputs."""
    sources = [build.fixed_point(name) for name in node.inputs]
    target = build.allocate_vector(node, len(places), node.attrs["scale"])
    # Runs that are drawn alike stand together, and become one pass.
    for run in sorted(_runs(places), key=_kind):
        ends = (run.first, run.second or run.first)
        reads = [Read(View(sources[end.source].texture, end.number // 2, 0)) for end in ends]
        binding = build.bind(node, source=reads)
        factors = [sources[end.source].scale / target.scale for end in ends]
        fragment = codegen.fragment(
            "vector_concat.frag",
            includes=["fixed_point.glsl"],
            lines={"declarations": binding.declarations()},
            defines={"FIRST": binding.fetch("source", 0), "SECOND": binding.fetch("source", 1)},
        )
        uniforms = {
            "lanes": [float(end.number % 2) for end in ends],
            "factors": [factors[0], factors[1] if run.second else 0.0],
        }
        build.draw_tile(node, fragment, View(target.texture, run.texel, 0), (run.texels, 1), binding, uniforms)


class _Run(NamedTuple):
    """So many ``texels`` from ``texel`` on, and where the first one's numbers come from; the last may have only one."""

    texel: int
    texels: int
    first: Place
    second: Place | None


def _runs(places: Sequence[Place]) -> Iterator[_Run]:
    """Yield the runs of a vector whose numbers come from these places."""
    padded = [*places, *[None] * (len(places) % 2)]
    pairs = [(places[at], padded[at + 1]) for at in range(0, len(padded), 2)]
    start = 0
    for texel in range(1, len(pairs) + 1):
        if texel < len(pairs) and pairs[texel] == tuple(map(_next, pairs[texel - 1])):
            continue
        yield _Run(start, texel - start, *pairs[start])
        start = texel


def _kind(run: _Run) -> tuple[int, ...]:
    """Return what passes differ in: the sources, and which half of a texel is read."""
    ends = (run.first, run.second or run.first)
    return (run.second is None, *(number for end in ends for number in (end.source, end.number % 2)))


def _next(place: Place | None) -> Place | None:
    """Return the place two numbers on: the same half of the next texel."""
    return None if place is None else Place(place.source, place.number + 2)


OPERATOR = VectorConcat()
