"""Shaders with their own rounding, for drivers that truncate in stores, are as exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from layer_check import TOLERANCE, exact_steps, gpu_steps
from tiny import tiny_bundle, tiny_picture

from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.gl.rounding import ROUND_STORES
from glsl_infer.graph import reference
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers


@pytest.fixture
def told(context: Context) -> Iterator[Context]:
    """The context, configured as if its stores did not round to nearest."""
    before = driver_of(context).rounds_stores
    driver_of(context).__dict__["rounds_stores"] = True
    assert driver_of(context).device_lines.startswith(ROUND_STORES)
    yield context
    driver_of(context).__dict__["rounds_stores"] = before


def test_every_layer_is_exact(told: Context) -> None:
    made = tiny_bundle()
    picture = tiny_picture(1)
    values = dict(reference.layers(made, picture))
    values[made.graph.input.name] = picture / 255.0
    with Session(made, context=told, selfcheck=True) as session:
        for node in made.graph.nodes[1:]:
            inputs = [values[name] for name in node.inputs]
            difference = np.abs(gpu_steps(session, node.name, inputs) - exact_steps(made, node, inputs)).max()
            assert difference <= TOLERANCE, (node.name, difference)


def test_the_line_reaches_the_shaders(told: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[bytes] = []
    start = Objects.start_program
    monkeypatch.setattr(Objects, "start_program", lambda self, v, f, a: sources.append(f) or start(self, v, f, a))
    with Session(tiny_bundle(), context=told):
        pass
    assert len(sources) == len(tiny_bundle().manifest.programs)
    for source in sources:
        lines = source.decode().splitlines()
        assert lines[0] == "#version 100"
        assert "#define ROUND_STORES" in lines
