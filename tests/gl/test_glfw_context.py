"""Contexts of hidden glfw windows, under Xvfb: the same results, next to other contexts, and error messages."""

from __future__ import annotations

import builtins
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import glfw
import numpy as np
import pytest
from planted_modules import executed, plant
from tiny import tiny_bundle, tiny_picture

from glsl_infer.errors import ContextError
from glsl_infer.gl import constants as GL
from glsl_infer.gl import glfw_window
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import ROOT


def find_no_egl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide EGL from glfw, which leaves only GLX on X11."""
    create = glfw_window._create

    def without_egl(module: Any, api: int, *arguments: Any) -> Any:
        return None if api == module.EGL_CONTEXT_API else create(module, api, *arguments)

    monkeypatch.setattr(glfw_window, "_create", without_egl)


def initialised() -> bool:
    with glfw_window._errors(glfw):
        return bool(glfw.get_timer_frequency())


def test_the_context_is_es_2_with_a_hidden_window(screen: str) -> None:
    with Context("glfw") as context:
        assert context.how == "hidden glfw window (X11, EGL)"
        assert context.gl.text(GL.GL_VERSION).startswith("OpenGL ES")
        assert not glfw.get_window_attrib(context.native.handle, glfw.VISIBLE)
        assert abs(context.store_threshold - 0.5) < 0.1
        context.gl.check("with a hidden window")


@pytest.mark.parametrize("kind", ["egl", "native"])
def test_sessions_give_the_same_bytes(
    context: Context, screen: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "native":
        find_no_egl(monkeypatch)
    with Session(tiny_bundle(), context=context) as usual, Context("glfw") as opened:
        assert ("native" in opened.how) == (kind == "native")
        with Session(tiny_bundle(), context=opened, selfcheck=True) as session:
            for seed in range(3):  # alternate: each call makes another context current
                np.testing.assert_array_equal(session.run(tiny_picture(seed)), usual.run(tiny_picture(seed)))
    context.make_current()


def test_a_session_makes_and_closes_its_own(screen: str) -> None:
    with Session(tiny_bundle(), context="glfw") as session:
        assert session.run(tiny_picture(1)).shape == (len(tiny_bundle().labels),)
        assert initialised()
    assert not initialised()


def test_glfw_ends_with_the_last_window(screen: str) -> None:
    first, second = Context("glfw"), Context("glfw")
    first.close()
    first.close()
    second.make_current()
    second.gl.check("after another was closed")
    with pytest.raises(ContextError, match="closed"):
        first.make_current()
    second.close()
    assert not initialised()


def test_glfw_initialised_by_the_caller_is_not_terminated(screen: str) -> None:
    assert glfw.init()
    try:
        Context("glfw").close()
        assert initialised()
    finally:
        glfw.terminate()


def test_only_one_of_several_is_current(context: Context, screen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Context("glfw") as egl:
        find_no_egl(monkeypatch)
        with Context("glfw") as glx:
            three = (context, egl, glx)
            for current in (context, egl, glx, context, glx, egl, egl, context):
                current.make_current()
                assert [other.native.is_current() for other in three] == [other is current for other in three]
                current.gl.check("after changing contexts")


def test_another_thread_cannot_use_a_current_context(screen: str) -> None:
    messages: list[str] = []

    def use() -> None:
        with pytest.raises(ContextError) as caught:
            context.make_current()
        messages.append(str(caught.value))

    with Context("glfw") as context:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert "give each thread its own Session" in messages[0]


def test_only_the_main_thread_makes_windows(screen: str) -> None:
    messages: list[str] = []

    def make() -> None:
        with pytest.raises(ContextError) as caught:
            Context("glfw")
        messages.append(str(caught.value))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert messages == ["glfw makes windows in the main thread only; choose another context in other threads"]


# Errors ----------------------------------------------------------------------------------------------


def test_without_a_screen_the_message_names_xvfb(no_screen: None) -> None:
    with pytest.raises(ContextError, match=r"neither DISPLAY nor WAYLAND_DISPLAY is set; set DISPLAY .* xvfb-run"):
        Context("glfw")


def test_a_screen_that_is_not_there(no_screen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":987")
    with pytest.raises(ContextError, match=r"glfw finds no screen at DISPLAY=:987 \(.*Failed.*\); set DISPLAY"):
        Context("glfw")
    assert not initialised()


def test_a_machine_without_x_libraries(screen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = b"Failed to detect any supported platform"  # glfw 3.4's message for any reason
    monkeypatch.setattr(glfw, "init", lambda: glfw._error_callback[0](glfw.PLATFORM_ERROR, words))
    monkeypatch.setattr(glfw_window, "_has_xlib", lambda: False)
    with pytest.raises(ContextError, match=r"any supported platform\); on Debian.*sudo apt install libx11-6"):
        Context("glfw")


def test_no_opengl_es_on_the_screen(screen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(module: Any, api: int, *_: Any) -> None:
        glfw.window_hint(0x7FFFFFFF, 0)  # an invalid hint, reported by glfw

    monkeypatch.setattr(glfw_window, "_create", create)
    with pytest.raises(ContextError, match=r"no glfw window .*\(EGL: Invalid .*; native: Invalid .*apt install"):
        Context("glfw")
    assert not initialised()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'glfw'", name="glfw"), "the Python package glfw is not installed"),
        (ImportError("Failed to load GLFW3 shared library."), r"the library glfw cannot be loaded \(Failed to load"),
    ],
)
def test_no_library(screen: str, monkeypatch: pytest.MonkeyPatch, error: ImportError, reason: str) -> None:
    real = builtins.__import__

    def without_glfw(name: str, *more: Any, **options: Any) -> Any:
        if name == "glfw":
            raise error
        return real(name, *more, **options)

    monkeypatch.delitem(sys.modules, "glfw")
    monkeypatch.setattr(builtins, "__import__", without_glfw)
    with pytest.raises(ContextError, match=rf"{reason}.*; .*python.* -m pip install glfw, or on Debian"):
        Context("glfw")


def test_glfw_is_imported_only_for_its_contexts() -> None:
    program = (
        "import sys, glsl_infer.tools.window.window, glsl_infer.cli.viewer\n"
        "glsl_infer.gl.context.Context()\n"
        "print('glfw' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n", done.stderr


def test_files_of_the_current_folder_are_not_executed(screen: str, tmp_path: Path) -> None:
    """No file in the current folder is executed; glfw itself would start Python there to find library versions."""
    start = f"import sys; sys.path[:] = [{str(ROOT)!r}, *filter(None, sys.path)]"
    program = f"{start}; from glsl_infer.gl.context import Context; print(Context('glfw').how)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=plant(tmp_path), capture_output=True, text=True, check=False
    )
    assert "hidden glfw window" in done.stdout, done.stderr
    assert executed(tmp_path) == []
