"""Write tests/conformance/: small bundles that every runner must run alike, and damaged ones that each must refuse.

    python scripts/conformance.py            # writes the files again; a test fails where they would differ
    python scripts/conformance.py --check    # only compares

``index.json`` lists them. A sound bundle has a raw file for each input, and one for each output with what the exact
reference computes; docs/bundle-format.md says how they are read, and how far an output may be off. A damaged one has
the rule of docs/bundle-format.md that it breaks. Needs no GPU.
"""

from __future__ import annotations

import copy
import io
import json
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import bundle_data  # noqa: E402
import ranged  # noqa: E402
import several  # noqa: E402
import tiny  # noqa: E402
from graphs import conv_node, dense_node, input_node, pool_node  # noqa: E402

from glsl_infer.bundle import Bundle, manifest_json  # noqa: E402
from glsl_infer.bundle.manifest import PICTURE  # noqa: E402
from glsl_infer.cli.execution import Parser, add_debug, execute  # noqa: E402
from glsl_infer.compiler import lower  # noqa: E402
from glsl_infer.compiler.assemble import to_bundle  # noqa: E402
from glsl_infer.compiler.ranges import prepare  # noqa: E402
from glsl_infer.errors import RunError  # noqa: E402
from glsl_infer.graph import Graph, host_steps, reference  # noqa: E402
from glsl_infer.program.layout import FeatureMap  # noqa: E402
from glsl_infer.runtime.pictures.preprocess import load_for  # noqa: E402

FOLDER = ROOT / "tests/conformance"
INDEX = "index.json"
SEED = 20
STEPS = 2.0
"""How many stored steps of the output a driver may be off: each layer before it may round a tie the other way."""

SOURCES = {"alpha": {"picture": (9, 21, 4)}}
"""Pictures of another shape than their input's, which its fit makes fit: of a bundle, (height, width, channels)."""

TOMORROW = "operator-of-tomorrow"
"""The sound bundle that every runner runs, though only the compiler that made it knows its operator."""

Data = bundle_data.Data
Change = Callable[[Data], None]


def sound() -> dict[str, Bundle]:
    """Return the sound bundles by file name."""
    bundles = {f"classes-{mode}": tiny.tiny_bundle(mode) for mode in ("uniform", "baked", "texture")}
    bundles["classes-planar"] = tiny.tiny_bundle(layout="planar")
    for end in ranged.ENDS:
        bundles[f"ranges-{end}"] = ranged.ranged_bundle(end)
    for name in several.SEVERAL:
        bundles[name] = several.several_bundle(name)
    bundles[TOMORROW] = smallest()
    return {f"{name}.glslnn": bundle for name, bundle in bundles.items()}


def _of_tomorrow(bundle: Bundle) -> dict[str, bytes]:
    """Return the members of a bundle whose graph has an operator and an attribute that no reader knows."""
    members = members_of(bundle)
    data = bundle_data.whole(members)
    layer = data["graph"]["layers"][1]
    layer["op"], layer["attrs"] = f"{layer['op']}_of_tomorrow", {**layer["attrs"], "attribute_of_tomorrow": [1, "two"]}
    return bundle_data.members_from(data, members)


def smallest() -> Bundle:
    """Return the bundle that is damaged: a convolution, a mean and a dense layer."""
    rng = np.random.default_rng(SEED)
    body = (
        input_node(6),
        conv_node(rng, "conv", ("image",), 3, 4),
        pool_node("pool", "conv"),
        dense_node(rng, "dense", "pool", 4, 3),
    )
    graph = Graph("smallest", body, "dense")
    return to_bundle(lower.to_program(prepare(graph).graph, weights="uniform"), ("a", "b", "c"))


def _put(*path: Any) -> Callable[[Any], Change]:
    """Return what makes a change that puts a value at a path of the data."""

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
    values = [value for entry in data["passes"] for value in entry["uniforms"].values()]
    found: list[Any] = next(value for value in values if isinstance(value[0], str))
    return found


def _undeclared(data: Data) -> None:
    name = data["passes"][0]["program"]
    program = next(entry for entry in data["programs"] if entry["name"] == name)
    program["uniforms"].append(["surplus", 1])
    for entry in data["passes"]:
        if entry["program"] == name:
            entry["uniforms"]["surplus"] = [0.5]
    data["limits"]["fragment_uniform_vectors"] += name == max(data["programs"], key=_vectors)["name"]


def _vectors(program: Data) -> int:
    """Return how many vec4 the uniforms of a program take."""
    return sum(-(-count // 4) for _, count in program["uniforms"])


def _one_more_texture(data: Data) -> None:
    data["textures"].append({**data["textures"][0], "name": "unused"})


def _larger_than_memory(data: Data) -> None:
    data["textures"][1].update(width=8192, height=8192)
    data["limits"]["texture_size"] = 8192


DAMAGED: dict[str, dict[str, Change]] = {
    "keys": {
        "missing": _remove("name"),
        "unknown": lambda data: data.update(surprise=1),
        "type": _put("name")(5),
    },
    "version": {
        "older": _put("version")(1),
        "newer": _put("version")(3),
        "profile": _put("profile")("es3"),
        "format": _put("format")("other"),
    },
    "unique names": {
        "textures": _repeat("textures"),
        "programs": _repeat("programs"),
    },
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
    },
    "passes": {
        "feedback": lambda data: data["passes"][1]["textures"].__setitem__(0, data["passes"][1]["target"]),
        "clear": _put("passes", 0, "clear")(False),
        "quad": _put("passes", 0, "quads", 0, 2)(8000),
        "empty quad": _put("passes", 0, "quads", 0, 3)(0),
        "unit": _put("passes", 0, "sources", 0, 0)(7),
        "order": _read_before_it_is_drawn,
    },
    "uniforms": {
        "slice": lambda data: _slice(data).__setitem__(1, 1 << 20),
        "undeclared": _undeclared,
    },
    "inputs": {
        "none": _put("inputs")([]),
        "outside": lambda data: data["inputs"][0]["value"]["views"][0].__setitem__(1, 500),
        "kind": _put("inputs", 0, "kind")("sound"),
        "fit": _put("inputs", 0, "fit")("center-square"),
        "no fit": _remove("inputs", 0, "fit"),
        "gutter": _put("inputs", 0, "value", "gutter")(1),
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
    "caps": {
        "textures": _larger_than_memory,
    },
    "limits": {
        "units": _put("limits", "texture_units")(1),
    },
}
"""By the rule that is broken: how the data of the smallest bundle is changed. Hashes are right again afterwards."""

DAMAGED_NUMBERS: dict[str, dict[str, Change]] = {
    "unique names": {
        "inputs": _put("inputs", 1, "name")("heat"),
        "outputs": _put("outputs", 1, "name")("tags"),
    },
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
    "probe": {
        "numbers of a map": _put("probe", "outputs", 1, "numbers")([0.0]),
    },
}
"""The same with the bundle of numbers, which has several inputs and outputs."""


def members_of(bundle: Bundle) -> dict[str, bytes]:
    """Return all members of a bundle in memory, manifest.json among them."""
    text = json.dumps(manifest_json.to_json(bundle.manifest), ensure_ascii=False, separators=(",", ":"))
    return {**bundle.members, "manifest.json": text.encode("utf-8")}


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a zip whose bytes depend on the members alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(info, members[name], compresslevel=9)
    return buffer.getvalue()


def _beyond_the_manifest(members: dict[str, bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Yield (rule, file name, bytes) of what is wrong with the file and its members, not with the manifest."""
    whole = zipped(members)
    yield "container", "cut-off", whole[: len(whole) // 2]
    yield "container", "no-zip", b"not a zip file at all"
    yield "container", "foreign-member", zipped({**members, "weights/../escape": b"x"})
    yield "container", "not-listed", zipped({**members, "weights/more.f32": bytes(4)})
    yield "container", "damaged-member", zipped({**members, "labels.txt": b"x\ny\nz\n"})
    for name in ("graph.json", "passes.bin"):
        yield (
            "members",
            f"no-{name.replace('.', '-')}",
            zipped({key: data for key, data in members.items() if key != name}),
        )
    data = bundle_data.whole(members)
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
    yield "labels", "labels", zipped(bundle_data.rehashed({**members, "labels.txt": b"one\n"}))


def _given(name: str, bundle: Bundle) -> dict[str, NDArray[Any]]:
    """Return what the inputs of a sound bundle get: bytes of pictures, of their own shape or another; numbers."""
    if name not in several.SEVERAL:
        entry = bundle.manifest.inputs[0]
        return {entry.name: np.random.default_rng(SEED).integers(0, 256, entry.shape, np.uint8)}
    given = several.several_inputs(bundle.graph, SEED)
    for key, shape in SOURCES.get(name, {}).items():
        given[key] = np.random.default_rng(SEED).integers(0, 256, shape, np.uint8)
    return given


class Result(NamedTuple):
    """An output of a sound bundle: what the reference computes, how far it may be off, and in how many numbers not."""

    name: str
    numbers: NDArray[np.float32]
    tolerance: float
    differing: int


def _results(bundle: Bundle, given: dict[str, NDArray[Any]]) -> list[Result]:
    """Return what the reference computes of every output."""
    fitted = {
        entry.name: load_for(given[entry.name], entry)
        if entry.kind == PICTURE and given[entry.name].shape != entry.shape
        else given[entry.name]
        for entry in bundle.manifest.inputs
    }
    values = dict(reference.all_values(bundle, fitted))
    results = []
    for output, named in zip(bundle.manifest.outputs, bundle.graph.outputs):
        arrays = [values[layer] for layer in named.layers]
        step = max(
            max(map(abs, value.scales)) / 255 if isinstance(value, FeatureMap) else value.scale / 256
            for value in output.values
        )
        numbers = host_steps.apply(output.steps, arrays)
        tolerance, differing, kinds = STEPS * step, 0, [entry.step for entry in output.steps]
        if host_steps.NORMALIZE in kinds:  # a vector of length 1 moves as much more as the vector was shorter
            tolerance *= 2.0 * np.sqrt(numbers.shape[-1]) / min(float(np.linalg.norm(a, axis=-1).min()) for a in arrays)
        if host_steps.ARGMAX in kinds:
            first, second = np.moveaxis(np.sort(arrays[0], axis=-1)[..., :-3:-1], -1, 0)
            tolerance, differing = 0.0, int((first - second <= 2.0 * STEPS * step).sum())
        results.append(Result(output.name, numbers, round(float(tolerance), 7), differing))
    return results


def _expected(result: Result, made: dict[str, bytes], bundle: str) -> dict[str, Any]:
    """Add the file of an output, and return its entry of the index."""
    file = f"{bundle}.out.{result.name}.f32"
    made[file] = result.numbers.astype("<f4").tobytes()
    return {
        "name": result.name,
        "file": file,
        "shape": list(result.numbers.shape),
        "tolerance": result.tolerance,
        "differing": result.differing,
    }


def files() -> dict[str, bytes]:
    """Return every file of the folder by its name."""
    made: dict[str, bytes] = {}
    index: dict[str, Any] = {"sound": [], "damaged": []}
    for name, bundle in sound().items():
        members = _of_tomorrow(bundle) if name.startswith(TOMORROW) else members_of(bundle)
        made[name] = zipped(members)
        given = _given(name.partition(".")[0], bundle)
        entry: dict[str, Any] = {"file": name, "inputs": [], "outputs": []}
        for key, array in given.items():
            kind = "u8" if array.dtype == np.uint8 else "f32"
            file = f"{name}.in.{key}.{kind}"
            made[file] = array.astype("<f4" if kind == "f32" else np.uint8).tobytes()
            entry["inputs"].append({"name": key, "file": file, "shape": list(array.shape)})
        entry["outputs"] = [_expected(output, made, name) for output in _results(bundle, given)]
        index["sound"].append(entry)
    members = members_of(smallest())
    damaged = list(_beyond_the_manifest(members))
    for kinds, sound_members in ((DAMAGED, members), (DAMAGED_NUMBERS, members_of(several.several_bundle("numbers")))):
        for rule, changes in kinds.items():
            for name, change in changes.items():
                data = copy.deepcopy(bundle_data.whole(sound_members))
                change(data)
                changed = bundle_data.members_from(data, sound_members)
                damaged.append((rule, f"{rule}-{name}".replace(" ", "-").replace(".", "-"), zipped(changed)))
    for rule, name, content in damaged:
        made[f"bad-{name}.glslnn"] = content
        index["damaged"].append({"file": f"bad-{name}.glslnn", "rule": rule})
    made[INDEX] = (json.dumps(index, indent=1) + "\n").encode()
    return made


def main() -> int:
    """Write or compare the folder."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether the files are up to date")
    add_debug(parser)

    def run(args: Any) -> int:
        made = files()
        if args.check:
            there = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
            different = sorted(name for name in {*made, *there} if made.get(name) != there.get(name))
            if different:
                raise RunError(
                    f"{FOLDER}: {len(different)} files differ, {different[0]} first; run scripts/conformance.py"
                )
            return 0
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.iterdir():
            path.unlink()
        for name, data in made.items():
            (FOLDER / name).write_bytes(data)
        print(f"{FOLDER}: {len(made)} files, {sum(map(len, made.values()))} bytes")
        return 0

    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    raise SystemExit(main())
