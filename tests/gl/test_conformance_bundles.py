"""The sound bundles of tests/conformance on the GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

FOLDER = Path(__file__).resolve().parents[1] / "conformance"
SOUND = json.loads((FOLDER / "index.json").read_text("utf-8"))["sound"]


@pytest.mark.parametrize("entry", SOUND, ids=lambda entry: entry["file"])
def test_sound(context: Context, entry: dict[str, Any]) -> None:
    picture = np.frombuffer((FOLDER / entry["picture"]).read_bytes(), np.uint8)
    with Session(FOLDER / entry["file"], context=context, selfcheck=True) as session:
        output = session.run(picture.reshape(entry["size"], entry["size"], 3))
    np.testing.assert_allclose(output.ravel(), entry["output"], atol=entry["tolerance"])
