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
def test_the_folder_equals_the_output_of_its_script() -> None:
    files = conformance.files()
    assert sorted(files) == sorted(path.name for path in conformance.FOLDER.iterdir())
    stored = {name: (conformance.FOLDER / name).read_bytes() for name in files}
    different = {name for name, data in files.items() if stored[name] != data}
    assert [name for name in different if not CALIBRATED.fullmatch(name)] == []
    for name in different:
        written, expected = (zipfile.ZipFile(io.BytesIO(data)) for data in (files[name], stored[name]))
        assert written.namelist() == expected.namelist()
        assert alike(json.loads(written.read("graph.json")), json.loads(expected.read("graph.json")))
        shaders = [member for member in written.namelist() if member.startswith("shaders/")]
        assert shaders and all(written.read(member) == expected.read(member) for member in shaders)


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
