"""Bundles changed maliciously: bytes, zip, JSON, passes, GLSL, weights and labels.

After a change of a hashed member, its sha256 in the manifest is updated, as an attacker would do.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import re
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Union

from glsl_mutations import HOSTILE_GLSL, glsl_tokens

Members = dict[str, bytes]
"""Contents of members by their names."""

MANIFEST, GRAPH, PASSES = "manifest.json", "graph.json", "passes.bin"

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


def unpacked(data: bytes) -> Members:
    """Return the members of a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Sequence[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip file of members in the given order; names can repeat."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about repeated names
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return buffer.getvalue()


def rehashed(members: Members) -> bytes:
    """Return a zip file of members, with their sha256 in the manifest corrected."""
    manifest = json.loads(members[MANIFEST])
    return packed(with_manifest(members, {**manifest, "members": hashes(members)}))


def hashes(members: Members) -> dict[str, str]:
    """Return the sha256 of each member but the manifest."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != MANIFEST}


def with_manifest(members: Members, manifest: Any) -> list[tuple[str, bytes]]:
    """Return the members with another manifest."""
    return list({**members, MANIFEST: json.dumps(manifest).encode()}.items())


def fields(manifest: Any, table: bytes) -> Iterator[tuple[int, str]]:
    """Yield the offset and the ``struct`` format of every number in passes.bin, in order.

    Args:
        manifest: manifest.json of a sound bundle, parsed.
        table: its passes.bin.
    """
    at = 0

    def number(form: str) -> tuple[int, str]:
        nonlocal at
        start, at = at, at + struct.calcsize(f"<{form}")
        return start, form

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


def _bytes(rng: Random, data: bytes) -> bytes:
    """Change raw bytes: up to eight times overwrite, insert, delete or repeat a piece."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randint(0, len(changed))
        change = rng.choice(("overwrite", "insert", "delete", "repeat", "cut off"))
        piece = rng.randbytes(rng.randint(1, 16))
        if change == "overwrite":
            changed[at : at + len(piece)] = piece
        elif change == "insert":
            changed[at:at] = piece
        elif change == "delete":
            del changed[at : at + rng.randint(1, 4096)]
        elif change == "repeat":
            changed[at:at] = changed[at : at + rng.randint(1, 4096)]
        else:
            del changed[at:]
    return bytes(changed)


def _zip(rng: Random, data: bytes) -> bytes:
    """Change the container: names, repetitions, presence, methods, and the numbers of its headers."""
    entries = list(unpacked(data).items())
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(entries) - 1)
        change = rng.choice(("delete", "rename", "copy", "repeat", "bomb"))
        name = rng.choice(HOSTILE_NAMES)
        if change == "delete" and len(entries) > 1:
            del entries[at]
        elif change == "rename":
            entries[at] = (name, entries[at][1])
        elif change == "copy":
            entries.append((name, entries[at][1]))
        elif change == "repeat":
            entries.append(entries[at])
        else:
            entries.append(("weights/bomb.f32", bytes(rng.choice((0, 1 << 10, 8 << 20)))))
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    changed = bytearray(packed(entries, method))
    for _ in range(rng.randint(0, 3)):
        signature, size = rng.choice(((b"PK\3\4", 30), (b"PK\1\2", 46), (b"PK\5\6", 22)))
        places = [i for i in range(len(changed)) if changed.startswith(signature, i)] if len(changed) < 1 << 16 else []
        start = rng.choice(places) if places else changed.rfind(signature)
        number = rng.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE))
        at = start + rng.randint(4, size - 4)
        changed[at : at + 4] = struct.pack("<L", number)
    return bytes(changed)


def _manifest(rng: Random, data: bytes) -> bytes:
    """Change one to six values of the manifest."""
    members = unpacked(data)
    manifest = json.loads(members[MANIFEST])
    _change(rng, manifest)
    return packed(with_manifest(members, manifest))


def _graph(rng: Random, data: bytes) -> bytes:
    """Change one to six values of the graph, which is read by inspection and the reference, but not by runners."""
    members = unpacked(data)
    graph = json.loads(members[GRAPH])
    _change(rng, graph)
    return rehashed({**members, GRAPH: json.dumps(graph).encode()})


def _change(rng: Random, data: Any) -> None:
    """Change one to six values of JSON data, a non-empty object."""
    for _ in range(rng.randint(1, 6)):
        container, key = rng.choice(list(places(data)) or [({"": 0}, "")])
        value = container[key]
        change = rng.choice(("delete", "add a key", "repeat", "step", "another value", "hostile", "hostile"))
        if change == "delete":
            del container[key]
        elif change == "add a key" and isinstance(container, dict):
            container["unknown"] = value
        elif change == "repeat" and isinstance(container, list):
            container.extend([value] * rng.choice((1, 2, 100)))
        elif change == "step" and isinstance(value, int):
            container[key] = value + rng.choice((-1, 1, 0.5))
        elif change != "hostile":  # another value of the same type, also instead of a change that does not apply
            others = [c[k] for c, k in places(data) if isinstance(c[k], type(value)) and c is not value]
            container[key] = json.loads(json.dumps(rng.choice(others or [value])))
        else:
            # A copy, because a later change can modify it, and the next file needs the original values.
            container[key] = copy.deepcopy(rng.choice(HOSTILE_VALUES))


def _passes(rng: Random, data: bytes) -> bytes:
    """Change the table of passes: one to six of its numbers to extreme values, or any of its bytes.

    In half of the cases, the manifest's counts are changed as well.
    """
    members = unpacked(data)
    manifest, table = json.loads(members[MANIFEST]), bytearray(members[PASSES])
    if rng.randint(0, 3) == 0:
        table = bytearray(_bytes(rng, bytes(table)))
    else:
        places_of_numbers = list(fields(manifest, table))
        for _ in range(rng.randint(1, 6)):
            at, form = rng.choice(places_of_numbers)
            value = rng.choice(HOSTILE_FLOATS if form == "f" else HOSTILE_NUMBERS[form])
            struct.pack_into(f"<{form}", table, at, value)
    if rng.random() < 0.5:
        key = rng.choice(("count", "quads"))
        manifest["passes"][key] += rng.choice((-1, 1, 1 << 16, 1 << 29))
    members = {**members, PASSES: bytes(table)}
    return packed(with_manifest(members, {**manifest, "members": hashes(members)}))


def _json_text(rng: Random, data: bytes) -> bytes:
    """Change the manifest or the graph as text: invalid JSON, or JSON that no writer creates."""
    members = unpacked(data)
    name = rng.choice((MANIFEST, GRAPH))
    text = members[name]
    nested = rng.choice((b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"NaN", b"-Infinity", b"1e999"))
    at = rng.randint(0, len(text))
    changed_text = rng.choice((nested, text[:at] + nested + text[at:], _bytes(rng, text)))
    changed = {**members, name: changed_text}
    return packed(list(changed.items())) if name == MANIFEST else rehashed(changed)


def _glsl(rng: Random, data: bytes) -> bytes:
    """Change the text of one shader: lines inserted, removed, repeated or copied from another shader."""
    members = unpacked(data)
    names = sorted(name for name in members if name.startswith("shaders/"))
    name = rng.choice(names)
    lines = members[name].decode().split("\n")
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(lines) - 1)
        change = rng.choice(("delete", "replace", "copy", "hostile", "hostile"))
        if change == "delete" and len(lines) > 1:
            del lines[at]
        elif change == "replace":
            lines[at] = lines[at].replace(*rng.choice((("0", "9"), ("2", "-1"), (".", ""), (";", ""))))
        elif change == "copy":
            lines.insert(at, rng.choice(members[rng.choice(names)].decode().split("\n")))
        else:
            lines.insert(at, rng.choice(HOSTILE_GLSL))
    changed = "\n".join(lines).encode()
    if rng.randint(0, 19) == 0:
        changed += b"\n" * rng.choice((1 << 16, 1 << 18, 1 << 20))
    return rehashed({**members, name: changed})


def _weights(rng: Random, data: bytes) -> bytes:
    """Change weights, texels or the probe: NaN, infinities, other lengths, any bytes."""
    members = unpacked(data)
    name = rng.choice(sorted(name for name in members if name.startswith("weights/")))
    changed = bytearray(members[name])
    change = rng.choice(("one value", "bytes", "some values", "some values"))
    if change == "one value":
        changed[:] = struct.pack("<f", rng.choice(HOSTILE_FLOATS)) * (len(changed) // 4)
    elif change == "bytes":
        changed = bytearray(_bytes(rng, bytes(changed)))
    else:
        for _ in range(rng.randint(1, 8)):
            at = 4 * rng.randint(0, max(0, len(changed) // 4 - 1))
            changed[at : at + 4] = struct.pack("<f", rng.choice(HOSTILE_FLOATS))
    return rehashed({**members, name: bytes(changed)})


def _labels(rng: Random, data: bytes) -> bytes:
    """Change the labels: control characters, incomplete characters, other numbers of lines."""
    members = unpacked(data)
    hostile = (b"\n", b"\r\n", b"\0", b"\xff", b"\x1b[2J", b"\xe2\x80\xae", b"a" * 100_000, b"\xed\xa0\x80", b"=1+1")
    pieces = [rng.choice((*hostile, members["labels.txt"])) for _ in range(rng.randint(0, 6))]
    return rehashed({**members, "labels.txt": b"".join(pieces)})


def places(data: Any) -> Iterator[tuple[Any, Union[str, int]]]:
    """Yield every (container, key) of JSON data, in order."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from places(value)


def _container(rng: Random, data: bytes) -> bytes:
    """Change offsets in a sound zip, and values of its headers: two meanings of one file."""
    other = packed([*unpacked(data).items()], rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    changed = bytearray(rng.choice((data, other)))
    for _ in range(rng.randint(1, 2)):
        change = rng.choice(("prepend", "append", "insert", "header", "name", "directory", "end"))
        directory = changed.rfind(b"PK\1\2" if change == "directory" else b"PK\5\6")
        starts = [at for at in range(len(changed) - 4) if changed.startswith((b"PK\3\4", b"PK\1\2"), at)]
        at = rng.choice(starts or [0])
        junk = rng.choice((b"\0", b"PK\5\6", b"x" * 30, bytes(other), b"PK\3\4" + bytes(26)))
        if change == "prepend":
            changed[:0] = junk
        elif change == "append":
            changed += junk
        elif change == "insert":
            changed[at:at] = junk
        elif change == "header":
            offset = at + rng.randint(4, 45)
            if offset < len(changed):
                changed[offset] ^= 1 << rng.randint(0, 7)
        elif change == "name":
            name = at + rng.randint(30, 60)
            changed[name : name + 1] = rng.choice((b"x", b"", b"\0", b"\xc3\xa9"))
        elif change == "directory":
            offset = directory + rng.randint(4, 45)
            if 0 <= offset < len(changed):
                changed[offset] ^= 1 << rng.randint(0, 7)
        elif len(changed) > 30:
            offset = rng.randint(max(0, directory - 400), len(changed) - 1)
            changed[offset] ^= 1 << rng.randint(0, 7)
    return bytes(changed)


def _tokens(rng: Random, data: bytes) -> bytes:
    """Change tokens and lines of one fragment shader without its comments, which have no effect."""
    members = unpacked(data)
    names = sorted(name for name in members if name.endswith(".frag"))
    name = rng.choice(names)
    texts = [re.sub(r"//[^\n]*", "", members[name].decode("latin-1")) for name in names]
    changed = glsl_tokens(rng, texts[names.index(name)], texts)
    return rehashed({**members, name: changed.encode("latin-1", "replace")})


KINDS: dict[str, Callable[[Random, bytes], bytes]] = {
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


def mutated(seed: object, sources: Sequence[bytes], kinds: Sequence[str] = ()) -> tuple[str, bytes]:
    """Return a kind of change and a changed bundle.

    Args:
        seed: any value; equal seeds give equal files.
        sources: the bytes of sound bundles.
        kinds: kinds of changes, from ``KINDS``; by default all.
    """
    rng = Random(str(seed))
    for _ in range(20):
        kind, data = rng.choice(sorted(kinds or KINDS)), rng.choice(sources)
        try:
            return kind, KINDS[kind](rng, data)
        except (KeyError, IndexError, ValueError, StopIteration):  # the file has nothing to apply this change to
            continue
    return "sound", sources[0]
