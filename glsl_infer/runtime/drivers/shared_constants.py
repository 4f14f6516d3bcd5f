"""Merges programs that differ only in their constants, so that a driver compiles fewer.

If the weights of a layer do not fit a uniform array of a size available on every phone, each output slice gets a
program with the weights as constants in its source. A network can have hundreds of these, which cost a compiler seconds
and megabytes. A driver with longer arrays gets one program for all slices and all similar layers: the constants become
an array, set before a draw. The order of products and sums does not change, and neither do the stored bytes.

A session on llvmpipe merges programs when it starts (``llvmpipe.drawn``). The bundle itself does not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.program import ShaderProgram, Slice
from glsl_infer.support.records import dataclass, replace

UNIFORM = "slice_constants"
"""Name of the array in rewritten shaders."""

MEMBER = "shared-constants.f32"
"""Name of the member with the array's values; members of a file never have this name."""

_NUMBER = r"-?[0-9][0-9.]*(?:e-?[0-9]+)?"
_VECTOR = rf"vec[234]\({_NUMBER}(?:, {_NUMBER})*\)"
_LINE = re.compile(
    rf"^(?P<before> *\w+(?:\.[xyzw]{{1,4}})? \+= |#define (?:BIAS|CUT_BIAS|LATE) )"
    rf"(?P<value>{_VECTOR}|{_NUMBER})(?P<after>(?: \* \w+(?:\.[xyzw]{{1,4}})?;)?)$",
    re.MULTILINE,
)
"""A product added to a sum, or the initial value of a sum (``shaders/convolution.frag``)."""

_LANES = "xyzw"

Likeness = tuple[str, tuple[int, ...], str, tuple[str, ...], int, tuple[tuple[str, int], ...]]
"""Key of equal programs: the source around the constants, their sizes, and the manifest's entry."""


@dataclass(frozen=True)
class _Skeleton:
    """A program's source without its constants, and the constants as tuples of numbers."""

    program: ShaderProgram
    source: str
    constants: tuple[tuple[float, ...], ...]

    @property
    def likeness(self) -> Likeness:
        program = self.program
        sizes = tuple(len(constant) for constant in self.constants)
        uniforms = tuple(sorted(program.uniforms.items()))
        return self.source, sizes, program.vertex, program.samplers, program.varyings, uniforms


@dataclass(frozen=True)
class _Packing:
    """Positions of constants in an array, (vec4, first lane), and the size of the array in vec4."""

    positions: Sequence[tuple[int, int]]
    vectors: int

    @property
    def length(self) -> int:
        return len(_LANES) * self.vectors

    def values(self, constants: Sequence[tuple[float, ...]]) -> list[float]:
        """Return the array that holds these constants."""
        values = np.zeros(self.length)
        for (vector, lane), constant in zip(self.positions, constants):
            first = len(_LANES) * vector + lane
            values[first : first + len(constant)] = constant
        numbers: list[float] = values.tolist()
        return numbers


def merged(bundle: Bundle, most: int) -> Bundle:
    """Return a bundle that draws the same bytes with at most as many programs.

    Args:
        bundle: the bundle to draw.
        most: length limit of an array in vec4. Programs with more constants are not merged.
    """
    manifest, members = bundle.manifest, dict(bundle.members)
    merged_programs: dict[str, ShaderProgram] = {}
    slices: dict[str, Slice] = {}
    array: list[float] = []
    for skeletons in _alike(bundle):
        first = skeletons[0]
        packing = _packed([len(constant) for constant in first.constants])
        if packing.vectors > most:
            continue
        members[first.program.fragment] = _written(first, packing).encode("utf-8")
        program = replace(first.program, uniforms={**first.program.uniforms, UNIFORM: packing.length})
        for skeleton in skeletons:
            merged_programs[skeleton.program.name] = program
            slices[skeleton.program.name] = Slice(MEMBER, len(array), packing.length)
            array += packing.values(skeleton.constants)
    if not slices:
        return bundle
    members[MEMBER] = np.array(array, "<f4").tobytes()
    replaced = [(program.name, merged_programs.get(program.name, program)) for program in manifest.programs]
    programs = tuple(program for name, program in replaced if program.name == name)
    passes = tuple(
        replace(
            draw,
            program=merged_programs[draw.program].name,
            uniforms={**draw.uniforms, UNIFORM: slices[draw.program]},
        )
        if draw.program in slices
        else draw
        for draw in manifest.passes
    )
    floats = (*manifest.floats, MEMBER)
    changed = replace(manifest, programs=programs, floats=floats, passes=passes)
    return replace(bundle, manifest=changed, members=members)


def _alike(bundle: Bundle) -> list[list[_Skeleton]]:
    """Return the groups of programs that differ only in constants. No other program has the source of a first one."""
    groups: dict[Likeness, list[_Skeleton]] = {}
    for program in bundle.manifest.programs:
        skeleton = _skeleton(program, bundle.members[program.fragment].decode("utf-8"))
        if skeleton is not None:
            groups.setdefault(skeleton.likeness, []).append(skeleton)
    uses = Counter(program.fragment for program in bundle.manifest.programs)
    return [group for group in groups.values() if len(group) > 1 and uses[group[0].program.fragment] == 1]


def _skeleton(program: ShaderProgram, text: str) -> _Skeleton | None:
    """Return a program's source without constants; None if it has none, or already uses the name ``UNIFORM``."""
    constants = tuple(_numbers(match["value"]) for match in _LINE.finditer(text))
    if not constants or re.search(rf"\b{UNIFORM}\b", text):
        return None
    return _Skeleton(program, _LINE.sub(r"\g<before>@\g<after>", text), constants)


def _numbers(constant: str) -> tuple[float, ...]:
    """Return the numbers of a constant. A vector written with one number repeats it in each lane."""
    glsl_type, _, arguments = constant.partition("(")
    if not arguments:
        return (float(constant),)
    numbers = tuple(map(float, arguments[:-1].split(", ")))
    return numbers * int(glsl_type[-1]) if len(numbers) == 1 else numbers


def _packed(sizes: Sequence[int]) -> _Packing:
    """Return where constants of 1 to 4 numbers lie in an array; each fills the smallest free space of a vec4."""
    positions, vectors = [], 0
    free: dict[int, list[int]] = {lanes: [] for lanes in range(1, len(_LANES))}  # vec4 by number of free lanes
    for size in sizes:
        lanes = next((lanes for lanes in range(size, len(_LANES)) if free[lanes]), len(_LANES))
        if lanes == len(_LANES):
            vector, vectors = vectors, vectors + 1
        else:
            vector = free[lanes].pop()
        positions.append((vector, len(_LANES) - lanes))
        if lanes > size:
            free[lanes - size].append(vector)
    return _Packing(positions, vectors)


def _written(skeleton: _Skeleton, packing: _Packing) -> str:
    """Return the source that reads its constants from an array."""
    elements = []
    for (vector, lane), constant in zip(packing.positions, skeleton.constants):
        swizzle = f".{_LANES[lane : lane + len(constant)]}" if len(constant) < len(_LANES) else ""
        elements.append(f"{UNIFORM}[{vector}]{swizzle}")
    remaining = iter(elements)
    body = re.sub("@", lambda _: next(remaining), skeleton.source)
    return f"uniform vec4 {UNIFORM}[{packing.vectors}];\n{body}"
