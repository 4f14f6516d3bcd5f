"""The bundle format in Java: its words, the sound bundles of tests/conformance, and the broken rule of damaged ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance_files import FOLDER, INDEX, check_outputs, inputs_of
from jvm import Jvm, argb
from numpy.typing import NDArray
from phone import ROOT

from glsl_infer import bundle as bundles
from glsl_infer.bundle import format_constants


@pytest.mark.parametrize("case", INDEX["sound"], ids=lambda case: case["file"])
def test_sound_bundles_compute_the_expected_outputs(runner: Jvm, tmp_path: Path, case: dict[str, Any]) -> None:
    shapes = {item.name: item.shape for item in bundles.read(FOLDER / case["file"]).manifest.inputs}
    inputs = {
        name: array if array.shape == shapes[name] else any_size(array) for name, array in inputs_of(case).items()
    }
    check_outputs(case, runner.frame(FOLDER / case["file"], inputs, tmp_path))
    runner.json("check", FOLDER / case["file"])


def test_parts_are_refused_by_their_operators(runner: Jvm) -> None:
    (case,) = INDEX["parts"]
    (line,) = runner.verdicts([FOLDER / case["file"]])
    assert f"has layers for the CPU ({', '.join(case['operators'])}), which this runner cannot compute" in line
    assert line.endswith("(rule: parts)")


def any_size(pixels: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return an image, uint8 (height, width, channels), in Android's format, which is not the model's."""
    channels = pixels.shape[-1]
    colours = pixels[..., :3] if channels > 1 else np.repeat(pixels, 3, axis=-1)
    alpha = pixels[..., 3:] if channels == 4 else np.full_like(pixels[..., :1], 255)
    return argb(np.concatenate([colours, alpha], axis=-1))


def test_damaged_bundles_are_refused_by_their_rule(runner: Jvm) -> None:
    """Each message ends with the index's rule for the bundle."""
    files = [FOLDER / case["file"] for case in INDEX["damaged"]]
    verdicts = dict(zip((path.name for path in files), runner.verdicts(files)))
    assert len(verdicts) > 60
    rules = {case["file"]: case["rule"] for case in INDEX["damaged"]}
    assert {name: line.rpartition(" (rule: ")[2].removesuffix(")") for name, line in verdicts.items()} == rules


SOURCES = ROOT / "android" / "runner" / "src" / "main" / "java" / "glslinfer" / "runner"


@pytest.mark.parametrize(
    "name, pattern, words",
    [
        ("Rule", r'^    [A-Z_]+\("([^"]+)"\)[,;]', [rule for rule in format_constants.RULES if rule != "graph"]),
        ("Fit", r'^    [A-Z_]+\("([^"]+)"\)[,;]', format_constants.FITS),
        ("HostStep", r'^    static final String [A-Z]+ = "([^"]+)";', format_constants.HOST_STEPS),
        ("Output", r'^    static final String [A-Z]+ = "([^"]+)";', format_constants.PURPOSES),
        ("Input", r'^    static final String [A-Z]+ = "([^"]+)";', format_constants.INPUT_KINDS),
        ("Program", r'^        static final String [A-Z]+ = "([^"]+)";', format_constants.TEXTURE_KINDS),
    ],
)
def test_java_has_the_words_of_the_format(name: str, pattern: str, words: list[str]) -> None:
    text = (SOURCES / f"{name}.java").read_text("utf-8")
    assert re.findall(pattern, text, re.MULTILINE) == list(words)
