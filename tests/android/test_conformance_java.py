"""The Java runner computes the sound bundles of tests/conformance, and refuses each of the damaged ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jvm import Jvm

FOLDER = Path(__file__).resolve().parents[1] / "conformance"
INDEX = json.loads((FOLDER / "index.json").read_text("utf-8"))


@pytest.mark.parametrize("entry", INDEX["sound"], ids=lambda entry: entry["file"])
def test_sound(runner: Jvm, tmp_path: Path, entry: dict[str, Any]) -> None:
    picture = np.frombuffer((FOLDER / entry["picture"]).read_bytes(), np.uint8)
    outputs, _ = runner.run(FOLDER / entry["file"], picture.reshape(1, -1), tmp_path)
    np.testing.assert_allclose(outputs[0], entry["output"], atol=entry["tolerance"])
    runner.json("check", FOLDER / entry["file"])


def test_damaged(runner: Jvm) -> None:
    files = [FOLDER / entry["file"] for entry in INDEX["damaged"]]
    verdicts = dict(zip((path.name for path in files), runner.verdicts(files)))
    assert len(verdicts) > 40
    assert [name for name, line in verdicts.items() if not line] == []
