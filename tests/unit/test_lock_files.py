"""constraints.txt and the lock files of npm: one version of each requirement, and hashes without a registry."""

from __future__ import annotations

import json
import re
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pages import ROOT

REQUIREMENTS = [
    Requirement(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line[0] != "#"
]


@pytest.mark.parametrize("python", ["3.9", "3.11", "3.13"])
def test_every_requirement_has_one_version(python: str) -> None:
    machine = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    machine.update(platform_machine="x86_64", platform_python_implementation="CPython", implementation_name="cpython")
    versions: dict[str, list[str]] = {}
    for requirement in REQUIREMENTS:
        if requirement.marker is None or requirement.marker.evaluate(machine):
            versions.setdefault(canonicalize_name(requirement.name), []).append(str(requirement.specifier))
    for text in requires("glsl-infer") or []:
        expected = Requirement(re.sub(r"""(and )?extra == ['"][^'"]*['"]""", "", text).rstrip("; "))
        if expected.name != "glsl-infer" and (expected.marker is None or expected.marker.evaluate(machine)):
            (version,) = versions[canonicalize_name(expected.name)]
            assert expected.specifier.contains(version.removeprefix("=="))


@pytest.mark.parametrize("folder", ["web", "web/tfjs"])
def test_lock_files_have_hashes_and_no_registry(folder: str) -> None:
    lock = json.loads((ROOT / folder / "package-lock.json").read_text("utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    for name, package in packages.items():
        assert "resolved" not in package, f"{name}: run npm in {folder}, whose .npmrc leaves addresses out"
        assert package["integrity"].startswith("sha512-"), name
