"""The constants of the three readers and the corpus of tests/conformance match format.json and their scripts."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import conformance
import format_constants as script
import jsonschema
import pytest
from conformance_files import INDEX, array_of, check_outputs, inputs_of
from pages import ROOT

from glsl_infer import bundle as bundles
from glsl_infer.bundle import format_constants
from glsl_infer.bundle.described import Described
from glsl_infer.bundle.manifest_json import CUSTOM_READERS
from glsl_infer.errors import BundleError
from glsl_infer.graph import reference
from glsl_infer.runtime.pictures.preprocess import load_for

DATA = script.read()


def test_every_generated_file_is_up_to_date() -> None:
    assert script.outdated() == [], "run python scripts/build/format_constants.py"


def test_a_change_of_the_data_reaches_every_file() -> None:
    changed = json.loads(json.dumps(DATA))
    changed["caps"]["MAX_LAYERS"][0] = 77
    changed["words"]["purposes"].append("sounds")
    changed["objects"]["limits"]["keys"]["colour"] = "name"
    changed["tasks"]["objects"]["region"]["colour"] = {"integer": [77, 78]}
    for name, make in script.FILES.items():
        words = ("77", "colour") if "tasks/" in name else ("77", '"sounds"', "colour")
        assert all(word in make(changed) for word in words), name


def test_python_has_the_caps_ranges_words_and_keys() -> None:
    assert {name: getattr(format_constants, name) for name in DATA["caps"]} == {
        name: value for name, (value, _) in DATA["caps"].items()
    }
    assert dict(format_constants.RANGES) == {name: (low, high) for name, (low, high, *_) in DATA["integers"].items()}
    assert {name: getattr(format_constants, name.upper()) for name in DATA["words"]} == {
        name: tuple(words) for name, words in DATA["words"].items()
    }
    assert {name: list(keys) for name, keys in format_constants.OBJECTS.items()} == {
        name: list(spec["keys"]) for name, spec in DATA["objects"].items()
    }


@pytest.mark.parametrize("name", DATA["objects"])
def test_every_type_has_a_schema(name: str) -> None:
    report = json.loads(script.schema_text(DATA))
    jsonschema.Draft202012Validator.check_schema(report)
    schema = report if name == "manifest" else report["$defs"][name]
    assert list(schema["properties"]) == list(DATA["objects"][name]["keys"])
    references = {word for word in json.dumps(report).split('"') if word.startswith("#/$defs/")}
    assert {reference.removeprefix("#/$defs/") for reference in references} <= set(report["$defs"])


@pytest.mark.parametrize("name", DATA["objects"])
def test_every_object_has_a_reader(name: str) -> None:
    """Each reader is generated from the description alone."""
    readers = Described({}, CUSTOM_READERS)
    first = next(iter(DATA["objects"][name]["keys"]))
    for data, message in (
        ([], "whole is not an object"),
        ({}, f"whole: '{first}' is missing"),
        ({"unknown": 1}, f"whole: '{first}' is missing"),
    ):
        with pytest.raises(BundleError) as caught:
            readers.read(name, data, "whole")
        assert str(caught.value) == message


def test_the_limits_page_has_the_limits() -> None:
    page = (ROOT / "docs/reference/limits.md").read_text("utf-8")
    caps = {name: value for name, (value, _) in DATA["caps"].items()}
    rows = {
        "inputs, outputs": f"{caps['MAX_INPUTS']} each",
        "layers": f"{caps['MAX_LAYERS']:,}",
        "textures of a model together": f"{caps['MAX_TEXTURE_BYTES'] >> 20} MiB",
        "passes of a frame": f"{caps['MAX_PASSES']:,}",
        "a bundle, unpacked": f"{caps['MAX_BYTES'] >> 20} MiB",
        "parts": f"{caps['MAX_PARTS']}",
        "axes of a tensor on the CPU": f"{caps['MAX_RANK']}",
    }
    assert {name for name, value in rows.items() if f"| {name} | {value} |" not in page} == set()


CALIBRATED = re.compile(r"ranges-\w+\.glslnn")
"""Files with calibrated ranges. Another CPU adds in another order, so the last bits can differ."""


@pytest.mark.slow
def test_the_folder_equals_the_output_of_its_script() -> None:
    files = conformance.files()
    assert sorted(files) == sorted(path.name for path in conformance.FOLDER.iterdir())
    stored = {name: (conformance.FOLDER / name).read_bytes() for name in files}
    different = {name for name, data in files.items() if stored[name] != data}
    assert [name for name in different if not CALIBRATED.fullmatch(name)] == []
    for name in different:
        actual, expected = (zipfile.ZipFile(io.BytesIO(data)) for data in (files[name], stored[name]))
        assert actual.namelist() == expected.namelist()
        assert alike(json.loads(actual.read("graph.json")), json.loads(expected.read("graph.json")))
        shaders = [member for member in actual.namelist() if member.startswith("shaders/")]
        assert shaders and all(actual.read(member) == expected.read(member) for member in shaders)


def alike(first: Any, second: Any) -> bool:
    """Return whether JSON values are equal up to the last bits of floats."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(alike(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-5)
    return bool(first == second)


def test_the_corpus_is_smaller_than_2_5_mib() -> None:
    assert sum(path.stat().st_size for path in conformance.FOLDER.iterdir()) < 5 << 19


@pytest.mark.parametrize("case", INDEX["sound"], ids=lambda case: case["file"])
def test_sound_bundles_compute_the_expected_outputs(case: dict[str, Any]) -> None:
    bundle = bundles.read(conformance.FOLDER / str(case["file"]))
    if str(case["file"]).startswith(conformance.TOMORROW):
        with pytest.raises(BundleError, match="layer 'conv'"):
            _ = bundle.graph
        return
    inputs = inputs_of(case)
    if any(array.shape != described.shape for array, described in zip(inputs.values(), bundle.manifest.inputs)):
        inputs = {input.name: load_for(inputs[input.name], input) for input in bundle.manifest.inputs}
    results = reference.run(bundle, inputs)
    check_outputs(case, results)
    for expected in case["outputs"]:
        assert (results[expected["name"]] == array_of(expected)).all()


@pytest.mark.parametrize("case", INDEX["parts"], ids=lambda case: case["file"])
def test_bundles_of_parts_compute_the_expected_outputs(case: dict[str, Any]) -> None:
    bundle = bundles.read(conformance.FOLDER / str(case["file"]))
    assert list(bundle.cpu_operators) == case["operators"]
    check_outputs(case, reference.run(bundle, inputs_of(case)))


@pytest.mark.parametrize("case", INDEX["damaged"], ids=lambda case: case["file"])
def test_damaged_bundles_are_refused_by_their_rule(case: dict[str, str]) -> None:
    path: Path = conformance.FOLDER / case["file"]
    with pytest.raises(BundleError) as caught:
        bundles.read(path)
    assert caught.value.rule == case["rule"]
    assert str(caught.value).endswith(f" (rule: {case['rule']})")
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
