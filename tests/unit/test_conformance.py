"""The corpus of tests/conformance matches its script, and the reader accepts and refuses the right files."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import conformance
import pytest
from conformance_files import INDEX, array_of, check_outputs, inputs_of

from glsl_infer import bundle as bundles
from glsl_infer.errors import BundleError
from glsl_infer.graph import reference
from glsl_infer.runtime.pictures.preprocess import load_for

CALIBRATED = re.compile(r"ranges-\w+\.glslnn")
"""Files with calibrated ranges. Another CPU adds in another order, so the last bits can differ."""


@pytest.mark.slow
def test_the_folder_is_what_the_script_writes() -> None:
    files = conformance.files()
    assert sorted(files) == sorted(path.name for path in conformance.FOLDER.iterdir())
    stored = {name: (conformance.FOLDER / name).read_bytes() for name in files}
    different = {name for name, data in files.items() if stored[name] != data}
    assert [name for name in different if not CALIBRATED.fullmatch(name)] == []
    for name in different:
        one, other = (zipfile.ZipFile(io.BytesIO(data)) for data in (files[name], stored[name]))
        assert one.namelist() == other.namelist()
        assert alike(json.loads(one.read("graph.json")), json.loads(other.read("graph.json")))
        shaders = [member for member in one.namelist() if member.startswith("shaders/")]
        assert shaders and all(one.read(member) == other.read(member) for member in shaders)


def alike(one: Any, other: Any) -> bool:
    """Return whether JSON values are equal up to the last bits of floats."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5)
    return bool(one == other)


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in conformance.FOLDER.iterdir()) < 5 << 19


@pytest.mark.parametrize("entry", INDEX["sound"], ids=lambda entry: entry["file"])
def test_sound_bundles_compute_the_expected_outputs(entry: dict[str, Any]) -> None:
    bundle = bundles.read(conformance.FOLDER / str(entry["file"]))
    if str(entry["file"]).startswith(conformance.TOMORROW):
        with pytest.raises(BundleError, match="layer 'conv'"):
            _ = bundle.graph
        return
    inputs = inputs_of(entry)
    if any(array.shape != described.shape for array, described in zip(inputs.values(), bundle.manifest.inputs)):
        inputs = {input.name: load_for(inputs[input.name], input) for input in bundle.manifest.inputs}
    results = reference.run(bundle, inputs)
    check_outputs(entry, results)
    for expected in entry["outputs"]:
        assert (results[expected["name"]] == array_of(expected)).all()


@pytest.mark.parametrize("entry", INDEX["parts"], ids=lambda entry: entry["file"])
def test_bundles_of_parts_compute_the_expected_outputs(entry: dict[str, Any]) -> None:
    bundle = bundles.read(conformance.FOLDER / str(entry["file"]))
    assert list(bundle.cpu_operators) == entry["operators"]
    check_outputs(entry, reference.run(bundle, inputs_of(entry)))


@pytest.mark.parametrize("entry", INDEX["damaged"], ids=lambda entry: entry["file"])
def test_damaged_bundles_are_refused_by_their_rule(entry: dict[str, str]) -> None:
    path: Path = conformance.FOLDER / entry["file"]
    with pytest.raises(BundleError) as caught:
        bundles.read(path)
    assert caught.value.rule == entry["rule"]
    assert str(caught.value).endswith(f" (rule: {entry['rule']})")
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
