"""Shader text for operators whose pixels read all channels: one fetch for each slice, at constant distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glsl_infer.lowering.bindings import Binding
    from glsl_infer.program.layout import FeatureMap

ROLE = "source"

MAX_UNORDERED_SLICES = 6
"""Largest number of slices fetched without ordering: VideoCore IV has registers for their texels with two threads."""


@dataclass(frozen=True)
class AllSlices:
    """All slices of a map, in units that need little arithmetic in a shader.

    Attributes:
        source: the map.
        factor: factor of each channel: an element in these units is ``factor * texel + offset``.
        offset: offset of each channel.
        unit: a real value is ``unit`` times the element, plus a constant equal for all channels unless ``centred``.
    """

    source: FeatureMap
    factor: NDArray[np.float64]
    offset: NDArray[np.float64]
    unit: float

    @property
    def reads(self) -> list[Read]:
        """A tile of each texture. The other tiles are read at constant distances from it."""
        first = {view.texture: view for view in reversed(self.source.views)}
        return [Read(view) for view in first.values()]

    def numbers(self, binding: Binding, after: str = "") -> list[str]:
        """Return a vec4 expression for the elements of each slice.

        ``after`` is a vec4 variable that changes with each slice. With many slices, fetches then wait for it on devices
        with ordered fetches (shaders/late.glsl). Otherwise a compiler would fetch once for two sweeps and keep all
        texels in registers. Distances are constants in this case, because a compiler would also keep those computed
        from a uniform.
        """
        first_views = [read.view for read in self.reads]
        textures = [view.texture for view in first_views]
        factors, offsets = fold.slices(self.factor), fold.slices(self.offset)
        expressions = []
        for view, factor, offset in zip(self.source.views, factors, offsets):
            unit = textures.index(view.texture)
            tap = (view.x - first_views[unit].x, view.y - first_views[unit].y)
            element = binding.fetch(ROLE, unit, tap)
            if after and len(self.source.views) > MAX_UNORDERED_SLICES:
                texel = binding.texels(ROLE)[binding.texel(ROLE, unit)]
                distance = codegen.vec([tiles * size for tiles, size in zip(tap, texel)])
                coordinate = f"LATE({binding.coordinate(ROLE, unit)}, {after})"
                element = (
                    f"texture2D({binding.sampler(ROLE, unit)}, {coordinate}{f' + {distance}' if any(tap) else ''})"
                )
            if (self.factor != 1.0).any():
                element = f"{_vec(factor)} * {element}"
            expressions.append(f"{element} + {_vec(offset)}" if self.offset.any() else element)
        return expressions

    def mask(self, index: int) -> str:
        """Return an operator and a factor that is 0 in padding lanes; empty for a full slice."""
        used_lanes = self.source.channels - 4 * index
        return "" if used_lanes >= 4 else f" * {codegen.vec([float(lane < used_lanes) for lane in range(4)])}"

    def repeated(self, index: int) -> str:
        """Return a swizzle that replaces padding lanes by the first channel; empty for a full slice."""
        used_lanes = self.source.channels - 4 * index
        return "" if used_lanes >= 4 else "." + ("xyzw"[:used_lanes] + "xxxx")[:4]

    def slice_uniforms(self, index: int) -> dict[str, list[float]]:
        """Return the uniforms ``own_factor`` and ``own_offset`` for the texels of slice ``index``."""
        return {
            "own_factor": fold.slices(self.factor)[index].tolist(),
            "own_offset": fold.slices(self.offset)[index].tolist(),
        }


def all_slices(source: FeatureMap, *, centred: bool) -> AllSlices:
    """Return the description of all slices of a map.

    Args:
        source: the map.
        centred: whether elements must be 0 for values of 0; otherwise an offset equal for all channels can be omitted.
    """
    factor, offset = source.scale_of, -source.scale_of * source.zero_of / 255.0
    same_in_all_channels = len({*zip(factor.tolist(), offset.tolist())}) == 1 and factor[0] > 0.0
    if not same_in_all_channels:
        return AllSlices(source, factor, offset, 1.0)
    unit = float(factor[0])
    return AllSlices(source, factor / unit, offset / unit if centred else np.zeros_like(offset), unit)


def _vec(numbers: NDArray[np.float32]) -> str:
    """Return a vec4, or a float if all elements are equal."""
    is_uniform = len(set(numbers.tolist())) == 1
    return codegen.number(float(numbers[0])) if is_uniform else codegen.vec(numbers.tolist())
