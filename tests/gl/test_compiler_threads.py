"""The engine allows the driver to compile in threads, before it compiles anything."""

from __future__ import annotations

import pytest
from tiny import tiny_bundle, tiny_picture

from glsl_infer.gl import compiler_threads, egl
from glsl_infer.gl import constants as GL
from glsl_infer.gl.compiler_threads import EXTENSION
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime import linking
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


def test_a_driver_that_can_is_told(context: Context) -> None:
    extensions = context.gl.text(GL.GL_EXTENSIONS).split()
    assert compiler_threads.allow(context.gl) == (EXTENSION in extensions)
    context.gl.check("after telling it")


def test_one_that_cannot_is_left_alone(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    text = context.gl.text
    monkeypatch.setattr(context.gl, "text", lambda name: text(name).replace(EXTENSION, ""))
    assert not compiler_threads.allow(context.gl)
    with Session(tiny_bundle(), context=context, cache=False, selfcheck=True) as session:
        session.run(tiny_picture(1))


def test_a_driver_is_told_once_in_a_process(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()
    found = egl.extension_function
    monkeypatch.setattr(egl, "extension_function", lambda name, kind: asked.append(name) or found(name, kind))
    monkeypatch.setattr(compiler_threads, "_configured", set[str]())
    can = compiler_threads.allow(context.gl)
    with Context() as another:
        for _ in range(2):
            with Session(tiny_bundle(), context=another, cache=False):
                pass
    assert asked.count("glMaxShaderCompilerThreadsKHR") == can


def test_all_programs_are_started_before_any_is_asked_about(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, said = tiny_bundle(), list[str]()
    assert isinstance(driver_of(context).device_lines, str), "measured once, by a shader of its own"
    start, check, texture = Objects.start_program, Objects.check_program, Objects.texture
    monkeypatch.setattr(compiler_threads, "allow", lambda _: said.append("allow"))
    monkeypatch.setattr(Objects, "start_program", lambda self, *a: said.append("start") or start(self, *a))
    monkeypatch.setattr(Objects, "check_program", lambda self, *a: said.append("check") or check(self, *a))
    monkeypatch.setattr(Objects, "texture", lambda self, *a: said.append("texture") or texture(self, *a))
    with Session(bundle, context=context, cache=False):
        pass
    count = len(bundle.manifest.programs)
    assert said[: 1 + count] == ["allow", *["start"] * count]
    assert said[-count:] == ["check"] * count
    assert "texture" in said[1 + count : -count], "what needs no program is made in between"


def test_of_many_programs_few_wait_at_a_time(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, said = tiny_bundle(), list[str]()
    assert isinstance(driver_of(context).device_lines, str), "measured once, by a shader of its own"
    start, check = Objects.start_program, Objects.check_program
    monkeypatch.setattr(linking, "AT_ONCE", 1)
    monkeypatch.setattr(Objects, "start_program", lambda self, *a: said.append("start") or start(self, *a))
    monkeypatch.setattr(Objects, "check_program", lambda self, *a: said.append("check") or check(self, *a))
    with Session(bundle, context=context, cache=False):
        pass
    count = len(bundle.manifest.programs)
    assert count > 2
    assert said == ["start", *["start", "check"] * (count - 1), "check"]
