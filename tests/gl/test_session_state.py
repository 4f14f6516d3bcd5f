"""A session keeps the state of a model between calls, by names of inputs and outputs, as in the reference's example."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx_networks
import pytest
from pages import ROOT

from glsl_infer.compiler.build import Options
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.tools.export import export

EXAMPLE = re.search(
    r"### Models with a state\n.*?^```python\n(.*?)^```$",
    (ROOT / "docs/reference/python.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that returns the mean of a chunk of sound plus its memory, and keeps half of each value as its memory."""
    made = onnx_networks.File(0)
    x, state = made.input((1, 512), "input"), made.input((2, 1, 4), "state")
    memory = made.op("Reshape", [state, made.constant([1, 8], "int64")], (1, 8))
    new = made.op("MatMul", [x, made.constant(np.full((512, 8), 1.0 / 512))], (1, 8))
    total = made.op("Add", [new, memory], (1, 8))
    half = made.op("Mul", [total, made.constant(0.5)], (1, 8))
    again = made.op("Reshape", [half, made.constant([2, 1, 4], "int64")], (2, 1, 4))
    for name, tensor in (("output", made.op("ReduceMean", [total], (1, 1), axes=[1])), ("stateN", again)):
        made.nodes.append(onnx_networks.helper.make_node("Identity", [tensor], [name]))
        made.outputs.append(onnx_networks.onnx.ValueInfoProto(name=name))
    folder = tmp_path_factory.mktemp("state")
    onnx_networks.onnx.save(made.model(), folder / "voice.onnx")
    rng = np.random.default_rng(1)
    for number in range(16):
        given = {"input": rng.uniform(0, 1, 512), "state": rng.uniform(0, 1, (2, 1, 4))}
        np.savez(folder / f"{number}.npz", **{name: value.astype(np.float32) for name, value in given.items()})
    options = Options(input_ranges={"input": (0.0, 1.0), "state": (0.0, 1.0)}, purposes={"output": "values"})
    export(folder / "voice.onnx", folder / "voice.glslnn", options=options, calibration=sorted(folder.glob("*.npz")))
    return folder / "voice.glslnn"


LEVELS = (0.75, 0.25, 0.5, 0.0)


def expected() -> list[float]:
    values, state = [], 0.0
    for level in LEVELS:
        values.append(level + state)
        state = values[-1] / 2
    return values


def test_a_session_gives_an_output_to_the_next_frame(path: Path, context: Context) -> None:
    chunks = [np.full(512, level, np.float32) for level in LEVELS]
    with Session(path, context=context, state={"state": "stateN"}) as session:
        found = [session.run(chunk).item() for chunk in chunks]
        assert found == pytest.approx(expected(), abs=0.02)
        assert session.state.values["state"].mean() == pytest.approx(expected()[-1] / 2, abs=0.02)
        session.state.reset()
        assert [answer.item() for answer in session.stream(chunks)] == pytest.approx(expected(), abs=0.02)
        session.state.values["state"] = np.full((2, 1, 4), 0.5, np.float32)
        named = session.run({"input": chunks[1]})
        assert set(named) == {"output", "stateN"} and named["output"].item() == pytest.approx(0.75, abs=0.02)
        given = session.run({"input": chunks[1], "state": np.zeros((2, 1, 4), np.float32)})
        assert given["output"].item() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"stat": "stateN"}, "the model has no input 'stat' .did you mean state"),
        ({"state": "next"}, "the model has no output 'next'"),
        ({"input": "stateN"}, r"input 'input' has the shape \(512,\), and output 'stateN' \(2, 4\)"),
    ],
)
def test_a_state_that_the_model_has_not(path: Path, context: Context, state: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Session(path, context=context, state=state)


def test_the_example_of_the_reference_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert EXAMPLE is not None
    monkeypatch.chdir(path.parent)
    exec(EXAMPLE.group(1), {"sound": np.full(512 * 3, 0.5, np.float32)})
    printed = [float(line.strip("[]")) for line in capsys.readouterr().out.splitlines()]
    assert printed == pytest.approx([0.5, 0.75, 0.875], abs=0.02)
