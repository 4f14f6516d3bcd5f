"""The passes of operators that make every output slice from the same slice of one map, in a range of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Union

from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import View

Uniforms = Mapping[str, Sequence[float]]


def rescaled(
    node: Node,
    build: Builder,
    template: str,
    *,
    offset: tuple[int, int],
    stride: tuple[float, float] = (1.0, 1.0),
    defines: Mapping[str, Union[int, float, str]],
    lines: Mapping[str, Sequence[str]] | None = None,
    uniforms: Callable[[int, View], Uniforms],
) -> None:
    """Append one draw a slice of the shader ``template``, as ``slicewise`` does, into the node's own range.

    ``uniforms`` gives the values of the shader's uniforms besides ``source_texel``, from the number of the slice and
    the view that is read. Lanes beyond the last channel must become 0 by them.
    """
    source = build.feature_map(node.inputs[0])
    target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
    for index, (read, view) in enumerate(zip(source.views, target.views)):
        binding = build.bind(node, source=[Read(read, offset, stride)])
        fragment = codegen.fragment(template, includes=["store.glsl", "cut_sums.glsl"], lines=lines, defines=defines)
        values = {**binding.texels("source"), **uniforms(index, read)}
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, values)
