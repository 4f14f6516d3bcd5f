"""The constants of the three readers and the JSON Schema match format.json."""

from __future__ import annotations

import json
import sys

import jsonschema
import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts/build"))

import format_constants as script

from glsl_infer.bundle import format_constants
from glsl_infer.bundle.described import Described
from glsl_infer.bundle.manifest_json import OWN
from glsl_infer.errors import BundleError

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
        name: list(entry["keys"]) for name, entry in DATA["objects"].items()
    }


@pytest.mark.parametrize("name", DATA["objects"])
def test_every_type_has_a_schema(name: str) -> None:
    report = json.loads(script.schema_text(DATA))
    jsonschema.Draft202012Validator.check_schema(report)
    entry = report if name == "manifest" else report["$defs"][name]
    assert list(entry["properties"]) == list(DATA["objects"][name]["keys"])
    references = {word for word in json.dumps(report).split('"') if word.startswith("#/$defs/")}
    assert {reference.removeprefix("#/$defs/") for reference in references} <= set(report["$defs"])


@pytest.mark.parametrize("name", DATA["objects"])
def test_every_object_has_a_reader(name: str) -> None:
    """Each reader is generated from the description alone."""
    readers = Described({}, OWN)
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
