"""The self-check names the layer that a driver draws wrongly; the verdict says whose difference it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tiny
from faulty_driver import FaultyApi, LosesContext, MediumPrecision, OffByOnePixel, SkipsDraws, first_layer_of
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle
from tiny import tiny_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.errors import SelfCheckError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.runtime import selfcheck
from glsl_infer.runtime.selfcheck import SelfCheck
from glsl_infer.runtime.session import Session
from glsl_infer.tools.validate.measures import Agreement
from glsl_infer.tools.validate.verdict import Verdict, sentences


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    rng = np.random.default_rng(0)
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 12, kernel=(3, 3)),
        conv_node(rng, "body", ("stem",), 12, 12, kernel=(3, 3), groups=3),
    ]
    return make_bundle(classifier(rng, body, 12))


@pytest.mark.drivers
def test_a_sound_driver_passes_with_small_errors(context: Context, bundle: Bundle) -> None:
    with Session(bundle, context=context, selfcheck=True) as session:
        errors = session.selfcheck()
    assert [error.layer for error in errors] == ["stem", "body", "pool", "dense"]
    assert all(error.worst <= 1 for error in errors if error.layer in ("stem", "body"))


@pytest.mark.drivers
@pytest.mark.parametrize("layer", ["stem", "body", "pool", "dense"])
def test_a_skipped_draw_is_found(context: Context, bundle: Bundle, layer: str) -> None:
    with Session(bundle, context=context) as session:
        calls = session.gpu_executors[0]._prepared.layers[layer]
        draws = [index for index, (function, _) in enumerate(calls) if function.__name__ == "glDrawArrays"]
        del calls[draws[-1]]
        with pytest.raises(SelfCheckError, match=f"layer '{layer}'"):
            session.selfcheck()


@pytest.mark.drivers
def test_a_wrong_activation_is_found(context: Context, bundle: Bundle) -> None:
    members = dict(bundle.members)
    for program in bundle.manifest.programs:
        if program.name.startswith("body"):
            text = members[program.fragment].decode()
            assert "0.05 * x + 0.125" in text
            members[program.fragment] = text.replace("0.05 * x + 0.125", "0.05 * x + 0.135").encode()
    with pytest.raises(SelfCheckError, match="layer 'body'"):
        Session(Bundle(bundle.manifest, members), context=context, selfcheck=True)


@pytest.mark.drivers
def test_low_precision_is_found(context: Context, bundle: Bundle) -> None:
    if "llvmpipe" not in context.gl.text(GL.GL_RENDERER):
        return  # other drivers always compute at full precision, so there is nothing to find
    members = {name: data.replace(b"highp", b"lowp") for name, data in bundle.members.items()}
    with pytest.raises(SelfCheckError, match="layer '"):
        Session(Bundle(bundle.manifest, members), context=context, selfcheck=True)


LAYERS = ("stem", "expand", "unit-pw", "unit-dw", "pool", "dense")


def checked(faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch) -> SelfCheck:
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: faulty)
    with Context() as context, Session(tiny_bundle(), context=context) as session:
        return selfcheck.check(session)


def test_the_shim_without_faults_passes_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    optimized = checked(FaultyApi(), monkeypatch)
    assert optimized.wrong is None
    assert optimized.advice == ()
    assert len(optimized.layers) == len(tiny_bundle().manifest.probe.layers)


@pytest.mark.parametrize("layer", LAYERS)
def test_draws_skipped_in_silence(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    optimized = checked(SkipsDraws(text), monkeypatch)
    assert optimized.wrong == first
    assert optimized.stopped is None


def test_medium_precision_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    optimized = checked(MediumPrecision(), monkeypatch)
    assert optimized.wrong in LAYERS


@pytest.mark.parametrize("layer", ["stem", "unit-dw"])
def test_a_draw_one_pixel_off(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    assert checked(OffByOnePixel(text), monkeypatch).wrong == first


@pytest.mark.parametrize("layer", LAYERS)
def test_a_context_lost_in_a_layer(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    optimized = checked(LosesContext(text), monkeypatch)
    assert optimized.wrong == first
    assert optimized.stopped is not None
    assert "GL_CONTEXT_LOST" in optimized.stopped[1]
    with pytest.raises(SelfCheckError, match=f"layer '{first}' cannot be computed on this driver: .*GL_CONTEXT_LOST"):
        optimized.require()


def test_a_context_destroyed_beneath_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context()
    session = Session(tiny_bundle(), context=context)
    context.native.release()
    context.native.destroy()  # the real EGL context, as after a driver reset
    monkeypatch.setattr(context.native, "destroy", lambda: None)
    result = selfcheck.check(session)
    context.close()
    assert result.stopped is not None
    assert result.wrong == "stem"


def test_the_error_has_the_gl_strings_and_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = first_layer_of(tiny_bundle(), "stem")
    optimized = checked(SkipsDraws(text), monkeypatch)
    with pytest.raises(SelfCheckError) as raised:
        optimized.require()
    message = str(raised.value)
    for part in (
        optimized.driver["renderer"],
        optimized.driver["version"],
        "layer 'stem'",
        "try: ",
        "--context",
        "report it",
    ):
        assert part in message


def judged(context: Context, wrong: float, softmax: bool) -> dict[str, Any]:
    """Return the verdict for a driver whose output is off by ``wrong`` standard deviations, and another model."""
    rng = np.random.default_rng(0)
    bundle = tiny.tiny_bundle()
    (entry,), (output,) = bundle.manifest.inputs, bundle.manifest.outputs
    sample = {entry.name: rng.integers(0, 256, entry.shape, np.uint8)}
    with Session(bundle, context=context) as session:
        drawn = session.run(sample)[output.name]
    drawn = drawn + wrong * drawn.std() * rng.standard_normal(drawn.shape)
    verdict = Verdict(bundle, [output.name] if softmax else [])
    exact = reference.run(bundle, sample)[output.name]
    powers = np.exp(exact - exact.max())
    verdict.add(sample, {output.name: drawn}, {output.name: powers / powers.sum() if softmax else exact + exact.std()})
    return {
        "judged": 1,
        "wrong": "conv" if wrong else None,
        "outputs": [{"name": output.name, **verdict.as_json()[output.name]}],
    }


@pytest.mark.drivers("all")
@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        (0.0, "this driver is right, the exported model differs: it was made with another --input-range"),
        (3.0, "something else (first in 'conv')"),
    ],
)
def test_the_verdict_names_the_rounding_or_the_driver(
    context: Context, wrong: float, culprit: str, softmax: bool
) -> None:
    result = judged(context, wrong, softmax)
    (line,) = sentences(result)
    assert line.startswith("on 1 images the exact reference (NumPy) has a cosine of ")
    assert culprit in line
    (end,) = result["outputs"]
    assert (end["reference_cosine"] > 0.9999) == softmax
    assert (end["driver_cosine"] > 0.9999) == (not wrong)


@pytest.mark.drivers("all")
def test_margin_of_different_labels() -> None:
    agreement = Agreement()
    agreement.add(np.array([1.0, 2.0, 0.0, 0.0]), np.array([1.5, 1.0, 0.0, 0.0]))  # another label, which has 0.5 less
    agreement.add(np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.0, 9.0, 0.0, 0.0]))  # the same label
    expected = np.array([1.5, 1.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0])
    assert (agreement.margin, agreement.top1) == (0.5, 0.5)
    assert agreement.margin_share == pytest.approx(0.5 / expected.std())
    end = {"name": "y", "top1": agreement.top1, "margin": agreement.margin, "margin_share": agreement.margin_share}
    (line,) = sentences({"outputs": [end]})
    assert "at most 0.5 apart, 17.2% of its outputs' spread; such close labels mean nothing" in line
