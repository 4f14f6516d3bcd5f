"""Fixtures: one context for all tests of this folder, which checks for GL errors before and after each test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from screen import virtual_screen
from virtual_gpu import mark_known_failures

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of

DRIVER_VARIABLES = ("GALLIUM_DRIVER", "MESA_GLES_VERSION_OVERRIDE", "LIBGL_ALWAYS_SOFTWARE")


def pytest_report_header() -> list[str]:
    requested = [f"{name}={os.environ[name]}" for name in DRIVER_VARIABLES if name in os.environ]
    with Context() as context:
        driver = f"{context.gl.text(GL.GL_RENDERER)}, {context.gl.text(GL.GL_VERSION)}, by {context.how}"
    return [f"driver: {driver}", f"asked for: {' '.join(requested) or 'nothing'}"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_known_failures(items)


@pytest.fixture(scope="session")
def context() -> Iterator[Context]:
    with Context() as context:
        yield context


@pytest.fixture
def tiled(context: Context, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The context, configured as for a tile-based GPU: every job begins with a clear."""
    monkeypatch.setitem(driver_of(context).__dict__, "draws_at_once", False)
    return context


@pytest.fixture(autouse=True)
def no_gl_errors(context: Context) -> Iterator[None]:
    context.make_current()
    context.gl.check("before the test")
    yield
    context.make_current()
    context.gl.check("in the test")


@pytest.fixture(scope="session")
def xvfb() -> Iterator[str]:
    with virtual_screen() as name:
        yield name


@pytest.fixture
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without DISPLAY and WAYLAND_DISPLAY, also for child processes."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def screen(xvfb: str, no_screen: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """A screen of 1400 x 1100 pixels for windows, also of child processes."""
    monkeypatch.setenv("DISPLAY", xvfb)
    return xvfb
