"""Programs that differ only in their constants, as one program that is given these: fewer for a driver to compile.

A layer whose weights fit no uniform array that every phone has gets a program for each output slice, with the weights
as constants in the text. A network may have hundreds of these, and a compiler takes seconds and megabytes for them. A
driver that has longer arrays is given one program for all slices, and for all layers alike: the constants become an
array that a draw sets. The same numbers are multiplied and added in the same order, so that the same bytes are stored.

A session on llvmpipe does so when it starts (``llvmpipe.drawn``); a bundle stays as it was exported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.program import ShaderProgram, Slice
from glsl_infer.support.records import dataclass

UNIFORM = "slice_constants"
"""The array in shaders that were rewritten."""

MEMBER = "shared-constants.f32"
"""Where its numbers are; no member of a file is called so."""

_NUMBER = r"-?[0-9][0-9.]*(?:e-?[0-9]+)?"
_VECTOR = rf"vec[234]\({_NUMBER}(?:, {_NUMBER})*\)"
_LINE = re.compile(
    rf"^(?P<before> *\w+(?:\.[xyzw]{{1,4}})? \+= |#define (?:BIAS|CUT_BIAS|LATE) )"
    rf"(?P<value>{_VECTOR}|{_NUMBER})(?P<after>(?: \* \w+(?:\.[xyzw]{{1,4}})?;)?)$",
    re.MULTILINE,
)
"""A product that is added to a sum, and what a sum starts with (``shaders/convolution.frag``)."""

_LANES = "xyzw"

Likeness = tuple[str, tuple[int, ...], str, tuple[str, ...], int, tuple[tuple[str, int], ...]]
"""What programs have in common that can be one: the text around constants, their sizes, what the manifest says."""


@dataclass(frozen=True)
class _Cut:
    """A program's text without its constants, and these: each a tuple of numbers."""

    program: ShaderProgram
    skeleton: str
    constants: tuple[tuple[float, ...], ...]

    @property
    def likeness(self) -> Likeness:
        one = self.program
        sizes = tuple(len(constant) for constant in self.constants)
        return self.skeleton, sizes, one.vertex, one.samplers, one.varyings, tuple(sorted(one.uniforms.items()))


def merged(bundle: Bundle, most: int) -> Bundle:
    """Return a bundle that draws the same bytes with as many programs, or fewer.

    Args:
        bundle: what to draw.
        most: vec4 of the longest array that the driver should have; more constants than that stay in their texts.
    """
    manifest, members = bundle.manifest, dict(bundle.members)
    alike: dict[Likeness, list[_Cut]] = {}
    for program in manifest.programs:
        cut = _cut(program, members[program.fragment].decode("utf-8"))
        if cut is not None:
            alike.setdefault(cut.likeness, []).append(cut)
    texts = Counter(program.fragment for program in manifest.programs)
    names: dict[str, str] = {}
    given: dict[str, Slice] = {}
    changed: dict[str, ShaderProgram] = {}
    numbers: list[float] = []
    for cuts in alike.values():
        first = cuts[0]
        places, vectors = _packed([len(constant) for constant in first.constants])
        if len(cuts) < 2 or vectors > most or texts[first.program.fragment] > 1:
            continue
        for cut in cuts:
            given[cut.program.name] = Slice(MEMBER, len(numbers), 4 * vectors)
            names[cut.program.name] = first.program.name
            held = np.zeros(4 * vectors)
            for (vector, lane), constant in zip(places, cut.constants):
                held[4 * vector + lane : 4 * vector + lane + len(constant)] = constant
            numbers += held.tolist()
        members[first.program.fragment] = _written(first, places, vectors).encode("utf-8")
        uniforms = {**first.program.uniforms, UNIFORM: 4 * vectors}
        changed[first.program.name] = replace(first.program, uniforms=uniforms)
    if not given:
        return bundle
    members[MEMBER] = np.array(numbers, "<f4").tobytes()
    programs = tuple(
        changed.get(program.name, program)
        for program in manifest.programs
        if names.get(program.name, program.name) == program.name
    )
    passes = tuple(
        replace(entry, program=names[entry.program], uniforms={**entry.uniforms, UNIFORM: given[entry.program]})
        if entry.program in given
        else entry
        for entry in manifest.passes
    )
    return replace(bundle, manifest=replace(manifest, programs=programs, passes=passes), members=members)


def _cut(program: ShaderProgram, text: str) -> _Cut | None:
    """Return a program's text without constants; None where it has none, or a name of ours."""
    constants = tuple(_numbers(match["value"]) for match in _LINE.finditer(text))
    if not constants or re.search(rf"\b{UNIFORM}\b", text):
        return None
    return _Cut(program, _LINE.sub(r"\g<before>@\g<after>", text), constants)


def _numbers(constant: str) -> tuple[float, ...]:
    """Return the numbers of a constant; one number for a vector is that of each lane."""
    kind, _, inner = constant.partition("(")
    numbers = tuple(map(float, (inner[:-1] or kind).split(", ")))
    return numbers * int(kind[-1]) if inner and len(numbers) == 1 else numbers


def _packed(sizes: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Return where constants of 1 to 4 numbers lie in an array, (vec4, first lane) each, and the vec4 it takes."""
    places, vectors = [], 0
    free: dict[int, list[int]] = {lanes: [] for lanes in range(1, len(_LANES))}  # vec4 with so many free lanes
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
    """Return the text that reads its constants from an array."""
    lanes = iter(
        f"{UNIFORM}[{vector}]" + (f".{_LANES[lane : lane + len(constant)]}" if len(constant) < len(_LANES) else "")
        for (vector, lane), constant in zip(places, cut.constants)
    )
    body = re.sub("@", lambda _: next(lanes), cut.skeleton)
    return f"uniform vec4 {UNIFORM}[{vectors}];\n{body}"
