"""The Java runner computes the sound bundles of tests/conformance, and names the broken rule of each damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance_files import FOLDER, INDEX, check_outputs, inputs_of
from jvm import Jvm, argb
from numpy.typing import NDArray

from glsl_infer import bundle as bundles


@pytest.mark.parametrize("entry", INDEX["sound"], ids=lambda entry: entry["file"])
def test_sound_bundles_compute_the_expected_outputs(runner: Jvm, tmp_path: Path, entry: dict[str, Any]) -> None:
    shapes = {item.name: item.shape for item in bundles.read(FOLDER / entry["file"]).manifest.inputs}
    inputs = {
        name: array if array.shape == shapes[name] else any_size(array) for name, array in inputs_of(entry).items()
    }
    check_outputs(entry, runner.frame(FOLDER / entry["file"], inputs, tmp_path))
    runner.json("check", FOLDER / entry["file"])


def test_parts_are_refused_by_their_operators(runner: Jvm) -> None:
    (entry,) = INDEX["parts"]
    (line,) = runner.verdicts([FOLDER / entry["file"]])
    assert f"has layers for the CPU ({', '.join(entry['operators'])}), which this runner cannot compute" in line
    assert line.endswith("(rule: parts)")


def any_size(pixels: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return an image, uint8 (height, width, channels), in Android's format, which is not the model's."""
    channels = pixels.shape[-1]
    colours = pixels[..., :3] if channels > 1 else np.repeat(pixels, 3, axis=-1)
    alpha = pixels[..., 3:] if channels == 4 else np.full_like(pixels[..., :1], 255)
    return argb(np.concatenate([colours, alpha], axis=-1))


def test_damaged_bundles_are_refused_by_their_rule(runner: Jvm) -> None:
    """Each message ends with the index's rule for the bundle."""
    files = [FOLDER / entry["file"] for entry in INDEX["damaged"]]
    verdicts = dict(zip((path.name for path in files), runner.verdicts(files)))
    assert len(verdicts) > 60
    rules = {entry["file"]: entry["rule"] for entry in INDEX["damaged"]}
    assert {name: line.rpartition(" (rule: ")[2].removesuffix(")") for name, line in verdicts.items()} == rules
