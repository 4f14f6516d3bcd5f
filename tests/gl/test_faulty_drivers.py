"""Injected faults of a driver (faulty_driver.py): the self-check finds each and names the layer."""

from __future__ import annotations

import pytest
from faulty_driver import FaultyApi, LosesContext, MediumPrecision, OffByOnePixel, SkipsDraws, first_layer_of
from tiny import tiny_bundle

from glsl_infer.errors import SelfCheckError
from glsl_infer.gl.context import Context
from glsl_infer.runtime import selfcheck
from glsl_infer.runtime.selfcheck import SelfCheck
from glsl_infer.runtime.session import Session

LAYERS = ("stem", "expand", "unit-pw", "unit-dw", "pool", "dense")


def checked(faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch) -> SelfCheck:
    monkeypatch.setattr("glsl_infer.gl.context.gles2", lambda: faulty)
    with Context() as context, Session(tiny_bundle(), context=context) as session:
        return selfcheck.check(session)


def test_the_shim_itself_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(FaultyApi(), monkeypatch)
    assert found.wrong is None
    assert found.advice == ()
    assert len(found.layers) == len(tiny_bundle().manifest.probe.layers)


@pytest.mark.parametrize("layer", LAYERS)
def test_draws_skipped_in_silence(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    found = checked(SkipsDraws(text), monkeypatch)
    assert found.wrong == first
    assert found.stopped is None


def test_medium_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(MediumPrecision(), monkeypatch)
    assert found.wrong in LAYERS


@pytest.mark.parametrize("layer", ["stem", "unit-dw"])
def test_a_draw_one_pixel_off(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    assert checked(OffByOnePixel(text), monkeypatch).wrong == first


@pytest.mark.parametrize("layer", LAYERS)
def test_a_context_lost_in_a_layer(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = first_layer_of(tiny_bundle(), layer)
    found = checked(LosesContext(text), monkeypatch)
    assert found.wrong == first
    assert found.stopped is not None
    assert "GL_CONTEXT_LOST" in found.stopped[1]
    with pytest.raises(SelfCheckError, match=f"layer '{first}' cannot be computed on this driver: .*GL_CONTEXT_LOST"):
        found.require()


def test_a_context_destroyed_beneath_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context()
    session = Session(tiny_bundle(), context=context)
    context.native.release()
    context.native.destroy()  # the real EGL context, as after a driver reset
    monkeypatch.setattr(context.native, "destroy", lambda: None)
    found = selfcheck.check(session)
    context.close()
    assert found.stopped is not None
    assert found.wrong == "stem"


def test_the_error_has_the_gl_strings_and_what_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = first_layer_of(tiny_bundle(), "stem")
    found = checked(SkipsDraws(text), monkeypatch)
    with pytest.raises(SelfCheckError) as raised:
        found.require()
    message = str(raised.value)
    for part in (found.driver["renderer"], found.driver["version"], "layer 'stem'", "try: ", "--context", "report it"):
        assert part in message
