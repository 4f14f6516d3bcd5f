"""constraints.txt has a version of every required package, for each supported Python."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LINES = [Requirement(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line[0] != "#"]


@pytest.mark.parametrize("python", ["3.9", "3.11", "3.13"])
def test_every_requirement_has_one_version(python: str) -> None:
    machine = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    machine.update(platform_machine="x86_64", platform_python_implementation="CPython", implementation_name="cpython")
    versions: dict[str, list[str]] = {}
    for line in LINES:
        if line.marker is None or line.marker.evaluate(machine):
            versions.setdefault(canonicalize_name(line.name), []).append(str(line.specifier))
    for text in requires("glsl-infer") or []:
        expected = Requirement(re.sub(r"""(and )?extra == ['"][^'"]*['"]""", "", text).rstrip("; "))
        if expected.name != "glsl-infer" and (expected.marker is None or expected.marker.evaluate(machine)):
            (version,) = versions[canonicalize_name(expected.name)]
            assert expected.specifier.contains(version.removeprefix("=="))
