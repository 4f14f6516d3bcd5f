"""Contexts: the ways to create one, their properties, and errors."""

from __future__ import annotations

import os

import pytest

from glsl_infer.errors import ContextError, GlError, LimitError
from glsl_infer.gl import constants as GL
from glsl_infer.gl import context as contexts
from glsl_infer.gl import rounding
from glsl_infer.gl.context import Context
from glsl_infer.gl.limits import NAMES, describe, driver_limits, require
from glsl_infer.runtime.drivers import driver_of, is_llvmpipe, is_nvidia

pytestmark = pytest.mark.drivers


@pytest.mark.parametrize("choice, how", [("surfaceless", "surfaceless EGL"), ("device", "EGL device"), ("auto", "")])
def test_each_way_gives_es_2(choice: str, how: str) -> None:
    with Context(choice) as context:
        assert context.how.startswith(how)
        assert context.gl.text(GL.GL_VERSION).startswith("OpenGL ES")
        assert not context.refusals


def test_the_context_has_the_requested_driver(context: Context) -> None:
    """The context's driver is the one of ``make test-drivers``; without a choice there is nothing to compare."""
    renderer, version = context.gl.text(GL.GL_RENDERER), context.gl.text(GL.GL_VERSION)
    assert os.environ.get("GALLIUM_DRIVER", "") in renderer
    assert version.startswith(f"OpenGL ES {os.environ.get('MESA_GLES_VERSION_OVERRIDE', '')}")


def refuse(monkeypatch: pytest.MonkeyPatch, *choices: str, advice: str = "") -> None:
    def failing() -> contexts.Native:
        raise ContextError("broken", advice)

    for choice in choices:
        monkeypatch.setitem(contexts.WAYS, choice, failing)


def test_auto_falls_back_to_the_device_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "surfaceless")
    with Context() as context:
        assert context.how.startswith("EGL device")
        assert context.refusals == ["surfaceless: broken"]


def test_a_hidden_window_is_the_last_choice(monkeypatch: pytest.MonkeyPatch, screen: str) -> None:
    refuse(monkeypatch, "surfaceless", "device")
    with Context() as context:
        assert context.how.startswith("hidden glfw window")
        assert context.refusals == ["surfaceless: broken", "device: broken"]


def test_without_any_way_the_error_lists_all(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "surfaceless", "device", "glfw")
    message = r"\(surfaceless: broken; device: broken; glfw: broken\).*sudo apt install libegl1"
    with pytest.raises(ContextError, match=message) as caught:
        Context()
    assert caught.value.exit_code == 2


def test_the_error_gives_each_advice_once(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "surfaceless", "device", advice="plug it in")
    refuse(monkeypatch, "glfw", advice="get a screen")
    with pytest.raises(ContextError, match=r"glfw: broken\); plug it in; get a screen$"):
        Context()


def test_the_error_of_a_chosen_way_is_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, "device", advice="plug it in")
    with pytest.raises(ContextError, match=r"^broken; plug it in$"):
        Context("device")


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(ContextError, match="choose one of auto, surfaceless, device, glfw"):
        Context("window")


def test_a_closed_context_is_refused(context: Context) -> None:
    opened = Context()
    opened.close()
    opened.close()
    with pytest.raises(ContextError, match="closed"):
        opened.make_current()


def test_gl_errors_are_reported_by_name(context: Context) -> None:
    context.gl.BindTexture(0x1234, 0)
    with pytest.raises(GlError, match="GL_INVALID_ENUM in this test"):
        context.gl.check("in this test")
    context.gl.check("afterwards")


def test_description_has_renderer_limits_and_precision(context: Context) -> None:
    result = describe(context)
    assert result["renderer"]
    assert result["limits"]["GL_MAX_TEXTURE_IMAGE_UNITS"] >= 8
    assert result["precision"]["highp"]["mantissa_bits"] >= 16


def test_stores_are_measured(context: Context) -> None:
    assert 0.4 <= context.store_threshold <= 0.6
    assert driver_of(context).rounds_stores or abs(context.store_threshold - 0.5) <= rounding.TOLERANCE


def test_sums_are_measured(context: Context) -> None:
    """Sums are measured even if the linker moves them into the vertex shader, as Mesa 25's does.

    An earlier measurement returned 0 there.
    """
    nearest = is_llvmpipe(context.gl.text(GL.GL_RENDERER))
    assert 0.4 <= context.sum_threshold <= (0.6 if nearest else 1.0)


@pytest.mark.parametrize("threshold, corrected", [(0.5, False), (0.505, False), (0.547, True), (1.0, True)])
def test_shaders_correct_stores_that_do_not_round_to_nearest(threshold: float, corrected: bool) -> None:
    with Context() as context:
        context.__dict__.update(store_threshold=threshold)
        if not is_nvidia(context.gl.text(GL.GL_VENDOR)):
            assert driver_of(context).rounds_stores == corrected
            assert driver_of(context).device_lines.startswith(rounding.ROUND_STORES) == corrected


def test_shaders_for_nvidia_round_stores_without_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    with Context() as context:
        text = context.gl.text
        vendor = {GL.GL_VENDOR: "NVIDIA Corporation"}
        monkeypatch.setattr(context.gl, "text", lambda name: vendor.get(name) or text(name))
        with context.gl.counting() as calls:
            assert driver_of(context).rounds_stores
        assert calls["glDrawArrays"] == 0
        assert driver_of(context).device_lines.startswith(rounding.ROUND_STORES)


def test_limits_are_compared_and_named(context: Context) -> None:
    offered = driver_limits(context.gl)
    require(offered, context.gl)
    for field, limit in offered.items():
        larger = {**offered, field: limit + 1}
        with pytest.raises(LimitError, match=f"{NAMES[field][1]} is {limit}, the model needs {limit + 1}"):
            require(larger, context.gl)
