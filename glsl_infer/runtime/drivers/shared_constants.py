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
class _Cut:
    """A program's source without its constants, and the constants as tuples of numbers."""

    program: ShaderProgram
    skeleton: str
    constants: tuple[tuple[float, ...], ...]

    @property
    def likeness(self) -> Likeness:
        program = self.program
        sizes = tuple(len(constant) for constant in self.constants)
        uniforms = tuple(sorted(program.uniforms.items()))
        return self.skeleton, sizes, program.vertex, program.samplers, program.varyings, uniforms


def merged(bundle: Bundle, most: int) -> Bundle:
    """Return a bundle that draws the same bytes with at most as many programs.

    Args:
        bundle: the bundle to draw.
        most: length limit of an array in vec4. Programs with more constants are not merged.
    """
    manifest, members = bundle.manifest, dict(bundle.members)
    alike: dict[Likeness, list[_Cut]] = {}
    for program in manifest.programs:
        cut = _cut(program, members[program.fragment].decode("utf-8"))
        if cut is not None:
            alike.setdefault(cut.likeness, []).append(cut)
    texts = Counter(program.fragment for program in manifest.programs)
    names: dict[str, str] = {}
    slices: dict[str, Slice] = {}
    changed: dict[str, ShaderProgram] = {}
    array: list[float] = []
    for cuts in alike.values():
        first = cuts[0]
        places, vectors = _packed([len(constant) for constant in first.constants])
        if len(cuts) < 2 or vectors > most or texts[first.program.fragment] > 1:
            continue
        for cut in cuts:
            slices[cut.program.name] = Slice(MEMBER, len(array), 4 * vectors)
            names[cut.program.name] = first.program.name
            values = np.zeros(4 * vectors)
            for (vector, lane), constant in zip(places, cut.constants):
                values[4 * vector + lane : 4 * vector + lane + len(constant)] = constant
            array += values.tolist()
        members[first.program.fragment] = _written(first, places, vectors).encode("utf-8")
        uniforms = {**first.program.uniforms, UNIFORM: 4 * vectors}
        changed[first.program.name] = replace(first.program, uniforms=uniforms)
    if not slices:
        return bundle
    members[MEMBER] = np.array(array, "<f4").tobytes()
    programs = tuple(
        changed.get(program.name, program)
        for program in manifest.programs
        if names.get(program.name, program.name) == program.name
    )
    passes = tuple(
        replace(draw, program=names[draw.program], uniforms={**draw.uniforms, UNIFORM: slices[draw.program]})
        if draw.program in slices
        else draw
        for draw in manifest.passes
    )
    floats = (*manifest.floats, MEMBER)
    changed_manifest = replace(manifest, programs=programs, floats=floats, passes=passes)
    return replace(bundle, manifest=changed_manifest, members=members)


def _cut(program: ShaderProgram, text: str) -> _Cut | None:
    """Return a program's source without constants; None if it has none, or already uses the name ``UNIFORM``."""
    constants = tuple(_numbers(match["value"]) for match in _LINE.finditer(text))
    if not constants or re.search(rf"\b{UNIFORM}\b", text):
        return None
    return _Cut(program, _LINE.sub(r"\g<before>@\g<after>", text), constants)


def _numbers(constant: str) -> tuple[float, ...]:
    """Return the numbers of a constant. A vector written with one number repeats it in each lane."""
    glsl_type, _, arguments = constant.partition("(")
    if not arguments:
        return (float(constant),)
    numbers = tuple(map(float, arguments[:-1].split(", ")))
    return numbers * int(glsl_type[-1]) if len(numbers) == 1 else numbers


def _packed(sizes: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Return the positions of constants (1 to 4 numbers each) in an array, (vec4, first lane), and its size in vec4."""
    places, vectors = [], 0
    free: dict[int, list[int]] = {lanes: [] for lanes in range(1, len(_LANES))}  # vec4 by number of free lanes
    for size in sizes:
        lanes = next((lanes for lanes in range(size, len(_LANES)) if free[lanes]), len(_LANES))
        if lanes == len(_LANES):
            vector, vectors = vectors, vectors + 1
        else:
            vector = free[lanes].pop()
        places.append((vector, len(_LANES) - lanes))
        if lanes > size:
            free[lanes - size].append(vector)
    return places, vectors


def _written(cut: _Cut, places: Sequence[tuple[int, int]], vectors: int) -> str:
    """Return the source that reads its constants from an array."""
    lanes = iter(
        f"{UNIFORM}[{vector}]" + (f".{_LANES[lane : lane + len(constant)]}" if len(constant) < len(_LANES) else "")
        for (vector, lane), constant in zip(places, cut.constants)
    )
    body = re.sub("@", lambda _: next(lanes), cut.skeleton)
    return f"uniform vec4 {UNIFORM}[{vectors}];\n{body}"
