"""Random shaders that the checker accepts do nothing that the checker excludes; a sample of `make sweep`."""

from __future__ import annotations

import pytest
import shader_values
from hostile_shaders import FOLLOWED, HEAD

from glsl_infer.bundle.shader_check import Shader


def test_a_sample_of_random_shaders() -> None:
    report = shader_values.check(seed=0, programs=150, seconds=3600.0)
    assert report["findings"] == []
    assert report["accepted"] > 20, "they are too wild to tell anything"


HARM = [
    "assigned in no turn",
    "assigned after a break",
    "infinite difference",
    "constants multiplied first",
    "assigned in one side of a choice",
    "turns of another coordinate",
]


@pytest.mark.parametrize("case", HARM)
def test_the_virtual_machine_finds_harm(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The virtual machine finds the harm in refused texts if the checker accepts them."""
    monkeypatch.setattr(shader_values, "parse", lambda *_: Shader(executed=1 << 16))
    before, lines = FOLLOWED[case]
    text = f"{HEAD}{before}void main() {{\n{lines}\ngl_FragColor = coord0;\n}}\n"
    assert shader_values.judge(text, 0).startswith(("NaN is a coordinate", "'u' is", "'g' is", "more operations"))
