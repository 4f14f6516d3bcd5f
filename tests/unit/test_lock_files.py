"""npm lock files: packages by version and hash, from the machine's registry."""

from __future__ import annotations

import json

import pytest
from pages import ROOT


@pytest.mark.parametrize("folder", ["web", "web/tfjs"])
def test_lock_files_have_hashes_and_no_registry(folder: str) -> None:
    lock = json.loads((ROOT / folder / "package-lock.json").read_text("utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    for name, package in packages.items():
        assert "resolved" not in package, f"{name}: run npm in {folder}, whose .npmrc leaves addresses out"
        assert package["integrity"].startswith("sha512-"), name
