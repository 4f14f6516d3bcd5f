"""Explanation of a layer's cost: its executed instructions by purpose, compared with the floor of each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from glsl_infer.bundle import Bundle
from glsl_infer.errors import RunError
from glsl_infer.tools.videocore import floor
from glsl_infer.tools.videocore.loops import executions
from glsl_infer.tools.videocore.report import Report, Row
from glsl_infer.tools.videocore.transcript import Measured, loops_of

PURPOSES = ("products", "fetches", "waits", "store")

MEANINGS = {
    "products": "use a texel, in a convolution by a multiplication for each weight",
    "fetches": "compute and write coordinates, and load texels",
    "waits": "before the last texel, none of these: sums alone, decoding, moves, loops, idle slots",
    "store": "after the last texel: the end of the sums, the activation, packing",
}

_LOADED = "r4"
"""Register of a fetched texel, and of the result of a special function."""
_LOAD = "load_tmu"
_OPERATION = re.compile(r"(\w+)[\w.]* (\S+?),(.*)")


@dataclass(frozen=True)
class Part:
    """Instructions of one of ``PURPOSES``, times pixels; ``floor`` is None for a layer without a floor."""

    total: int
    floor: int | None


@dataclass(frozen=True)
class Why:
    """Cost of a layer by purpose.

    An instruction has two operations and counts once, for the first of ``PURPOSES`` that one of them has.

    Attributes:
        file, mesa: the bundle's path, and the compiler's version.
        row: the layer's row of the report.
        parts: by purpose; the sum is ``row.total``.
    """

    file: str
    mesa: str
    row: Row
    parts: Mapping[str, Part]

    def as_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        parts = {name: {**asdict(part), "meaning": MEANINGS[name]} for name, part in self.parts.items()}
        row = self.row
        facts = {"total": row.total, "floor": row.least_total, "cycles": row.cycles, "threads": row.threads}
        return {"file": self.file, "mesa": self.mesa, "layer": row.layer, "op": row.op, "passes": row.passes} | {
            **facts,
            **parts,
        }

    def as_text(self) -> str:
        """Return a head line, and a line for each purpose: instructions for a drawn pixel, their floor, their share."""
        row = self.row
        passes = f"{row.passes} passes" if row.passes > 1 else "1 pass"
        least = "no floor" if row.least_total is None else f"{row.total / row.least_total:.2f} times the floor"
        lines = [
            f"layer '{row.layer}' ({row.op}, {passes}): {row.total / row.pixels:.1f} instructions for a pixel, "
            f"{row.total / 1e6:.2f} million, {least}"
        ]
        for name, part in self.parts.items():
            bound = "" if part.floor is None else f" of {part.floor / row.pixels:.1f}"
            share = f"{part.total / row.total:.0%}"
            lines.append(
                f"  {name:8}{part.total / row.pixels:8.1f}{bound:9}{share:>4}  {MEANINGS[name]}{self._stalls(name)}"
            )
        return "\n".join(lines)

    def _stalls(self, name: str) -> str:
        """Return the compiler's estimate of the wait for texels, which is in no instruction."""
        row = self.row
        if name != "waits" or row.cycles <= row.instructions:
            return ""
        filled = "the other thread fills" if row.threads > 1 else "nothing fills, because it has one thread"
        return f"; also {row.cycles - row.instructions} estimated slots for texels, which {filled}"


def explain(bundle: Bundle, measured: Measured, report: Report, layer: str) -> Why:
    """Return the cost of a layer by purpose.

    Args:
        bundle: the bundle.
        measured: its statistics, with disassembly.
        report: the report on both.
        layer: name of a layer that draws.

    Raises:
        RunError: one of its shaders does not compile.
    """
    row = next(row for row in report.rows if row.layer == layer)
    loops = loops_of(bundle)
    totals = dict.fromkeys(PURPOSES, 0)
    for draw in bundle.manifest.passes:
        if draw.layer != layer:
            continue
        listing = measured.listings.get(draw.program, "").splitlines()
        if row.failed or not listing:
            reason = measured.failures.get(draw.program) or measured.failures.get(layer, "nothing was compiled")
            raise RunError(f"{report.file}: layer '{layer}': {reason}")
        for purpose, times in zip(purposes(listing), executions(listing, loops.get(draw.program, ()))):
            totals[purpose] += times * draw.pixels
    floors = dict.fromkeys(PURPOSES, None if row.products is None else 0)
    if row.products is not None:
        floors.update(products=row.products, fetches=floor.COORDINATES * row.fetched)
    return Why(report.file, report.mesa, row, {name: Part(totals[name], floors[name]) for name in PURPOSES})


def purposes(listing: Sequence[str]) -> list[str]:
    """Return the purpose of each instruction of a fragment shader, from Mesa's disassembly.

    Registers are followed in the order of the listing. An operation reads a texel if it reads ``r4`` after a load, or a
    copy. It serves a fetch if all later readers of its result do.
    """
    operations = list(_operations(listing))
    readers: dict[str, set[str]] = {}
    for _, group in itertools.groupby(reversed(operations), key=lambda operation: operation.index):
        same_instruction = list(group)  # they read before they write
        for operation in same_instruction:
            if readers.pop(operation.target, set()) == {"fetches"} and not operation.purpose:
                operation.purpose = "fetches"
        for operation in same_instruction:
            for source in operation.sources:
                readers.setdefault(source, set()).add(operation.purpose)
    reasons = [{"fetches"} if _LOAD in line else set[str]() for line in listing]
    for operation in operations:
        reasons[operation.index].add(operation.purpose)
    last = max((index for index, roles in enumerate(reasons) if roles & {"products", "fetches"}), default=-1)
    return [
        next((purpose for purpose in PURPOSES if purpose in roles), "waits" if index < last else "store")
        for index, roles in enumerate(reasons)
    ]


@dataclass
class _Operation:
    """One of the two operations of an instruction; ``purpose`` is empty until it is known."""

    index: int
    target: str
    sources: Sequence[str]
    purpose: str


def _operations(listing: Sequence[str]) -> Iterator[_Operation]:
    """Yield the operations in order, with those purposes that the operation itself shows."""
    texels = set[str]()
    for index, line in enumerate(listing):
        written: dict[str, bool] = {}
        for match in filter(None, map(_OPERATION.search, line.split(" ; "))):
            target = match[2].partition(".")[0]
            sources = [text.strip().partition(".")[0] for text in match[3].split(",")]
            if match[1] == "nop":
                continue
            purpose = ""
            if target.startswith("tmu") or "vary" in sources:
                purpose = "fetches"
            elif texels.intersection(sources):
                purpose = "products"
            written[target] = purpose == "products" and match[1] == "mov"
            if target.startswith("sfu"):
                written[_LOADED] = False
            yield _Operation(index, target, sources, purpose)
        if _LOAD in line:
            written[_LOADED] = True
        for target, is_texel in written.items():
            (texels.add if is_texel else texels.discard)(target)
