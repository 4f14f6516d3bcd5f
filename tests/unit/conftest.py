"""Fixtures shared by the unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from PIL import Image


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    Image.new("RGB", (6, 4)).save(path)
    return path


@pytest.fixture
def export_arguments(tmp_path: Path) -> dict[str, Path]:
    """Return valid arguments of export, except for an invalid model file."""
    model, labels = tmp_path / "model.keras", tmp_path / "labels.txt"
    model.write_bytes(b"not loaded in these tests")
    labels.write_text("a\nb\n")
    return {"model": model, "-o": tmp_path / "out.glslnn", "--labels": labels}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny.write_tiny(tmp_path_factory.mktemp("good")).read_bytes()
