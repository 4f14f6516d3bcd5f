"""Draws of a convolution whose weights lie in a texture: one pass with a quad for each output slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from glsl_infer.lowering import codegen, conv_draws, rolled, weight_texture, weights_plan
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.taps import Tap
from glsl_infer.lowering.weight_texture import WeightTexture
from glsl_infer.program import Slice
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, FeatureMap, View

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.lowering.fold import StoredSum


SHORT_COLUMNS = 320
"""Most columns of a window of more than 3x3 texels: 5x5 over 8 slices has 800 and does not compile, 4x4 over 5 does."""

ROUNDING = 0.02
"""Most steps of 8 bits that the sums of a layer may lose to the rounding of 32-bit floats."""


def untextured(reads: Sequence[Mapping[str, Sequence[Read]]], columns: Columns, *, largest: float, alpha: bool) -> str:
    """Return why a layer's weights cannot lie in a texture, or an empty text.

    Args:
        reads: of each slice, what it reads, by roles.
        columns: how the kernel's columns follow one another.
        largest: of the weights' absolute values, in units of texels and of the stored output.
        alpha: whether an input channel is the picture's alpha, which carries what exactly undoes the zero points.
    """
    if alpha:
        return "the picture's alpha needs more than 16 bits"
    count = columns.count
    if not weight_texture.fits(len(reads), count):
        most = f"{MAX_TEXTURE_SIZE // 2} slices of {weight_texture.MOST_COLUMNS} columns"
        return f"{len(reads)} slices of {count} columns, and at most {most} can have one"
    if count > SHORT_COLUMNS and max(columns.kernel_height, columns.kernel_width) > 3:
        window = f"{columns.kernel_height}x{columns.kernel_width}"
        return f"a {window} window of {count} columns, and VideoCore IV has no registers for it beyond {SHORT_COLUMNS}"
    # A sum of high bytes reaches half its columns, and stands for 65280 / 32767 times the largest weight.
    if 255.0 * largest * count * 2.0**-24 > ROUNDING:
        return f"weights of up to {largest:.0f} times what is stored need more than a sum of high bytes keeps"
    bound = max(len({read.view.texture for role in roles.values() for read in role}) for roles in reads)
    if bound >= MAX_TEXTURES:
        return f"a draw reads {bound} textures already"
    return ""


def draw(
    node: Node,
    build: Builder,
    *,
    columns: Columns,
    weights: WeightTexture,
    reads: Sequence[Mapping[str, Sequence[Read]]],
    target: FeatureMap,
    output: StoredSum,
) -> None:
    """Append the passes of a convolution, and its weights as a texture.

    Args:
        node: the layer.
        build: the program in the making.
        columns: how the kernel's columns follow one another.
        weights: in that order.
        reads: of each slice, what it reads in the roles ``source`` and ``residual``.
        target: where the slices go.
        output: what the shader applies to the sum.
    """
    height, width = weights.texels.shape[:2]
    texture = build.constant_texture(node, width, height, weights.texels.tobytes())
    units = build.weights(node, ".f32", weights.units.astype("<f4").tobytes())
    everything = [
        {**read, "weights": [Read(View(texture, 0, index), stride=(0.0, 0.0))]} for index, read in enumerate(reads)
    ]
    # A program more costs a start more than a few coordinates cost so few pixels (``weights_plan``).
    most = conv_draws.MOST_COORDINATES
    if columns.taps_per_slot > 1:
        most = weights_plan.WINDOW_READS - len(reads[0].get("residual", ()))
    drawn = conv_draws.draws(node, build, columns, everything, common=False, most=most)
    texts: dict[int, str] = {}
    for view, entry in zip(target.views, drawn):
        binding = entry.binding
        defines: dict[str, int | float | str] = {"ROW": binding.coordinate("weights")}
        if binding.count("residual"):
            defines["RESIDUAL"] = binding.fetch("residual")
        if weights.has_factor:
            defines["FACTOR"] = 1
        loop = None if entry.by_tiles else rolled.loop(columns, binding)
        if loop is not None:
            defines["HAS_LOOP"] = 1
        known = codegen.PLANNED if build.planning else texts.get(id(entry.taps))
        fragment = known or codegen.fragment(
            "convolution_texture.frag",
            includes=["store.glsl"],
            activation=output.activation,
            constants=output.constants,
            saturates=True,
            lines={
                "declarations": entry.declarations,
                "loop": loop.lines(_lines, _ended(columns.count)) if loop else [],
                "coordinates": entry.coordinates,
                "taps": [line for tap in entry.taps for line in _lines(tap)],
            },
            defines=defines,
        )
        texts[id(entry.taps)] = fragment
        uniforms: dict[str, Sequence[float] | Slice] = {
            **binding.texels("source"),
            "units": Slice(units, 0, 4),
        }
        build.draw_tile(node, fragment, view, (target.width, target.height), binding, uniforms)


def _lines(tap: Tap) -> list[str]:
    """Return the lines that fetch a texel and add its products, lane by lane or, in a depthwise one, all at once."""
    fetch = tap.lines("t")
    lanes = [f"t.{product.lane}" for product in tap.products if product.lane]
    if not lanes:
        return [*fetch, "begin(t);", "add(t);"]
    return [*fetch, f"begin(vec4({' + '.join(lanes)}));", *(f"add(vec4({lane}));" for lane in lanes)]


def _ended(count: int) -> str:
    """Return the expression that is true when so many columns were added."""
    return f"column > ROW.x + {codegen.number(count - 0.5)} * units[0].w"
