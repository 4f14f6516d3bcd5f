"""Sessions: results, errors, state, several at once, and opening and closing without leaks."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Union

import numpy as np
import onnx_networks
import pytest
from gl_objects import live_object_count
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle
from pages import ROOT
from tiny import tiny_picture, write_tiny

from glsl_infer.bundle import Bundle
from glsl_infer.errors import BundleError, ContextError, ImageError, InputError, RunError
from glsl_infer.gl.context import Context
from glsl_infer.gl.limits import describe
from glsl_infer.graph import Graph, reference
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.runtime import opening
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.session import Session
from glsl_infer.support.stopwatch import Stopwatch
from glsl_infer.tools.export import export


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    rng = np.random.default_rng(0)
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 12, kernel=(3, 3), padding=(1, 1, 1, 1)),
        conv_node(rng, "body", ("stem",), 12, 12, kernel=(3, 3), groups=3, padding=(1, 1, 1, 1)),
    ]
    return make_bundle(classifier(rng, body, 12, classes=5), "uniform")


def picture(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (9, 9, 3), np.uint8)


@pytest.mark.drivers("all")
def test_logits_are_the_references(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context) as session:
        for seed in range(3):
            logits = session.run(picture(seed))
            assert logits.dtype == np.float32
            assert logits.shape == (5,)
            np.testing.assert_allclose(logits, reference.run(bundle, picture(seed)), atol=0.05)


@pytest.mark.drivers("all")
def test_the_same_picture_gives_the_same_logits_after_others(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context) as session:
        first = session.run(picture(0))
        assert not np.array_equal(session.run(picture(1)), first)
        assert np.array_equal(session.run(picture(0)), first)


@pytest.mark.drivers("all")
def test_layers_yields_every_layer_with_the_references_values(context: Context, bundle: Bundle) -> None:
    expected = dict(reference.layers(bundle, picture()))
    with Session(bundle, context=context) as session:
        values = dict(session.layers(picture()))
    assert list(values) == list(expected)
    for name, value in values.items():
        assert value.shape == expected[name].shape
        if bundle.graph.by_name[name].op == "conv2d":
            assert np.abs(value - expected[name]).max() <= 3 / 255


@pytest.mark.drivers("all")
def test_layers_can_be_mixed_with_other_calls(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context) as session, Session(bundle, context=context) as other:
        expected = dict(session.layers(picture()))
        for name, value in session.layers(picture()):
            other.run(picture(1))
            np.testing.assert_array_equal(value, expected[name])


@pytest.mark.drivers("all")
@pytest.mark.parametrize(
    "image",
    [np.zeros((9, 9, 3)), np.zeros((9, 9, 4), np.uint8), np.zeros((9, 0, 3), np.uint8), [[1]], None],
    ids=["float", "rgba", "empty", "list", "none"],
)
def test_wrong_pictures_are_refused(context: Context, bundle: Bundle, image: object) -> None:
    with Session(bundle, context=context) as session, pytest.raises(ImageError, match=r"uint8 \(9, 9, 3\)"):
        session.run(image)  # type: ignore[arg-type]


@pytest.mark.drivers("all")
def test_wrong_layer_arguments_are_refused(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context) as session:
        with pytest.raises(InputError, match="'nope'"):
            session.run_layer("nope", [])
        with pytest.raises(InputError, match="has 1 inputs"):
            session.run_layer("body", [])
        with pytest.raises(InputError, match=r"give numbers of shape \(9, 9, 12\)"):
            session.run_layer("body", [np.zeros((9, 9, 4))])


@pytest.mark.drivers("all")
def test_closing_frees_every_gl_object(bundle: Bundle) -> None:
    with Context() as fresh:  # a new context numbers its objects from 1
        before = live_object_count(fresh.gl)
        session = Session(bundle, context=fresh, selfcheck=True)
        session.run(picture())
        assert live_object_count(fresh.gl) > before + 10
        session.close()
        session.close()
        assert live_object_count(fresh.gl) == before
        with pytest.raises(RunError, match="closed"):
            session.run(picture())


@pytest.mark.drivers("all")
def test_a_failed_start_frees_its_gl_objects(context: Context, bundle: Bundle) -> None:
    broken = dict(bundle.members)
    fragment = bundle.manifest.programs[-1].fragment
    broken[fragment] = b"void main() { nonsense; }\n"
    with pytest.raises(RunError, match=r"layer 'dense'.*refuses the fragment shader(.|\n)*nonsense"):
        Session(Bundle(bundle.manifest, broken), context=context)
    context.make_current()
    assert not any(context.gl.IsTexture(name) for name in range(1, 500))


@pytest.mark.drivers("all")
def test_two_sessions_in_two_contexts_take_turns(bundle: Bundle) -> None:
    with Session(bundle) as session, Session(bundle) as other:
        assert np.array_equal(session.run(picture(0)), other.run(picture(0)))
        assert np.array_equal(session.run(picture(1)), other.run(picture(1)))


@pytest.mark.drivers("all")
def test_two_sessions_share_a_context(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context) as session, Session(bundle, context=context) as other:
        first = session.run(picture(0))
        other.run(picture(1))
        assert np.array_equal(session.run(picture(0)), first)


@pytest.mark.drivers("all")
def test_describing_the_driver_does_not_disturb_a_session(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context) as session:
        before = session.run(picture(0))
        describe(context)
        assert np.array_equal(session.run(picture(0)), before)


@pytest.mark.drivers("all")
def test_another_thread_gets_a_clear_error(bundle: Bundle) -> None:
    errors: list[BaseException] = []

    def use(session: Session) -> None:
        try:
            session.run(picture())
        except ContextError as error:
            errors.append(error)

    with Session(bundle) as session:
        session.run(picture())
        thread = threading.Thread(target=use, args=(session,))
        thread.start()
        thread.join()
    assert "give each thread its own Session" in str(errors[0])


@pytest.mark.drivers("all")
def test_statistics_count_the_frame(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context) as session:
        counts = session.statistics()
    assert counts.passes == 3 + 3 + 2 + 1
    assert counts.jobs == 4
    assert counts.programs == len(bundle.manifest.programs)
    assert counts.texture_bytes == sum(4 * t.width * t.height for t in bundle.manifest.textures)
    # Each job binds and clears, each pass draws, and programs and textures change a few times.
    assert 2 * counts.jobs + counts.passes < counts.gl_calls < 80


@pytest.mark.drivers("all")
def test_a_model_with_images_as_outputs_is_refused_as_classifier(context: Context) -> None:
    rng = np.random.default_rng(0)
    image = make_bundle(Graph("g", (input_node(5), conv_node(rng, "c", ("image",), 3, 3)), "c"))
    with pytest.raises(InputError, match="is not a classifier: none of its outputs has classes; use glsl-infer run"):
        Classifier(image, context=context)


EXAMPLE = re.search(
    r"### Models with a state\n.*?^```python\n(.*?)^```$",
    (ROOT / "docs/reference/python.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that returns the mean of a chunk of sound plus its memory, and keeps half of each value as its memory."""
    file = onnx_networks.File(0)
    x, state = file.input((1, 512), "input"), file.input((2, 1, 4), "state")
    memory = file.op("Reshape", [state, file.constant([1, 8], "int64")], (1, 8))
    new = file.op("MatMul", [x, file.constant(np.full((512, 8), 1.0 / 512))], (1, 8))
    total = file.op("Add", [new, memory], (1, 8))
    half = file.op("Mul", [total, file.constant(0.5)], (1, 8))
    reshaped = file.op("Reshape", [half, file.constant([2, 1, 4], "int64")], (2, 1, 4))
    for name, tensor in (("output", file.op("ReduceMean", [total], (1, 1), axes=[1])), ("stateN", reshaped)):
        file.nodes.append(onnx_networks.helper.make_node("Identity", [tensor], [name]))
        file.outputs.append(onnx_networks.onnx.ValueInfoProto(name=name))
    folder = tmp_path_factory.mktemp("state")
    onnx_networks.onnx.save(file.model(), folder / "voice.onnx")
    rng = np.random.default_rng(1)
    for index in range(16):
        values = {"input": rng.uniform(0, 1, 512), "state": rng.uniform(0, 1, (2, 1, 4))}
        np.savez(folder / f"{index}.npz", **{name: value.astype(np.float32) for name, value in values.items()})
    io_options = IoOptions(ranges={"input": (0.0, 1.0), "state": (0.0, 1.0)}, purposes={"output": "values"})
    export(
        folder / "voice.onnx", folder / "voice.glslnn", io_options=io_options, calibration=sorted(folder.glob("*.npz"))
    )
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
        results = [session.run(chunk).item() for chunk in chunks]
        assert results == pytest.approx(expected(), abs=0.02)
        assert session.state.values["state"].mean() == pytest.approx(expected()[-1] / 2, abs=0.02)
        session.state.reset()
        assert [answer.item() for answer in session.stream(chunks)] == pytest.approx(expected(), abs=0.02)
        session.state.values["state"] = np.full((2, 1, 4), 0.5, np.float32)
        named = session.run({"input": chunks[1]})
        assert set(named) == {"output", "stateN"} and named["output"].item() == pytest.approx(0.75, abs=0.02)
        outputs = session.run({"input": chunks[1], "state": np.zeros((2, 1, 4), np.float32)})
        assert outputs["output"].item() == pytest.approx(0.25, abs=0.02)


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


ENOUGH = 60.0
"""Seconds to wait for another thread, which needs far less."""


@pytest.mark.drivers("all")
def test_a_session_reads_and_starts_its_context_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny(tmp_path)
    begun, reading = threading.Event(), threading.Event()
    read, readers = opening.read_bundle, []

    def read_later(path: Union[str, Path]) -> Bundle:
        readers.append(threading.current_thread())
        reading.set()
        assert begun.wait(ENOUGH), "the context is made only when the file has been read"
        return read(path)

    class ObservedContext(Context):
        def __init__(self, choice: str) -> None:
            begun.set()
            assert reading.wait(ENOUGH), "the file is read only when the context has been made"
            super().__init__(choice)

    monkeypatch.setattr(opening, "read_bundle", read_later)
    monkeypatch.setattr(opening, "Context", ObservedContext)
    with Session(path, cache=False) as session:
        assert session.bundle == read(path)
        assert session.context.native.is_current(), "in the thread that made the session"
        assert session.run(tiny_picture(1)).size
        assert list(session.start_up)[:2] == ["context", "bundle"]
    assert readers != [threading.current_thread()]
    assert not any(reader.is_alive() for reader in readers)


@pytest.mark.drivers("all")
def test_a_bad_file_leaves_no_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts: list[Context] = []

    class ObservedContext(Context):
        def __init__(self, choice: str) -> None:
            super().__init__(choice)
            contexts.append(self)

    monkeypatch.setattr(opening, "Context", ObservedContext)
    (tmp_path / "bad.glslnn").write_bytes(b"no zip")
    with pytest.raises(BundleError, match="not a glsl-infer model"):
        opening.read_with_context(tmp_path / "bad.glslnn", "auto", Stopwatch())
    assert len(contexts) == 1
    with pytest.raises(ContextError, match="is closed"):
        contexts[0].make_current()


@pytest.mark.drivers("all")
def test_a_bad_file_is_reported_before_a_missing_driver(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no such file"):
        Session(tmp_path / "nowhere.glslnn", context="magic")
    with pytest.raises(ContextError, match="'magic'"):
        Session(write_tiny(tmp_path), context="magic")


@pytest.mark.drivers("all")
def test_a_classifier_does_so_as_well(tmp_path: Path) -> None:
    with Classifier(write_tiny(tmp_path)) as classifier:
        assert list(classifier.session.start_up)[:2] == ["context", "bundle"]
        assert classifier.labels
