"""Untrusted JSON: integers of hundreds of digits exceed a float, and every JSON reader refuses them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiny

from glsl_infer.bundle import container
from glsl_infer.cli.number_files import as_json, read_input
from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.support import json_text
from glsl_infer.tasks import reading
from glsl_infer.tools import ranges_file

BIG = "1" + "0" * 400
RANGES = '{"format": "glsl-infer ranges", "version": 1, "model": "m", "fingerprint": "f", '


@pytest.mark.parametrize("digits", [1, 299])
def test_whole_numbers(digits: int) -> None:
    assert json_text.loads("1" + "0" * digits) == 10**digits


@pytest.mark.parametrize(
    "text",
    [
        RANGES + f'"scales": {{"a": {BIG}}}, "maps": {{}}, "fine": {{}}}}',
        RANGES + f'"scales": {{}}, "maps": {{"a": {{"scales": [{BIG}], "zeros": [0]}}}}, "fine": {{}}}}',
        RANGES + f'"scales": {{}}, "maps": {{"a": {{"scales": [1.0], "zeros": [{BIG}]}}}}, "fine": {{}}}}',
    ],
)
def test_a_damaged_file_of_ranges_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "ranges.json").write_text(text)
    with pytest.raises(InputError, match=r"ranges\.json"):
        ranges_file.read(tmp_path / "ranges.json")


def test_a_task(tmp_path: Path) -> None:
    data = json.loads((reading.FOLDER / "faces.json").read_text())
    (tmp_path / "task.json").write_text(json.dumps({**data, "threshold": int(BIG)}))
    with pytest.raises(InputError, match="a whole number of 401 digits"):
        reading.read(tmp_path / "task.json")


def test_a_manifest() -> None:
    with pytest.raises(GlslInferError, match=r"manifest\.json"):
        container.parse(f'{{"a": {BIG}}}'.encode(), "manifest.json")


@pytest.mark.parametrize("text", [f"[{BIG}]", '{"a": 1}', '["x"]', "[" * 100_000, "[[1], 2]"])
def test_numbers_of_an_input(text: str, tmp_path: Path) -> None:
    entry = tiny.tiny_bundle().manifest.inputs[0]
    (tmp_path / "in.json").write_text(text)
    with pytest.raises(InputError, match=r"in.json: (does not contain numbers|input)"):
        read_input(tmp_path / "in.json", entry if entry.kind != "picture" else _numbers(entry))


def test_nan_and_infinity_become_null() -> None:
    """A CPU part can output NaN, which only Python's JSON reader accepts."""
    for result in (np.array([[1.5, np.nan], [-np.inf, 0]], np.float32), np.array(np.nan), np.array([1.0, 2.0])):
        text = json.dumps(as_json({"a": result}), allow_nan=False)
        expected = [None if not np.isfinite(value) else value for value in result.ravel()]
        values = np.array(json.loads(text)["a"]["numbers"], object).ravel().tolist()
        assert values == expected


def _numbers(entry: object) -> object:
    from dataclasses import replace

    from glsl_infer.bundle.manifest import NUMBERS

    return replace(entry, kind=NUMBERS)  # type: ignore[type-var]
