"""The words of the bundle format in Java match the single definition of all readers."""

from __future__ import annotations

import re

import pytest
from phone import ROOT

from glsl_infer.bundle import format_constants

FOLDER = ROOT / "android" / "runner" / "src" / "main" / "java" / "glslinfer" / "runner"


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
    text = (FOLDER / f"{name}.java").read_text("utf-8")
    assert re.findall(pattern, text, re.MULTILINE) == list(words)
