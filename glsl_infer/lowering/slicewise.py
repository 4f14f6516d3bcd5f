"""The passes of operators that make every output slice from the same slice of one feature map, in the same range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Union

from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import View

Uniforms = Mapping[str, Sequence[float]]


def slicewise(
    node: Node,
    build: Builder,
    template: str,
    *,
    offset: tuple[int, int] = (0, 0),
    stride: tuple[float, float] = (1.0, 1.0),
    defines: Mapping[str, Union[int, float, str]] | None = None,
    lines: Mapping[str, Sequence[str]] | None = None,
    fine: Sequence[str] = (),
    uniforms: Callable[[FeatureMap, View], Uniforms] | None = None,
    clear_pad_lanes: bool = False,
    corners: bool = False,
) -> None:
    """Append one draw a slice of the shader ``template``; in atlas layout they become one pass where uniforms agree.

    The shader reads ``source`` at ``coord0.xy``, which ``offset`` and ``stride`` place (see ``bindings.Read``), and may
    use ``source_texel``; ``lines`` are text for other places of the template, ``fine`` for that of this name, where
    the output has 16 bits.
    ``uniforms`` gives the values of its others, from the input and the view that is read. With ``corners`` the centres
    of the tile's first and last texel are ``coord0.zw`` and ``coord1.xy``: unlike uniforms they need no draw of their
    own for each slice.
    """
    source = build.feature_map(node.inputs[0])
    # Lanes beyond the last channel are 0, but for the picture's alpha and some gutters.
    clear = clear_pad_lanes or build.shows_alpha(source)
    target = build.allocate_map(node, scales=source.scales, zeros=source.zeros)
    for index, (read, view) in enumerate(zip(source.views, target.views)):
        ends = [(0, 0), (source.width - 1, source.height - 1)] if corners else []
        binding = build.bind(node, source=[Read(read, offset, stride), *(Read(read, end, (0.0, 0.0)) for end in ends)])
        unused = range(min(4, target.channels - 4 * index), 4) if clear else range(0)
        fragment = codegen.fragment(
            template,
            includes=["store.glsl"],
            lines={
                **(lines or {}),
                "fine": fine if target.bits == 16 else (),
                "pad_lanes": [f"y.{'xyzw'[lane]} = 0.0;" for lane in unused],
            },
            defines=defines,
        )
        values = {**binding.texels("source"), **(uniforms(source, read) if uniforms else {})}
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, values)
