"""Hostile passes.bin tables: every rule of the table is broken once, and the message names the pass."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from bundle_files import Members, rehashed, zipped
from chromium import Page
from reading import refusals
from web_site import Site


def patched(table: bytes, at: int, form: str, value: float) -> bytes:
    new = struct.pack(f"<{form}", value)
    return table[:at] + new + table[at + len(new) :]


def broken_tables(table: bytes) -> Iterator[tuple[str, bytes, str]]:
    """Yield the error, the table, and a pattern of the message, mostly for errors in the first pass."""
    textures = table[7]
    sources = 8 + 2 * textures
    quads = sources + 1 + 9 * table[sources]
    uniforms = quads + 4 + int.from_bytes(table[quads : quads + 4], "little") * (8 + 4 * table[sources])
    yield "nothing", b"", r"pass 0: passes\.bin ends within it"
    yield "cut", table[:-1], r"pass \d+: passes\.bin ends within it"
    yield "more", table + b"\0", r"passes\.bin goes on after pass \d+"
    yield "layer", patched(table, 0, "H", 999), "pass 0: layer 999 of"
    yield "program", patched(table, 2, "H", 999), "pass 0: program 999 of"
    yield "target", patched(table, 4, "H", 65535), "pass 0: texture 65535 of"
    yield "clear", patched(table, 6, "B", 2), "pass 0: 'clear' is 2"
    yield "texture", patched(table, 8, "H", 999), "pass 0: texture 999 of"
    yield "no source", patched(table, sources, "B", 0), "pass 0: 0 sources; 1 to 14 are possible"
    yield "15 sources", patched(table, sources, "B", 15), "pass 0: 15 sources; 1 to 14 are possible"
    yield "unit", patched(table, sources + 1, "B", 32), "pass 0: texture unit 32; 0 to 31"
    yield "stride", patched(table, sources + 2, "f", math.nan), "pass 0: a number that is not finite"
    yield "no quad", patched(table, quads, "I", 0), "pass 0: 0 quads"
    yield "many quads", patched(table, quads, "I", 2**32 - 1), "pass 0: 4294967295 quads, where the manifest leaves"
    yield "x", patched(table, quads + 4, "H", 8193), "pass 0: a quad beyond 8192 texels"
    yield "height", patched(table, quads + 10, "H", 65535), "pass 0: a quad beyond 8192 texels"
    yield "origin", patched(table, quads + 12, "h", -8193), "pass 0: a quad beyond 8192 texels"
    yield "kind", patched(table, uniforms, "B", 2), "pass 0: a uniform of kind 2"
    number = patched(patched(table, uniforms, "B", 0), uniforms + 1, "f", math.inf)
    yield "number", number, "pass 0: a number that is not finite"
    yield "member", patched(patched(table, uniforms, "B", 1), uniforms + 1, "H", 999), "pass 0: member 999 of"


def test_every_rule_of_the_table(blank: Page, site: Site, tmp_path: Path, good: Members) -> None:
    broken = list(broken_tables(good["passes.bin"]))
    path = tmp_path / "table.zip"
    files = {name: zipped(path, rehashed(good, {"passes.bin": table})).read_bytes() for name, table, _ in broken}
    found = refusals(blank, site, files)
    wrong = [
        (name, found[name]) for name, _, message in broken if not re.search(f"^broken.glslnn: {message}", found[name])
    ]
    assert wrong == []


def test_counts_and_lists_that_the_table_contradicts(blank: Page, site: Site, tmp_path: Path, good: Members) -> None:
    manifest = json.loads(good["manifest.json"])
    count, quads, layers = manifest["passes"]["count"], manifest["passes"]["quads"], manifest["layers"]
    changes = {
        "more passes": ({"passes": {"count": count + 1, "quads": quads}}, f"pass {count}: passes.bin ends within it"),
        "fewer passes": ({"passes": {"count": count - 1, "quads": quads}}, "passes.bin "),
        "more quads": (
            {"passes": {"count": count, "quads": quads + 1}},
            f"passes.bin has {quads} quads; the manifest says",
        ),
        "fewer quads": ({"passes": {"count": count, "quads": quads - 1}}, f"pass {count - 1}: "),
        "no passes": ({"passes": {"count": 0, "quads": quads}}, "manifest.passes.count is 0, not an integer"),
        "an idle layer": ({"layers": [*layers, "idle"]}, "layers: 'idle' has no pass"),
        "a layer twice": ({"layers": [*layers, layers[0]]}, f"layers: '{layers[0]}' is there twice"),
        "a member that is not there": (
            {"floats": [*manifest["floats"], "weights/none.f32"]},
            "member 'weights/none.f32'",
        ),
        "a member of no floats": ({"floats": [*manifest["floats"], "labels.txt"]}, "member 'labels.txt' holds no"),
    }
    path = tmp_path / "counts.zip"
    files = {
        name: zipped(path, {**good, "manifest.json": json.dumps({**manifest, **change}).encode()}).read_bytes()
        for name, (change, _) in changes.items()
    }
    found = refusals(blank, site, files)
    wrong = [
        (name, found[name])
        for name, (_, message) in changes.items()
        if not found[name].startswith(f"broken.glslnn: {message}")
    ]
    assert wrong == []


def test_damaged_tables_end_in_a_bundle_error_or_in_a_sound_bundle(
    blank: Page, site: Site, tmp_path: Path, good: Members
) -> None:
    """Damaged tables with a correct hash, as of a hostile author, end in an error message or are sound."""
    table, files = good["passes.bin"], {}
    for trial in range(60):
        damaged = bytearray(table)
        for step in range(1 + trial % 3):
            damaged[(trial * 7919 + step * 104729) % len(table)] ^= 1 << (trial % 8)
        files[f"damaged {trial}"] = zipped(
            tmp_path / "damaged.zip", rehashed(good, {"passes.bin": bytes(damaged)})
        ).read_bytes()
    found = refusals(blank, site, files)
    assert [message for message in found.values() if message and not message.startswith("broken.glslnn: ")] == []
    assert sum(bool(message) for message in found.values()) > 20
