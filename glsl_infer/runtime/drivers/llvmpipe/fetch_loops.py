"""Writes long sequences of fetches as loops, because llvmpipe compiles the loops sooner.

A convolution with weights in a uniform array has a fetch and its products for each texel that it reads, without loops.
The time that llvmpipe needs for such a text grows faster than its length: minutes for 600 fetches. Here fetches that
differ only in their distance from an interpolated coordinate, and in the elements of the array, become a loop. A
further array has the distances and the elements. Each component of the sum adds the same products in the same order, so
the stored bytes do not change.

A session rewrites the shaders on llvmpipe alone; the bundle itself has no such loops (performance.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from glsl_infer.bundle import Bundle
from glsl_infer.program import ShaderProgram, Slice
from glsl_infer.support.records import dataclass

WEIGHTS = "weights"
"""Name of the array in the bundle's shaders (shaders/convolution.frag)."""

UNIFORM = "loop_fetches"
"""Name of the further array: the distance (x, y) of each fetch, and the index of its first weight (z)."""

MEMBER = "loop-fetches.f32"
"""Name of the member with the array's values; members of a file never have this name."""

LEAST_FETCHES = 33
"""Minimum length of a loop. Mesa unrolls loops of up to 32 iterations."""

Rows = list[tuple[float, float, float, float]]
"""Elements of the further array."""

_NUMBER = r"-?[0-9][0-9.]*(?:e-?[0-9]+)?"
_LEFT = re.compile(r" *left = (?:WAIT\()?(coord\d\.[xz])\)?;")
_FETCH = re.compile(
    rf" *(?P<texel>[st]) = texture2D\((?P<sampler>\w+), vec2\((?P<x>left|coord\d\.[xz])(?: \+ (?P<right>{_NUMBER}))?, "
    rf"(?:WAIT\()?(?P<y>coord\d\.[yw])(?: \+ (?P<down>{_NUMBER}))?\)+;"
)
_PRODUCT = re.compile(
    rf" *sum(?:\.(?P<lanes>[xyzw]+))? \+= (?:{WEIGHTS}\[(?P<index>\d+)\](?P<part>(?:\.[xyzw]+)?) \* )?"
    r"(?P<texel>[st])(?P<lane>(?:\.[xyzw]+)?);"
)


@dataclass(frozen=True)
class _Product:
    """A product of a texel.

    Attributes:
        lanes: components of the sum; empty for all.
        index: of the weights in their array; None for a factor of 1.
        part: components of the weights, with a dot; empty for all.
        lane: components of the texel, with a dot; empty for all.
    """

    lanes: str
    index: int | None
    part: str
    lane: str

    def line(self, index: str) -> str:
        """Return the line that adds the product, with an expression of the index."""
        factor = "" if self.index is None else f"{WEIGHTS}[{index}]{self.part} * "
        return f"sum{'.' * bool(self.lanes)}{self.lanes} += {factor}t{self.lane};"


@dataclass(frozen=True)
class _Fetch:
    """A fetch: the sampler, the coordinates (x, y) that it starts from, the distance from there, and the products."""

    sampler: str
    start: tuple[str, str]
    distance: tuple[float, float]
    products: list[_Product]

    @property
    def first(self) -> int:
        """The lowest index of a weight."""
        return min((product.index for product in self.products if product.index is not None), default=0)

    @property
    def likeness(self) -> tuple[object, ...]:
        """Equal for fetches that can be in one loop."""
        return self.sampler, self.start, tuple(self._from(self.first))

    def _from(self, first: int) -> Iterable[_Product]:
        for product in self.products:
            yield product if product.index is None else replace(product, index=product.index - first)


def looped(bundle: Bundle, most: int, limit: int) -> Bundle:
    """Return a bundle that draws the same bytes, with loops in shaders with long arrays.

    Programs with an equal text are merged: those of layers that differ only in their distances.

    Args:
        bundle: the bundle to draw.
        most: length of an array in vec4 up to which its shader remains as it is.
        limit: uniform vectors of the driver. A shader remains as it is if both arrays would exceed it.
    """
    manifest, members = bundle.manifest, dict(bundle.members)
    values: list[float] = []
    arrays: dict[str, Slice] = {}
    names: dict[str, str] = {}
    programs: dict[tuple[object, ...], ShaderProgram] = {}
    for program in manifest.programs:
        changed = program
        identity: tuple[object, ...] = (program.name,)
        text, rows = _rewritten(program, members, most, limit)
        if rows:
            arrays[program.name] = Slice(MEMBER, len(values), 4 * len(rows))
            values += [value for row in rows for value in row]
            fragment = f"{program.fragment}+"
            members[fragment] = text.encode("utf-8")
            changed = replace(program, fragment=fragment, uniforms={**program.uniforms, UNIFORM: 4 * len(rows)})
            uniforms = tuple(sorted(changed.uniforms.items()))
            identity = (text, program.vertex, program.samplers, program.varyings, uniforms)
        names[program.name] = programs.setdefault(identity, changed).name
    if not arrays:
        return bundle
    members[MEMBER] = np.array(values, "<f4").tobytes()
    passes = tuple(
        replace(entry, program=names[entry.program], uniforms={**entry.uniforms, UNIFORM: arrays[entry.program]})
        if entry.program in arrays
        else entry
        for entry in manifest.passes
    )
    result = replace(manifest, programs=tuple(programs.values()), floats=(*manifest.floats, MEMBER), passes=passes)
    return replace(bundle, manifest=result, members=members)


def _rewritten(program: ShaderProgram, members: Mapping[str, bytes], most: int, limit: int) -> tuple[str, Rows]:
    """Return a program's shader with loops, and the elements of its further array; none if the shader remains."""
    if program.uniforms.get(WEIGHTS, 0) <= 4 * most:
        return "", []
    text, rows = with_loops(members[program.fragment].decode("utf-8")) or ("", [])
    vectors = sum(-(-count // 4) for count in program.uniforms.values())
    return (text, rows) if vectors + len(rows) <= limit else ("", [])


def with_loops(text: str) -> tuple[str, Rows] | None:
    """Return a shader with loops, and the elements of its further array; None if it has no long sequence of fetches."""
    lines = text.split("\n")
    numbers = [number for number, line in enumerate(lines) if any(rule.fullmatch(line) for rule in (_FETCH, _PRODUCT))]
    if not numbers or re.search(rf"\b{UNIFORM}\b", text):
        return None
    begin, end = numbers[0], numbers[-1] + 1
    begin -= bool(_LEFT.fullmatch(lines[max(begin - 1, 0)]))
    fetches = _fetches(lines[begin:end])
    if fetches is None:
        return None
    rows: Rows = []
    body: list[str] = []
    for _, sequence in groupby(fetches, lambda fetch: fetch.likeness):
        alike = list(sequence)
        if len(alike) < LEAST_FETCHES:
            body += [f"    {line}" for fetch in alike for line in _straight(fetch)]
            continue
        body += [f"    {line}" for line in _loop(alike[0], len(rows), len(alike))]
        rows += [(*fetch.distance, float(fetch.first), 0.0) for fetch in alike]
    if not rows:
        return None
    declaration = f"uniform vec4 {UNIFORM}[{len(rows)}];"
    main = next(number for number, line in enumerate(lines) if line.startswith("void main"))
    lines[begin:end] = body
    lines[main:main] = [declaration]
    return "\n".join(lines), rows


def _fetches(lines: Sequence[str]) -> list[_Fetch] | None:
    """Return the fetches of some lines with their products; None if there are other lines, or if an order would change.

    Some products of a texel follow the next fetch. They are moved before it, which must not change the order in which
    a component of the sum adds its products.
    """
    fetches: list[_Fetch] = []
    texels: dict[str, _Fetch] = {}
    added: list[tuple[_Fetch, _Product]] = []
    left = ""
    for line in lines:
        if match := _LEFT.fullmatch(line):
            left = match[1]
        elif (match := _FETCH.fullmatch(line)) and (left or match["x"] != "left"):
            x = left if match["x"] == "left" else match["x"]
            distance = float(match["right"] or 0.0), float(match["down"] or 0.0)
            texels[match["texel"]] = _Fetch(match["sampler"], (x, match["y"]), distance, [])
            fetches.append(texels[match["texel"]])
        elif (match := _PRODUCT.fullmatch(line)) and match["texel"] in texels:
            index = None if match["index"] is None else int(match["index"])
            product = _Product(match["lanes"] or "", index, match["part"] or "", match["lane"])
            texels[match["texel"]].products.append(product)
            added.append((texels[match["texel"]], product))
        else:
            return None
    moved = [(fetch, product) for fetch in fetches for product in fetch.products]
    for lane in "xyzw":
        before, after = ([id(p) for _, p in order if lane in (p.lanes or "xyzw")] for order in (added, moved))
        if before != after:
            return None
    return fetches


def _straight(fetch: _Fetch) -> list[str]:
    (x, y), (right, down) = fetch.start, fetch.distance
    at = f"vec2({x} + {right:.9e}, {y} + {down:.9e})"
    return [f"t = texture2D({fetch.sampler}, {at});", *(product.line(str(product.index)) for product in fetch.products)]


def _loop(fetch: _Fetch, first: int, count: int) -> list[str]:
    """Return a loop over fetches like one, whose elements of the array begin at an index."""
    x, y = fetch.start
    products = (
        product.line(f"first + {product.index - fetch.first}" if product.index is not None else "")
        for product in fetch.products
    )
    lines = [
        f"vec4 at = {UNIFORM}[k + {first}];",
        f"t = texture2D({fetch.sampler}, vec2({x} + at.x, {y} + at.y));",
        "int first = int(at.z);",
        *products,
    ]
    return [f"for (int k = 0; k < {count}; k++) {{", *(f"    {line}" for line in lines), "}"]
