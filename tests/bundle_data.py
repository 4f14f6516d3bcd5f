"""A bundle's manifest, passes and graph as one mutable JSON-like dict, and back into members.

    data = combined_data(members)            # manifest.json, with "passes" as a list of dicts, and "graph" (graph.json)
    data["passes"][0]["clear"] = False
    members = members_from(data, members)    # manifest.json, passes.bin and graph.json again, with right hashes

It is written from docs/reference/bundle-format.md alone and shares nothing with ``glsl_infer.bundle.pass_table``.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

Data = dict[str, Any]
NOWHERE = 0xFFFF
"""The index of unknown names."""


def combined_data(members: Mapping[str, bytes]) -> Data:
    """Return manifest.json with its passes unpacked, and graph.json under the key ``graph``."""
    data: Data = json.loads(members["manifest.json"])
    data["passes"] = unpacked_passes(data, members["passes.bin"])
    data["graph"] = json.loads(members["graph.json"])
    return data


def members_from(data: Data, members: Mapping[str, bytes], *, rehash: bool = True) -> dict[str, bytes]:
    """Return the members with manifest.json, passes.bin and graph.json made of ``data``.

    Args:
        data: the changed result of ``combined_data``.
        members: source of the other members.
        rehash: compute the sha256 of all members; False keeps the hashes of ``data``.
    """
    changed = {
        **members,
        "passes.bin": table(data),
        "graph.json": json.dumps(data["graph"], ensure_ascii=False).encode("utf-8", "surrogatepass"),
    }
    text = json.dumps(manifest_data(data), ensure_ascii=False)
    changed["manifest.json"] = text.encode("utf-8", "surrogatepass")
    return rehashed(changed) if rehash else changed


def rehashed(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the members with the right sha256 of each in manifest.json."""
    manifest = json.loads(members["manifest.json"])
    manifest["members"] = {
        name: hashlib.sha256(member).hexdigest() for name, member in members.items() if name != "manifest.json"
    }
    text = json.dumps(manifest, ensure_ascii=False)
    return {**members, "manifest.json": text.encode("utf-8", "surrogatepass")}


def manifest_data(data: Data) -> Data:
    """Return manifest.json as parsed JSON: ``layers``, ``floats`` and the counts of passes follow the passes."""
    passes = data["passes"]
    manifest = {key: value for key, value in data.items() if key != "graph"}
    if not isinstance(passes, list):
        return manifest  # a count and a number of quads, or the test's own data
    manifest["layers"] = list(dict.fromkeys(draw["layer"] for draw in passes))
    manifest["floats"] = _float_members(passes)
    manifest["passes"] = {"count": len(passes), "quads": sum(len(draw["quads"]) for draw in passes)}
    return manifest


def table(data: Data) -> bytes:
    """Return passes.bin for a list of passes. An unknown name becomes the index ``NOWHERE``."""
    passes: Sequence[Data] = data["passes"]
    layers, floats = list(dict.fromkeys(draw["layer"] for draw in passes)), _float_members(passes)
    programs = {program["name"]: program for program in data["programs"]}
    textures = [texture["name"] for texture in data["textures"]]

    def index(names: Sequence[str], name: str) -> int:
        return names.index(name) if name in names else NOWHERE

    parts = []
    for draw in passes:
        indices = [index(layers, draw["layer"]), index(list(programs), draw["program"])]
        parts.append(struct.pack("<HHH", *indices, index(textures, draw["target"])))
        parts.append(bytes([int(draw["clear"]), len(draw["textures"])]))
        parts += [struct.pack("<H", index(textures, name)) for name in draw["textures"]]
        parts.append(bytes([len(draw["sources"])]))
        parts += [struct.pack("<Bff", *source) for source in draw["sources"]]
        parts.append(struct.pack("<I", len(draw["quads"])))
        parts += [struct.pack(f"<{len(quad)}h", *quad) for quad in draw["quads"]]
        declared = [name for name, _ in programs.get(draw["program"], {"uniforms": []})["uniforms"]]
        for name in declared:
            if name not in draw["uniforms"]:
                continue  # the table then has another meaning, like a damaged one
            value = draw["uniforms"][name]
            if isinstance(value[0], str):
                parts.append(struct.pack("<BHI", 1, index(floats, value[0]), value[1]))
            else:
                parts.append(b"\0" + struct.pack(f"<{len(value)}f", *value))
    return b"".join(parts)


def unpacked_passes(manifest: Data, data: bytes) -> list[Data]:
    """Return the passes of a sound table as dicts: names for indices, ``[member, offset, count]`` for slices."""
    at = 0

    def take(form: str) -> tuple[Any, ...]:
        nonlocal at
        values = struct.unpack_from(f"<{form}", data, at)
        at += struct.calcsize(f"<{form}")
        return values

    textures = [texture["name"] for texture in manifest["textures"]]
    passes = []
    for _ in range(manifest["passes"]["count"]):
        layer, program_index, target, clear, count = take("HHHBB")
        program = manifest["programs"][program_index]
        draw: Data = {
            "layer": manifest["layers"][layer],
            "program": program["name"],
            "target": textures[target],
            "clear": bool(clear),
            "textures": [textures[index] for index in take(f"{count}H")],
        }
        (sources,) = take("B")
        draw["sources"] = [list(take("Bff")) for _ in range(sources)]
        (quads,) = take("I")
        draw["quads"] = [list(take(f"{4 + 2 * sources}h")) for _ in range(quads)]
        draw["uniforms"] = {}
        for name, length in program["uniforms"]:
            (kind,) = take("B")
            if kind:
                member, offset = take("HI")
                draw["uniforms"][name] = [manifest["floats"][member], offset, length]
            else:
                draw["uniforms"][name] = list(take(f"{length}f"))
        passes.append(draw)
    assert at == len(data)
    return passes


def _float_members(passes: Sequence[Data]) -> list[str]:
    values = [value for draw in passes for value in draw["uniforms"].values()]
    return sorted({value[0] for value in values if isinstance(value[0], str)})
