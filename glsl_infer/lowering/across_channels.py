"""Text of shaders in which a pixel reads all channels of a map: one fetch for each slice, at constant distances."""

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

AT_ONCE = 6
"""Slices whose texels VideoCore IV has the registers for, with two threads."""


@dataclass(frozen=True)
class AllSlices:
    """All slices of a map, in units in which its texels need as little arithmetic as possible.

    Attributes:
        source: the map.
        factor: of each channel: the number in these units is ``factor * texel + offset``.
        offset: of each channel.
        unit: a real value is ``unit`` times the number, plus the same for all channels where ``centred`` is false.
    """

    source: FeatureMap
    factor: NDArray[np.float64]
    offset: NDArray[np.float64]
    unit: float

    @property
    def reads(self) -> list[Read]:
        """What a draw reads: a tile of each texture; the others lie at constant distances."""
        first = {view.texture: view for view in reversed(self.source.views)}
        return [Read(view) for view in first.values()]

    def numbers(self, binding: Binding, after: str = "") -> list[str]:
        """Return the expression, a vec4, of each slice's numbers.

        ``after`` is a vec4 of the shader that changes with every slice: where there are many, fetches wait for it on
        devices that want that (shaders/late.glsl). Compilers would fetch once for two sweeps, and keep all texels.
        Distances are constants there: made of a uniform, those of each row and each column would be kept, too.
        """
        first = [read.view for read in self.reads]
        textures = [view.texture for view in first]
        factors, offsets = fold.slices(self.factor), fold.slices(self.offset)
        texts = []
        for view, factor, offset in zip(self.source.views, factors, offsets):
            number = textures.index(view.texture)
            tap = (view.x - first[number].x, view.y - first[number].y)
            text = binding.fetch(ROLE, number, tap)
            if after and len(self.source.views) > AT_ONCE:
                texel = binding.texels(ROLE)[binding.texel(ROLE, number)]
                distance = codegen.vec([tiles * size for tiles, size in zip(tap, texel)])
                at = f"LATE({binding.coordinate(ROLE, number)}, {after})"
                text = f"texture2D({binding.sampler(ROLE, number)}, {at}{f' + {distance}' if any(tap) else ''})"
            text = text if (self.factor == 1.0).all() else f"{_vec(factor)} * {text}"
            texts.append(text if not self.offset.any() else f"{text} + {_vec(offset)}")
        return texts

    def mask(self, index: int) -> str:
        """Return a factor that is 0 in lanes beyond the last channel, with its operator; empty where there are none."""
        left = self.source.channels - 4 * index
        return "" if left >= 4 else f" * {codegen.vec([float(lane < left) for lane in range(4)])}"

    def repeated(self, index: int) -> str:
        """Return the lanes that repeat a channel in place of lanes beyond the last; empty where there are none."""
        left = self.source.channels - 4 * index
        return "" if left >= 4 else "." + ("xyzw"[:left] + "xxxx")[:4]

    def own(self, index: int) -> dict[str, list[float]]:
        """Return the uniforms that make these numbers of a texel of slice ``index``."""
        return {
            "own_factor": fold.slices(self.factor)[index].tolist(),
            "own_offset": fold.slices(self.offset)[index].tolist(),
        }


def all_slices(source: FeatureMap, *, centred: bool) -> AllSlices:
    """Return how to read all slices of a map.

    Args:
        source: the map.
        centred: whether the numbers must be 0 where the values are; else a common offset may be missing.
    """
    factor, offset = source.scale_of, -source.scale_of * source.zero_of / 255.0
    alike = len({*zip(factor.tolist(), offset.tolist())}) == 1 and factor[0] > 0.0
    if not alike:
        return AllSlices(source, factor, offset, 1.0)
    unit = float(factor[0])
    return AllSlices(source, factor / unit, offset / unit if centred else np.zeros_like(offset), unit)


def _vec(numbers: NDArray[np.float32]) -> str:
    same = len(set(numbers.tolist())) == 1
    return codegen.number(float(numbers[0])) if same else codegen.vec(numbers.tolist())
