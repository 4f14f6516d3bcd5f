"""The costs in ``glsl-infer get`` for a Pi Zero W match the counts of the networks' bundles."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from glsl_infer.tools.get import catalogue, exporting
from glsl_infer.tools.videocore import Driver

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/bench"))

from catalogue_ranges import milliseconds


@pytest.mark.parametrize("name", ["face-detection", "face-mesh"])  # the others take a minute each
def test_the_milliseconds_of_the_catalogue_are_the_estimates(name: str, driver: Driver) -> None:
    model = catalogue.read()[name]
    if not exporting.kept_file(model).is_file():
        pytest.skip(f"not fetched: glsl-infer get {name}")
    assert model.zero_ms == milliseconds(model)
