"""Damage to the bundles of tests/conformance: a change for each, with the rule that it breaks.

``conformance.py`` writes these bundles.
"""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

import bundle_data
from conformance_zip import TWO_MEANINGS, zipped
from hostile_shaders import FOLLOWED

from glsl_infer.bundle import Bundle, manifest_json

Data = bundle_data.Data
Change = Callable[[Data], None]


def _put(*path: Any) -> Callable[[Any], Change]:
    """Return a function from a value to a change that puts it at a path of the data."""

    def to(value: Any) -> Change:
        def change(data: Data) -> None:
            at: Any = data
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value(at[path[-1]]) if callable(value) else value

        return change

    return to


def _remove(*path: Any) -> Change:
    def change(data: Data) -> None:
        at: Any = data
        for key in path[:-1]:
            at = at[key]
        del at[path[-1]]

    return change


def _repeat(key: str) -> Change:
    def change(data: Data) -> None:
        data[key].append(copy.deepcopy(data[key][0]))

    return change


def _read_before_it_is_drawn(data: Data) -> None:
    data["passes"].reverse()


def _slice(data: Data) -> list[Any]:
    values = [value for draw in data["passes"] for value in draw["uniforms"].values()]
    sliced: list[Any] = next(value for value in values if isinstance(value[0], str))
    return sliced


def _undeclared(data: Data) -> None:
    name = data["passes"][0]["program"]
    program = next(candidate for candidate in data["programs"] if candidate["name"] == name)
    program["uniforms"].append(["surplus", 1])
    for candidate in data["passes"]:
        if candidate["program"] == name:
            candidate["uniforms"]["surplus"] = [0.5]
    data["limits"]["fragment_uniform_vectors"] += name == max(data["programs"], key=_vectors)["name"]


def _vectors(program: Data) -> int:
    """Return the number of vec4 that the uniforms of a program occupy."""
    return sum(-(-count // 4) for _, count in program["uniforms"])


def _one_more_texture(data: Data) -> None:
    data["textures"].append({**data["textures"][0], "name": "unused"})


def _larger_than_memory(data: Data) -> None:
    data["textures"][1].update(width=8192, height=8192)
    data["limits"]["texture_size"] = 8192


DAMAGED: dict[str, dict[str, Change]] = {
    "keys": {"missing": _remove("name"), "unknown": lambda data: data.update(surprise=1), "type": _put("name")(5)},
    "version": {
        "older": _put("version")(1),
        "newer": _put("version")(3),
        "profile": _put("profile")("es3"),
        "format": _put("format")("other"),
    },
    "unique names": {"textures": _repeat("textures"), "programs": _repeat("programs")},
    "members": {
        "shader": _put("programs", 0, "fragment")("shaders/none.frag"),
        "probe": _put("probe", "member")("weights/none.bin"),
    },
    "textures": {
        "clear": _remove("textures", 1, "clear"),
        "input clear": _remove("textures", 0, "clear"),
        "size": _put("textures", 1, "width")(0),
        "kind": _put("textures", 1, "kind")("output"),
    },
    "programs": {
        "uniform length": _put("programs", 0, "uniforms", 0, 1)(5),
        "varyings": _put("programs", 0, "varyings")(8),
    },
    "passes.bin": {
        "target": _put("passes", 0, "target")("nowhere"),
        "program": _put("passes", 0, "program")("nothing"),
        "stride": _put("passes", 0, "sources", 0, 1)(float("nan")),
        "large stride": _put("passes", 0, "sources", 0, 1)(10_000.0),
    },
    "passes": {
        "feedback": lambda data: data["passes"][1]["textures"].__setitem__(0, data["passes"][1]["target"]),
        "clear": _put("passes", 0, "clear")(False),
        "quad": _put("passes", 0, "quads", 0, 2)(8000),
        "empty quad": _put("passes", 0, "quads", 0, 3)(0),
        "unit": _put("passes", 0, "sources", 0, 0)(7),
        "order": _read_before_it_is_drawn,
    },
    "uniforms": {"slice": lambda data: _slice(data).__setitem__(1, 1 << 20), "undeclared": _undeclared},
    "inputs": {
        "none": _put("inputs")([]),
        "outside": lambda data: data["inputs"][0]["value"]["views"][0].__setitem__(1, 500),
        "kind": _put("inputs", 0, "kind")("sound"),
        "fit": _put("inputs", 0, "fit")("center-square"),
        "no fit": _remove("inputs", 0, "fit"),
        "gutter": _put("inputs", 0, "value", "gutter")(1),
        "infinite": lambda data: data["inputs"][0]["value"].update(scales=[1e30], zeros=[1e30]),
        "channels": _put("inputs", 0, "value", "channels")(2),
        "unused texture": _one_more_texture,
    },
    "outputs": {
        "none": _put("outputs")([]),
        "purpose": _put("outputs", 0, "purpose")("image"),
        "outside": _put("outputs", 0, "values", 0, "length")(1 << 19),
        "partial sums": _put("outputs", 0, "values", 0, "columns")(1),
        "no values": _put("outputs", 0, "values")([]),
        "step": _put("outputs", 0, "steps")([{"step": "relu"}]),
        "rows": _put("outputs", 0, "steps")([{"step": "rows", "columns": 2}]),
        "classes": _put("outputs", 0, "steps")([{"step": "argmax"}]),
    },
    "probe": {
        "missing layer": _remove("probe", "layers", 0),
        "beyond": _put("probe", "layers", 0, "offset")(1 << 20),
        "numbers": _put("probe", "outputs", 0, "numbers")([]),
        "outputs": _put("probe", "outputs")([]),
    },
    "caps": {"textures": _larger_than_memory},
    "limits": {"units": _put("limits", "texture_units")(1)},
}
"""Changes to the data of the smallest bundle, by the rule they break. Hashes are corrected afterwards."""

DAMAGED_NUMBERS: dict[str, dict[str, Change]] = {
    "unique names": {"inputs": _put("inputs", 1, "name")("heat"), "outputs": _put("outputs", 1, "name")("tags")},
    "inputs": {
        "shared texture": lambda data: data["inputs"][2]["value"].update(
            texture=data["inputs"][1]["value"]["views"][0][0]
        ),
        "numbers with a fit": _put("inputs", 0, "fit")("stretch/area-average"),
        "target": lambda data: data["inputs"][2]["value"].update(texture=data["passes"][0]["target"]),
        "partial sums": _put("inputs", 2, "value", "columns")(1),
        "too many": lambda data: data["inputs"].extend(
            {**copy.deepcopy(data["inputs"][2]), "name": f"more{i}"} for i in range(14)
        ),
    },
    "outputs": {
        "two for classes": lambda data: data["outputs"][1].update(
            purpose="classes", values=data["outputs"][0]["values"], steps=[]
        ),
        "two arrays left": _put("outputs", 1, "values")(lambda values: values * 2),
        "step of nothing": _put("outputs", 0, "steps")([{"step": "argmax"}, {"step": "softmax"}]),
        "surplus columns": _put("outputs", 0, "steps")([{"step": "sigmoid", "columns": 2}]),
        "mask of a vector": _put("outputs", 0, "purpose")("mask"),
        "not drawn": lambda data: data["outputs"][0].update(values=[copy.deepcopy(data["inputs"][2]["value"])]),
    },
    "probe": {"numbers of a map": _put("probe", "outputs", 1, "numbers")([0.0])},
}
"""The same for the bundle of numbers, which has several inputs and outputs."""


def members_of(bundle: Bundle) -> dict[str, bytes]:
    """Return all members of a bundle in memory, manifest.json among them."""
    text = json.dumps(manifest_json.to_json(bundle.manifest), ensure_ascii=False, separators=(",", ":"))
    return {**bundle.members, "manifest.json": text.encode("utf-8")}


FOREIGN_GLSL = {
    "nan": b"    vec4 nan = texture2D(source, vec2(0.0 / 0.0));\n",
    "loop": b"    while (true) {}\n",
    "array": b"    float large[100000];\n",
    "terms": b"    float terms = 0.5" + b" + 0.5" * 400 + b";\n",
}
"""Code for a shader on which a driver can crash."""


def _divided_by_zero(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return the members with a shader that divides by a uniform of 0."""
    data = copy.deepcopy(bundle_data.combined_data(members))
    draw = next(draw for draw in data["passes"] if "source_texel" in draw["uniforms"])
    draw["uniforms"]["source_texel"] = [0.0, 0.0]
    program = next(program for program in data["programs"] if program["name"] == draw["program"])
    changed = bundle_data.members_from(data, members)
    text = changed[program["fragment"]].replace(
        b"void main() {\n", b"void main() {\n    vec2 zero = coord0.xy / source_texel;\n"
    )
    return bundle_data.rehashed({**changed, program["fragment"]: text})


def _outside_its_texture(members: dict[str, bytes]) -> dict[str, bytes]:
    """Return the members with a pass whose loops would not end after their counted turns."""
    data = copy.deepcopy(bundle_data.combined_data(members))
    fragments = {program["name"]: members[program["fragment"]] for program in data["programs"]}
    draw = next(draw for draw in data["passes"] if b"END_AFTER(PAIRS, i)" in fragments[draw["program"]])
    draw["sources"][0][1] = 8000.0
    return bundle_data.members_from(data, members)


def _beyond_the_manifest(members: dict[str, bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Yield (rule, file name, bytes) of damage to the file and its members, outside the manifest."""
    archive = zipped(members)
    yield "container", "cut-off", archive[: len(archive) // 2]
    yield "container", "no-zip", b"not a zip file at all"
    yield "container", "foreign-member", zipped({**members, "weights/../escape": b"x"})
    yield "container", "not-listed", zipped({**members, "weights/more.f32": bytes(4)})
    yield "container", "damaged-member", zipped({**members, "labels.txt": b"x\ny\nz\n"})
    for name, change in TWO_MEANINGS.items():
        yield "container", f"zip-{name}", change(archive)
    for name in ("graph.json", "passes.bin"):
        yield (
            "members",
            f"no-{name.replace('.', '-')}",
            zipped({key: data for key, data in members.items() if key != name}),
        )
    data = bundle_data.combined_data(members)
    for name, table in {
        "short": members["passes.bin"][:-1],
        "long": members["passes.bin"] + b"\0",
        "layer": struct.pack("<H", 999) + members["passes.bin"][2:],
        "empty": b"",
    }.items():
        changed = bundle_data.members_from(data, members)
        yield "passes.bin", f"table-{name}", zipped(bundle_data.rehashed({**changed, "passes.bin": table}))
    shader = "shaders/quads1.vert"
    vertex = next(name for name in members if name.endswith(".vert")) if shader not in members else shader
    broken = {**members, vertex: members[vertex].replace(b"coord0 = corner0;", b"")}
    yield "vertex shaders", "vertex-shader", zipped(bundle_data.rehashed(broken))
    fragment = next(name for name in members if name.endswith(".frag"))
    for name, line in FOREIGN_GLSL.items():
        text = members[fragment].replace(b"void main() {\n", b"void main() {\n" + line)
        yield "shaders", f"shader-{name}", zipped(bundle_data.rehashed({**members, fragment: text}))
    for name, (before, lines) in FOLLOWED.items():
        text = members[fragment].replace(b"void main() {\n", f"{before}void main() {{\n    {lines}\n".encode())
        changed = bundle_data.rehashed({**members, fragment: text})
        yield "shaders", f"shader-{name.replace(' ', '-')}", zipped(changed)
    floats = next(name for name in members if name.endswith(".f32"))
    for name, value in {"nan": float("nan"), "huge": 1e14}.items():
        floats_member = struct.pack("<f", value) + members[floats][4:]
        yield "uniforms", f"uniforms-{name}", zipped(bundle_data.rehashed({**members, floats: floats_member}))
    yield "uniforms", "uniforms-divisor", zipped(_divided_by_zero(members))
    yield "passes", "passes-endless-loop", zipped(_outside_its_texture(members))
    yield "labels", "labels", zipped(bundle_data.rehashed({**members, "labels.txt": b"one\n"}))


def damaged(smallest: dict[str, bytes], numeric: dict[str, bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Yield (rule, name, bytes) of every damaged file.

    Args:
        smallest: members of the bundle with one image and one output.
        numeric: members of the bundle with several inputs and outputs.
    """
    yield from _beyond_the_manifest(smallest)
    for kinds, members in ((DAMAGED, smallest), (DAMAGED_NUMBERS, numeric)):
        for rule, changes in kinds.items():
            for name, change in changes.items():
                data = copy.deepcopy(bundle_data.combined_data(members))
                change(data)
                changed = bundle_data.members_from(data, members)
                yield rule, f"{rule}-{name}".replace(" ", "-").replace(".", "-"), zipped(changed)
