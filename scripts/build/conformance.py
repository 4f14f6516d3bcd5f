"""Write tests/conformance/: small bundles with the same outputs in every runner, and damaged ones to refuse.

    python scripts/build/conformance.py            # writes the files again; a test fails where they would differ
    python scripts/build/conformance.py --check    # only compares

``index.json`` lists them. A sound bundle has a raw file for each input, and one for each output with the values of the
exact reference. bundle-format.md describes these files and the tolerances. Every runner must refuse a damaged bundle,
listed with the rule of docs/reference/bundle-format.md that it breaks. The bundle of parts is sound for runners with
CPU operators. Needs no GPU.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import bundle_data  # noqa: E402
import conformance_parts as parts  # noqa: E402
import parted  # noqa: E402
import ranged  # noqa: E402
import several  # noqa: E402
import tiny  # noqa: E402
from conformance_damage import damaged, members_of  # noqa: E402
from conformance_zip import zipped  # noqa: E402
from graphs import conv_node, dense_node, input_node, pool_node  # noqa: E402

from glsl_infer.bundle import Bundle  # noqa: E402
from glsl_infer.bundle.manifest import PICTURE  # noqa: E402
from glsl_infer.cli.execution import Parser, add_debug, execute  # noqa: E402
from glsl_infer.compiler import lower  # noqa: E402
from glsl_infer.compiler.assemble import to_bundle  # noqa: E402
from glsl_infer.compiler.ranges import prepare  # noqa: E402
from glsl_infer.errors import RunError  # noqa: E402
from glsl_infer.graph import Graph, host_steps, reference  # noqa: E402
from glsl_infer.lowering.target import Target  # noqa: E402
from glsl_infer.program.layout import FeatureMap, SixteenBitMap, Value  # noqa: E402
from glsl_infer.runtime.pictures.preprocess import load_for  # noqa: E402

FOLDER = ROOT / "tests/conformance"
INDEX = "index.json"
SEED = 20
STEPS = 2.0
"""Tolerance of a driver, in stored steps of the output: each earlier layer can round a tie the other way."""

SOURCES = {"alpha": {"picture": (9, 21, 4)}}
"""Images of another shape than their input, (height, width, channels) by bundle; the input's fit resizes them."""

TOMORROW = "operator-of-tomorrow"
"""The sound bundle with an operator that only its compiler has; every runner must run it."""


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
    """Return the members of a bundle whose graph has an operator and an attribute unknown to every reader."""
    members = members_of(bundle)
    data = bundle_data.combined_data(members)
    layer = data["graph"]["layers"][1]
    layer["op"], layer["attrs"] = f"{layer['op']}_of_tomorrow", {**layer["attrs"], "attribute_of_tomorrow": [1, "two"]}
    return bundle_data.members_from(data, members)


def smallest() -> Bundle:
    """Return the bundle to damage: a convolution, a mean and a dense layer."""
    rng = np.random.default_rng(SEED)
    body = (
        input_node(6),
        conv_node(rng, "conv", ("image",), 3, 4),
        pool_node("pool", "conv"),
        dense_node(rng, "dense", "pool", 4, 3),
    )
    graph = Graph("smallest", body, "dense")
    return to_bundle(lower.to_program(prepare(graph).graph, Target(weights="uniform")), ("a", "b", "c"))


def _inputs(name: str, bundle: Bundle) -> dict[str, NDArray[Any]]:
    """Return the inputs of a sound bundle: bytes of images, of the input's shape or another, and float values."""
    if name not in several.SEVERAL:
        model_input = bundle.manifest.inputs[0]
        return {model_input.name: np.random.default_rng(SEED).integers(0, 256, model_input.shape, np.uint8)}
    inputs = several.several_inputs(bundle.graph, SEED)
    for key, shape in SOURCES.get(name, {}).items():
        inputs[key] = np.random.default_rng(SEED).integers(0, 256, shape, np.uint8)
    return inputs


class Result(NamedTuple):
    """An output of a sound bundle: reference values, tolerance, and the number of values that can differ by more."""

    name: str
    values: NDArray[np.float32]
    tolerance: float
    differing: int


def _results(bundle: Bundle, inputs: dict[str, NDArray[Any]]) -> list[Result]:
    """Return the reference values of every output."""
    fitted = {
        model_input.name: load_for(inputs[model_input.name], model_input)
        if model_input.kind == PICTURE and inputs[model_input.name].shape != model_input.shape
        else inputs[model_input.name]
        for model_input in bundle.manifest.inputs
    }
    values = dict(reference.all_values(bundle, fitted))
    results = []
    for output, named in zip(bundle.manifest.outputs, bundle.graph.outputs):
        arrays = [values[layer] for layer in named.layers]
        stored_step = max(_step(value) for value in output.values)
        final_values = host_steps.apply(output.steps, arrays)
        tolerance, differing, kinds = STEPS * stored_step, 0, [step.step for step in output.steps]
        if host_steps.NORMALIZE in kinds:  # an error of a short vector grows when the vector is scaled to length 1
            tolerance *= (
                2.0 * np.sqrt(final_values.shape[-1]) / min(float(np.linalg.norm(a, axis=-1).min()) for a in arrays)
            )
        if host_steps.ARGMAX in kinds:
            first, second = np.moveaxis(np.sort(arrays[0], axis=-1)[..., :-3:-1], -1, 0)
            tolerance, differing = 0.0, int((first - second <= 2.0 * STEPS * stored_step).sum())
        results.append(Result(output.name, final_values, round(float(tolerance), 7), differing))
    return results


def _step(value: Value) -> float:
    """Return the value of a stored step, at most; of a 16-bit map, of eight steps, because float errors show there."""
    if isinstance(value, (FeatureMap, SixteenBitMap)):
        return max(map(abs, value.scales)) / 255 / (1 if isinstance(value, FeatureMap) else 32)
    return value.scale / 256


def _expected(result: Result, members: dict[str, bytes], bundle: str) -> dict[str, Any]:
    """Add the file of an output, and return its entry of the index."""
    file = f"{bundle}.out.{result.name}.f32"
    members[file] = result.values.astype("<f4").tobytes()
    return {
        "name": result.name,
        "file": file,
        "shape": list(result.values.shape),
        "tolerance": result.tolerance,
        "differing": result.differing,
    }


def _of_parts(members: dict[str, bytes]) -> dict[str, Any]:
    """Add the files of the sound bundle of parts, and return its entry of the index."""
    bundle = parted.parted_bundle()
    picture = np.random.default_rng(SEED).integers(0, 256, bundle.manifest.input.shape, np.uint8)
    members[parts.NAME] = zipped(parts.sound_members())
    members[f"{parts.NAME}.in.image.u8"] = picture.tobytes()
    tensor = {"name": "image", "file": f"{parts.NAME}.in.image.u8", "shape": list(picture.shape)}
    values = reference.run(bundle, picture)
    result = Result(bundle.manifest.output.name, values, parts.TOLERANCE, 0)
    return {
        "file": parts.NAME,
        "operators": list(bundle.cpu_operators),
        "inputs": [tensor],
        "outputs": [_expected(result, members, parts.NAME)],
    }


def files() -> dict[str, bytes]:
    """Return every file of the folder by its name."""
    all_members: dict[str, bytes] = {}
    index: dict[str, Any] = {"sound": [], "parts": [], "damaged": []}
    for name, bundle in sound().items():
        members = _of_tomorrow(bundle) if name.startswith(TOMORROW) else members_of(bundle)
        all_members[name] = zipped(members)
        inputs = _inputs(name.partition(".")[0], bundle)
        case: dict[str, Any] = {"file": name, "inputs": [], "outputs": []}
        for key, array in inputs.items():
            suffix = "u8" if array.dtype == np.uint8 else "f32"
            file = f"{name}.in.{key}.{suffix}"
            all_members[file] = array.astype("<f4" if suffix == "f32" else np.uint8).tobytes()
            case["inputs"].append({"name": key, "file": file, "shape": list(array.shape)})
        case["outputs"] = [_expected(output, all_members, name) for output in _results(bundle, inputs)]
        index["sound"].append(case)
    index["parts"].append(_of_parts(all_members))
    numeric = several.several_bundle("numbers")
    for rule, name, content in damaged(members_of(smallest()), members_of(numeric)):
        all_members[f"bad-{name}.glslnn"] = content
        index["damaged"].append({"file": f"bad-{name}.glslnn", "rule": rule})
    for name, content in parts.damaged_bundles():
        all_members[f"bad-parts-{name}.glslnn"] = content
        index["damaged"].append({"file": f"bad-parts-{name}.glslnn", "rule": "parts"})
    all_members[INDEX] = (json.dumps(index, indent=1) + "\n").encode()
    return all_members


def main() -> int:
    """Write or compare the folder."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether the files are up to date")
    add_debug(parser)

    def run(args: Any) -> int:
        members = files()
        if args.check:
            stored = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
            different = sorted(name for name in {*members, *stored} if members.get(name) != stored.get(name))
            if different:
                raise RunError(
                    f"{FOLDER}: {len(different)} files differ, {different[0]} first; run scripts/build/conformance.py"
                )
            return 0
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.iterdir():
            path.unlink()
        for name, data in members.items():
            (FOLDER / name).write_bytes(data)
        print(f"{FOLDER}: {len(members)} files, {sum(map(len, members.values()))} bytes")
        return 0

    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    raise SystemExit(main())
