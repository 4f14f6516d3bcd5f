"""Concatenation of vectors in 16-bit fixed point; ``optimize.vectors_apart`` inserts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, View

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class VectorConcat(Operator):
    """All inputs, one after the other. Attribute ``scale`` of the stored vector."""

    attrs = {"scale": None}
    on_parts = "join"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (sum of lengths,)."""
        return (sum(vector(node, shape) for shape in inputs),)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Concatenate the vectors."""
        return np.concatenate(inputs)

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Concatenate the inputs' bounds."""
        return np.concatenate([low for low, _ in inputs]), np.concatenate([high for _, high in inputs])

    def passes(self, node: Node, build: Builder) -> None:
        """Draw a quad for each run of texels whose elements come from consecutive texels of the same vectors."""
        lengths = [build.fixed_point(name).length for name in node.inputs]
        if sum(lengths) > 2 * MAX_TEXTURE_SIZE:
            raise ModelError.layer(
                node.name,
                f"a concatenation to {sum(lengths)} numbers",
                f"at most {2 * MAX_TEXTURE_SIZE} are supported, more only in front of Dense layers",
            )
        draw_elements(
            node,
            build,
            [ElementSource(source, index) for source, length in enumerate(lengths) for index in range(length)],
        )


class ElementSource(NamedTuple):
    """Source of an output element: index of the input, and index of its element."""

    source: int
    number: int


def draw_elements(node: Node, build: Builder, elements: Sequence[ElementSource]) -> None:
    """Append the draws of a vector whose elements are copies of elements of the node's inputs."""
    sources = [build.fixed_point(name) for name in node.inputs]
    target = build.allocate_vector(node, len(elements), node.attrs["scale"])
    # Equal keys are adjacent after sorting, and become one pass.
    for run in sorted(_runs(elements), key=_pass_key):
        both_elements = (run.first, run.second or run.first)
        reads = [Read(View(sources[element.source].texture, element.number // 2, 0)) for element in both_elements]
        binding = build.bind(node, source=reads)
        factors = [sources[element.source].scale / target.scale for element in both_elements]
        fragment = codegen.fragment(
            "vector_concat.frag",
            includes=["fixed_point.glsl"],
            lines={"declarations": binding.declarations()},
            defines={"FIRST": binding.fetch("source", 0), "SECOND": binding.fetch("source", 1)},
        )
        uniforms = {
            "lanes": [float(element.number % 2) for element in both_elements],
            "factors": [factors[0], factors[1] if run.second else 0.0],
        }
        build.draw_tile(node, fragment, View(target.texture, run.texel, 0), (run.texels, 1), binding, uniforms)


class _Run(NamedTuple):
    """A run of ``texels`` texels from ``texel`` on, and the sources of the first texel's elements.

    The last texel of a vector can have one element.
    """

    texel: int
    texels: int
    first: ElementSource
    second: ElementSource | None


def _runs(elements: Sequence[ElementSource]) -> Iterator[_Run]:
    """Yield the runs of a vector with these sources."""
    padded = [*elements, *[None] * (len(elements) % 2)]
    pairs = [(elements[index], padded[index + 1]) for index in range(0, len(padded), 2)]
    start = 0
    for texel in range(1, len(pairs) + 1):
        if texel < len(pairs) and pairs[texel] == tuple(map(_next, pairs[texel - 1])):
            continue
        yield _Run(start, texel - start, *pairs[start])
        start = texel


def _pass_key(run: _Run) -> tuple[int, ...]:
    """Return the properties that are equal within a pass: the inputs, and the halves of texels that are read."""
    both_elements = (run.first, run.second or run.first)
    return (
        run.second is None,
        *(number for element in both_elements for number in (element.source, element.number % 2)),
    )


def _next(element: ElementSource | None) -> ElementSource | None:
    """Return the source two elements later: the same half of the next texel."""
    return None if element is None else ElementSource(element.source, element.number + 2)


OPERATOR = VectorConcat()
