"""Bundles changed maliciously, as a Hypothesis strategy: bytes, zip, JSON, passes, GLSL, weights and labels.

After a change of a hashed member, its sha256 in the manifest is updated, as an attacker would do.
"""

from __future__ import annotations

import copy
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Union

from bundle_members import MANIFEST, hashes, packed, rehashed, unpacked, with_manifest
from glsl_mutations import HOSTILE_GLSL, Draw, glsl_tokens
from hypothesis import strategies as st
from pass_fields import fields

GRAPH, PASSES = "graph.json", "passes.bin"

HOSTILE_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 3, 4, 64, 255, 256, 8192, 8193, 1 << 20, 1 << 31, 1 << 63, 1 << 80),
    *(0.5, -0.0, 1e-45, 1e38, 3.5e38, -3e38, 1e308, "", "image", "../x", "\0", "\ud800", "é" * 40, "x" * 5000),
    *([], {}, [[]], [1], [0, 0, 0, 0], ["image", 0, 0], {"": 0}, [1 << 20] * 64, list(range(300))),
)
HOSTILE_NAMES = (
    *("../evil", "/etc/passwd", "shaders/../../x", "weights\\x", "C:x", "shaders/", "weights/.x", "MANIFEST.JSON"),
    *("shaders/prelude.glsl", "labels.txt", "manifest.json", "weights/probe.bin", "x" * 60000, "weights/\0", "é"),
    *("graph.json", "passes.bin", "graph.bin", "passes.json"),
)
HOSTILE_NUMBERS = {
    "B": (0, 1, 2, 14, 15, 31, 32, 255),
    "H": (0, 1, 2, 8192, 8193, 0x7FFF, 0x8000, 0xFFFF),
    "h": (0, 1, -1, 8192, -8192, 8193, -8193, 0x7FFF, -0x8000),
    "I": (0, 1, 2, 1 << 16, 1 << 18, (1 << 18) + 1, 1 << 30, 1 << 31, 0xFFFFFFFF),
}
HOSTILE_FLOATS = (float("nan"), float("inf"), float("-inf"), 3.4e38, -3.4e38, 1e-45, 0.0, -0.0, 65504.0)


@dataclass(frozen=True)
class Mutated:
    """A changed file: the kind of its change, and its bytes."""

    kind: str
    data: bytes


def mutated(sources: Sequence[bytes], kinds: Sequence[str] = ()) -> st.SearchStrategy[Mutated]:
    """Return a strategy of changed bundles.

    Args:
        sources: the bytes of sound bundles.
        kinds: kinds of changes, from ``KINDS``; by default all.
    """

    @st.composite
    def strategy(draw: Draw) -> Mutated:
        kind = draw(st.sampled_from(sorted(kinds or KINDS)))
        return Mutated(kind, KINDS[kind](draw, draw(st.sampled_from(sources))))

    return strategy()


def _bytes(draw: Draw, data: bytes) -> bytes:
    """Change raw bytes: up to eight times overwrite, insert, delete or repeat a piece."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, len(changed)))
        how = draw(st.integers(0, 4))
        piece = draw(st.binary(min_size=1, max_size=16))
        if how == 0:
            changed[at : at + len(piece)] = piece
        elif how == 1:
            changed[at:at] = piece
        elif how == 2:
            del changed[at : at + draw(st.integers(1, 4096))]
        elif how == 3:
            changed[at:at] = changed[at : at + draw(st.integers(1, 4096))]
        else:
            del changed[at:]
    return bytes(changed)


def _zip(draw: Draw, data: bytes) -> bytes:
    """Change the container: names, repetitions, presence, methods, and the numbers of its headers."""
    entries = list(unpacked(data).items())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(entries) - 1))
        how, name = draw(st.integers(0, 4)), draw(st.sampled_from(HOSTILE_NAMES))
        if how == 0 and len(entries) > 1:
            del entries[at]
        elif how == 1:
            entries[at] = (name, entries[at][1])
        elif how == 2:
            entries.append((name, entries[at][1]))
        elif how == 3:
            entries.append(entries[at])
        else:
            entries.append(("weights/bomb.f32", bytes(draw(st.sampled_from((0, 1 << 10, 8 << 20))))))
    method = draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))
    changed = bytearray(packed(entries, method))
    for _ in range(draw(st.integers(0, 3))):
        signature, size = draw(st.sampled_from(((b"PK\3\4", 30), (b"PK\1\2", 46), (b"PK\5\6", 22))))
        places = [i for i in range(len(changed)) if changed.startswith(signature, i)] if len(changed) < 1 << 16 else []
        start = draw(st.sampled_from(places)) if places else changed.rfind(signature)
        number = draw(st.sampled_from((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE)))
        at = start + draw(st.integers(4, size - 4))
        changed[at : at + 4] = struct.pack("<L", number)
    return bytes(changed)


def _manifest(draw: Draw, data: bytes) -> bytes:
    """Change one to six values of the manifest."""
    members = unpacked(data)
    manifest = json.loads(members[MANIFEST])
    _change(draw, manifest)
    return packed(with_manifest(members, manifest))


def _graph(draw: Draw, data: bytes) -> bytes:
    """Change one to six values of the graph, which is read by inspection and the reference, but not by runners."""
    members = unpacked(data)
    graph = json.loads(members[GRAPH])
    _change(draw, graph)
    return rehashed({**members, GRAPH: json.dumps(graph).encode()})


def _change(draw: Draw, data: Any) -> None:
    """Change one to six values of JSON data, a non-empty object."""
    for _ in range(draw(st.integers(1, 6))):
        container, key = draw(st.sampled_from(list(places(data)) or [({"": 0}, "")]))
        value, how = container[key], draw(st.integers(0, 6))
        if how == 0:
            del container[key]
        elif how == 1 and isinstance(container, dict):
            container["unknown"] = value
        elif how == 2 and isinstance(container, list):
            container.extend([value] * draw(st.sampled_from((1, 2, 100))))
        elif how == 3 and isinstance(value, int):
            container[key] = value + draw(st.sampled_from((-1, 1, 0.5)))
        elif how <= 4:  # another value of the same type
            others = [c[k] for c, k in places(data) if isinstance(c[k], type(value)) and c is not value]
            container[key] = json.loads(json.dumps(draw(st.sampled_from(others or [value]))))
        else:
            # A copy, because a later change can modify it, and the next file needs the original values.
            container[key] = copy.deepcopy(draw(st.sampled_from(HOSTILE_VALUES)))


def _passes(draw: Draw, data: bytes) -> bytes:
    """Change the table of passes: one to six of its numbers to extreme values, or any of its bytes.

    In half of the cases, the manifest's counts are changed as well.
    """
    members = unpacked(data)
    manifest, table = json.loads(members[MANIFEST]), bytearray(members[PASSES])
    if draw(st.integers(0, 3)) == 0:
        table = bytearray(_bytes(draw, bytes(table)))
    else:
        places_of_numbers = list(fields(manifest, table))
        for _ in range(draw(st.integers(1, 6))):
            at, form = draw(st.sampled_from(places_of_numbers))
            number = draw(st.sampled_from(HOSTILE_FLOATS if form == "f" else HOSTILE_NUMBERS[form]))
            struct.pack_into(f"<{form}", table, at, number)
    if draw(st.booleans()):
        key = draw(st.sampled_from(("count", "quads")))
        manifest["passes"][key] += draw(st.sampled_from((-1, 1, 1 << 16, 1 << 29)))
    members = {**members, PASSES: bytes(table)}
    return packed(with_manifest(members, {**manifest, "members": hashes(members)}))


def _json_text(draw: Draw, data: bytes) -> bytes:
    """Change the manifest or the graph as text: invalid JSON, or JSON that no writer creates."""
    members = unpacked(data)
    name = draw(st.sampled_from((MANIFEST, GRAPH)))
    text = members[name]
    nested = draw(st.sampled_from((b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"NaN", b"-Infinity", b"1e999")))
    at = draw(st.integers(0, len(text)))
    whole = draw(st.sampled_from((nested, text[:at] + nested + text[at:], _bytes(draw, text))))
    changed = {**members, name: whole}
    return packed(list(changed.items())) if name == MANIFEST else rehashed(changed)


def _glsl(draw: Draw, data: bytes) -> bytes:
    """Change the text of one shader: lines inserted, removed, repeated or copied from another shader."""
    members = unpacked(data)
    names = sorted(name for name in members if name.startswith("shaders/"))
    name = draw(st.sampled_from(names))
    lines = members[name].decode().split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at, how = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, 4))
        if how == 0 and len(lines) > 1:
            del lines[at]
        elif how == 1:
            lines[at] = lines[at].replace(*draw(st.sampled_from((("0", "9"), ("2", "-1"), (".", ""), (";", "")))))
        elif how == 2:
            lines.insert(at, draw(st.sampled_from(members[draw(st.sampled_from(names))].decode().split("\n"))))
        else:
            lines.insert(at, draw(st.sampled_from(HOSTILE_GLSL)))
    changed = "\n".join(lines).encode()
    if draw(st.integers(0, 19)) == 0:
        changed += b"\n" * draw(st.sampled_from((1 << 16, 1 << 18, 1 << 20)))
    return rehashed({**members, name: changed})


def _weights(draw: Draw, data: bytes) -> bytes:
    """Change weights, texels or the probe: NaN, infinities, other lengths, any bytes."""
    members = unpacked(data)
    name = draw(st.sampled_from(sorted(name for name in members if name.startswith("weights/"))))
    changed = bytearray(members[name])
    how = draw(st.integers(0, 3))
    if how == 0:
        changed[:] = struct.pack("<f", draw(st.sampled_from(HOSTILE_FLOATS))) * (len(changed) // 4)
    elif how == 1:
        changed = bytearray(_bytes(draw, bytes(changed)))
    else:
        for _ in range(draw(st.integers(1, 8))):
            at = 4 * draw(st.integers(0, max(0, len(changed) // 4 - 1)))
            changed[at : at + 4] = struct.pack("<f", draw(st.sampled_from(HOSTILE_FLOATS)))
    return rehashed({**members, name: bytes(changed)})


def _labels(draw: Draw, data: bytes) -> bytes:
    """Change the labels: control characters, incomplete characters, other numbers of lines."""
    members = unpacked(data)
    hostile = (b"\n", b"\r\n", b"\0", b"\xff", b"\x1b[2J", b"\xe2\x80\xae", b"a" * 100_000, b"\xed\xa0\x80", b"=1+1")
    pieces = draw(st.lists(st.sampled_from((*hostile, members["labels.txt"])), max_size=6))
    return rehashed({**members, "labels.txt": b"".join(pieces)})


def places(data: Any) -> Iterator[tuple[Any, Union[str, int]]]:
    """Yield every (container, key) of JSON data, in order."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from places(value)


def _container(draw: Draw, data: bytes) -> bytes:
    """Change offsets in a sound zip, and values of its headers: two meanings of one file."""
    other = packed([*unpacked(data).items()], draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))))
    changed = bytearray(draw(st.sampled_from((data, other))))
    for _ in range(draw(st.integers(1, 2))):
        how = draw(st.integers(0, 6))
        directory = changed.rfind(b"PK\1\2" if how == 5 else b"PK\5\6")
        starts = [at for at in range(len(changed) - 4) if changed.startswith((b"PK\3\4", b"PK\1\2"), at)]
        at = draw(st.sampled_from(starts or [0]))
        junk = draw(st.sampled_from((b"\0", b"PK\5\6", b"x" * 30, bytes(other), b"PK\3\4" + bytes(26))))
        if how == 0:
            changed[:0] = junk
        elif how == 1:
            changed += junk
        elif how == 2:
            changed[at:at] = junk
        elif how == 3:
            place = at + draw(st.integers(4, 45))
            if place < len(changed):
                changed[place] ^= 1 << draw(st.integers(0, 7))
        elif how == 4:
            name = at + draw(st.integers(30, 60))
            changed[name : name + 1] = draw(st.sampled_from((b"x", b"", b"\0", b"\xc3\xa9")))
        elif how == 5:
            place = directory + draw(st.integers(4, 45))
            if 0 <= place < len(changed):
                changed[place] ^= 1 << draw(st.integers(0, 7))
        elif len(changed) > 30:
            place = draw(st.integers(max(0, directory - 400), len(changed) - 1))
            changed[place] ^= 1 << draw(st.integers(0, 7))
    return bytes(changed)


def _tokens(draw: Draw, data: bytes) -> bytes:
    """Change tokens and lines of one fragment shader without its comments, which have no effect."""
    members = unpacked(data)
    names = sorted(name for name in members if name.endswith(".frag"))
    name = draw(st.sampled_from(names))
    texts = [re.sub(r"//[^\n]*", "", members[name].decode("latin-1")) for name in names]
    changed = glsl_tokens(draw, texts[names.index(name)], texts)
    return rehashed({**members, name: changed.encode("latin-1", "replace")})


KINDS: dict[str, Callable[[Draw, bytes], bytes]] = {
    "bytes": _bytes,
    "zip": _zip,
    "container": _container,
    "manifest": _manifest,
    "passes": _passes,
    "graph": _graph,
    "JSON text": _json_text,
    "GLSL": _glsl,
    "tokens": _tokens,
    "weights": _weights,
    "labels": _labels,
}
