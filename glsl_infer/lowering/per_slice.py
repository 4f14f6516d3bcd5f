"""Passes of operators that compute each output slice from the same slice of one feature map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import View

Uniforms = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Template:
    """A template of shaders/ and the text to complete it.

    Attributes:
        name: file name.
        defines: macros.
        lines: text for the ``//@`` lines.
        rounding: text for the line ``//@ fine`` if the output has 16 bits.
    """

    name: str
    defines: Mapping[str, Union[int, float, str]] = field(default_factory=dict)
    lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rounding: Sequence[str] = ()


@dataclass(frozen=True)
class Sampling:
    """Coordinates of the draw of a slice.

    Attributes:
        offset: texels from the pixel to the coordinate, as in ``bindings.Read``.
        stride: texels between pixels, as in ``bindings.Read``.
        corners: pass the centres of the tile's first and last texel as ``coord0.zw`` and ``coord1.xy``. Unlike
            uniforms, they do not need a draw for each slice.
    """

    offset: tuple[int, int] = (0, 0)
    stride: tuple[float, float] = (1.0, 1.0)
    corners: bool = False


EVERY_PIXEL = Sampling()
"""Each pixel reads the texel in its place."""


def per_slice(
    node: Node,
    build: Builder,
    template: Template,
    sampling: Sampling = EVERY_PIXEL,
    *,
    uniforms: Callable[[FeatureMap, View], Uniforms] | None = None,
    clear_pad_lanes: bool = False,
) -> None:
    """Append one draw of ``template`` for each slice, in the input's range.

    In atlas layout, consecutive draws with equal uniforms become one pass. The shader reads ``source`` at ``coord0.xy``
    and can use ``source_texel``. Padding lanes are cleared if they can hold an image's alpha.

    Args:
        node: the layer.
        build: the program.
        template: the shader.
        sampling: its coordinates.
        uniforms: values of further uniforms, from the input and the view that is read.
        clear_pad_lanes: whether the shader can make padding lanes other than 0.
    """
    source = build.feature_map(node.inputs[0])
    # Padding lanes are 0, except for an image's alpha.
    clear = clear_pad_lanes or build.shows_alpha(source)
    target = build.allocate_map(node, scales=source.scales, zeros=source.zeros)
    for index, (read, view) in enumerate(zip(source.views, target.views)):
        corner_texels = [(0, 0), (source.width - 1, source.height - 1)] if sampling.corners else []
        corners = [Read(read, corner, (0.0, 0.0)) for corner in corner_texels]
        binding = build.bind(node, source=[Read(read, sampling.offset, sampling.stride), *corners])
        unused = range(min(4, target.channels - 4 * index), 4) if clear else range(0)
        fragment = codegen.fragment(
            template.name,
            includes=["store.glsl"],
            lines={
                **template.lines,
                "fine": template.rounding if target.bits == 16 else (),
                "pad_lanes": [f"y.{'xyzw'[lane]} = 0.0;" for lane in unused],
            },
            defines=template.defines,
        )
        values = {**binding.texels("source"), **(uniforms(source, read) if uniforms else {})}
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, values)


def rescaled_per_slice(
    node: Node, build: Builder, template: Template, sampling: Sampling, uniforms: Callable[[int, View], Uniforms]
) -> None:
    """Append one draw of ``template`` for each slice, in the range of the output.

    Args:
        node: the layer.
        build: the program.
        template: the shader.
        sampling: its coordinates.
        uniforms: values of further uniforms, from the index of the slice and the view that is read. They must make
            padding lanes 0.
    """
    source = build.feature_map(node.inputs[0])
    target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
    for index, (read, view) in enumerate(zip(source.views, target.views)):
        binding = build.bind(node, source=[Read(read, sampling.offset, sampling.stride)])
        includes = ["store.glsl", "cut_sums.glsl"]
        fragment = codegen.fragment(template.name, includes=includes, lines=template.lines, defines=template.defines)
        values = {**binding.texels("source"), **uniforms(index, read)}
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, values)
