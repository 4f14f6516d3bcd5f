"""Offsets and formats of the numbers in passes.bin, for the fuzzer to change one without moving the others."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any


def fields(manifest: Any, table: bytes) -> Iterator[tuple[int, str]]:
    """Yield the offset and the ``struct`` format of every number, in order.

    Args:
        manifest: manifest.json of a sound bundle, parsed.
        table: its passes.bin.
    """
    at = 0

    def number(form: str) -> tuple[int, str]:
        nonlocal at
        place, at = at, at + struct.calcsize(f"<{form}")
        return place, form

    def last(form: str) -> int:
        value: int = struct.unpack_from(f"<{form}", table, at - struct.calcsize(f"<{form}"))[0]
        return value

    for _ in range(manifest["passes"]["count"]):
        yield number("H")
        yield number("H")
        program = manifest["programs"][last("H")]
        yield number("H")
        yield number("B")
        yield number("B")
        for _ in range(last("B")):
            yield number("H")
        yield number("B")
        sources = last("B")
        for form in "Bff" * sources:
            yield number(form)
        yield number("I")
        for form in ("HHHH" + "hh" * sources) * last("I"):
            yield number(form)
        for _, length in program["uniforms"]:
            yield number("B")
            for form in "HI" if last("B") else "f" * length:
                yield number(form)
