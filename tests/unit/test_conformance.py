"""The corpus of tests/conformance: it is what its script writes, and the reader takes and refuses what it should."""

from __future__ import annotations

import json
from pathlib import Path

import conformance
import numpy as np
import pytest

from glsl_infer import bundle as bundles
from glsl_infer.errors import BundleError
from glsl_infer.graph import reference

INDEX = json.loads((conformance.FOLDER / conformance.INDEX).read_text("utf-8"))


def picture_of(entry: dict[str, object]) -> np.ndarray:
    data = (conformance.FOLDER / str(entry["picture"])).read_bytes()
    return np.frombuffer(data, np.uint8).reshape(entry["size"], entry["size"], 3)


def test_the_folder_is_what_the_script_writes() -> None:
    made = conformance.files()
    assert sorted(made) == sorted(path.name for path in conformance.FOLDER.iterdir())
    assert [name for name, data in made.items() if (conformance.FOLDER / name).read_bytes() != data] == []


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in conformance.FOLDER.iterdir()) < 1 << 20


@pytest.mark.parametrize("entry", INDEX["sound"], ids=lambda entry: entry["file"])
def test_sound(entry: dict[str, object]) -> None:
    made = bundles.read(conformance.FOLDER / str(entry["file"]))
    if str(entry["file"]).startswith(conformance.TOMORROW):
        with pytest.raises(BundleError, match=r"layer 'conv': 'conv2d_of_tomorrow' is no operator of a bundle"):
            _ = made.graph
        return
    given = reference.run(made, picture_of(entry)).ravel()
    np.testing.assert_allclose(given, entry["output"], atol=1e-6)


@pytest.mark.parametrize("entry", INDEX["damaged"], ids=lambda entry: entry["file"])
def test_damaged(entry: dict[str, str]) -> None:
    path: Path = conformance.FOLDER / entry["file"]
    with pytest.raises(BundleError) as caught:
        bundles.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
