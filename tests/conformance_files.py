"""The raw files of tests/conformance, read as in docs/reference/bundle-format.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parent / "conformance"
INDEX: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "index.json").read_text("utf-8"))


def array_of(tensor: dict[str, Any]) -> NDArray[Any]:
    """Return the array of an input or output in the index."""
    values = np.dtype(np.uint8 if tensor["file"].endswith(".u8") else "<f4")
    return np.frombuffer((FOLDER / tensor["file"]).read_bytes(), values).reshape(tensor["shape"])


def inputs_of(case: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the inputs of a sound bundle by name."""
    return {input["name"]: array_of(input) for input in case["inputs"]}


def check_outputs(case: dict[str, Any], results: dict[str, NDArray[Any]]) -> None:
    """Compare results with those of a sound bundle: all but ``differing`` values must be within the tolerance."""
    assert list(results) == [expected["name"] for expected in case["outputs"]]
    for expected in case["outputs"]:
        reference_output, result = array_of(expected), results[expected["name"]]
        assert result.shape == reference_output.shape
        beyond = int((np.abs(result.astype(np.float64) - reference_output) > expected["tolerance"]).sum())
        assert beyond <= expected["differing"], f"{expected['name']}: {beyond} numbers are off"
