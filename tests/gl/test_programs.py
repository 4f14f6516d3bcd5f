"""Programs of a driver are compiled in threads and cached; a frame makes only the necessary GL calls."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pairwise import each_of
from tiny import tiny_bundle, tiny_picture
from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.errors import ShaderError
from glsl_infer.gl import compiler_threads, egl
from glsl_infer.gl import constants as GL
from glsl_infer.gl.compiler_threads import EXTENSION
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.gl.program_binaries import Binary, ProgramBinaries
from glsl_infer.lowering.target import Target
from glsl_infer.runtime import linking
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.program_cache import ProgramCache
from glsl_infer.runtime.session import Session
from glsl_infer.tools.benchmark import frames

COUNT = len(tiny_bundle().manifest.programs)


def start(context: Context, cache: Path | bool, bundle: Bundle | None = None) -> int:
    """Start a session and compare it with one without a cache; return the number of restored programs."""
    bundle = bundle or tiny_bundle()
    with Session(bundle, context=context, cache=False) as plain:
        assert plain.restored_programs == 0
        expected = plain.run(tiny_picture(3))
    with Session(bundle, context=context, cache=cache, selfcheck=True) as session:
        np.testing.assert_array_equal(session.run(tiny_picture(3)), expected)
        return session.restored_programs


@pytest.fixture
def binaries(context: Context) -> ProgramBinaries:
    """The driver's binaries; the test is skipped if it provides none."""
    result = ProgramBinaries(context)
    with Session(tiny_bundle(), context=context, cache=False) as session:
        if result.get(session.gpu_executors[0]._objects.programs[0]) is None:
            pytest.skip("this driver gives no program binaries")
    return result


@pytest.fixture
def cache(context: Context, binaries: ProgramBinaries, tmp_path: Path) -> ProgramCache:
    """The cache of the tiny network, filled by one start."""
    assert start(context, tmp_path) == 0
    (file,) = tmp_path.iterdir()
    return ProgramCache(tmp_path, file.stem)


@pytest.mark.drivers("all")
def test_the_second_start_uses_cached_programs(context: Context, cache: ProgramCache) -> None:
    with context.gl.counting() as counts:
        assert start(context, cache.path.parent) == COUNT
    assert counts["glLinkProgram"] == COUNT, "those of the session without a cache"
    assert len(list(cache.path.parent.iterdir())) == 1


@pytest.mark.drivers("all")
def test_a_later_process_restores_the_programs(cache: ProgramCache) -> None:
    with Context() as another:
        assert start(another, cache.path.parent) == COUNT


@pytest.mark.drivers("all")
def test_another_bundle_has_its_own_file(context: Context, cache: ProgramCache) -> None:
    assert start(context, cache.path.parent, tiny_bundle("texture")) == 0
    assert start(context, cache.path.parent) == COUNT
    assert len(list(cache.path.parent.iterdir())) == 2


@pytest.mark.drivers("all")
def test_a_changed_shader_is_compiled(context: Context, cache: ProgramCache) -> None:
    bundle = tiny_bundle()
    name = bundle.manifest.programs[0].fragment
    changed = replace(bundle, members={**bundle.members, name: bundle.members[name] + b"// another build\n"})
    assert start(context, cache.path.parent, changed) == 0


@pytest.mark.drivers("all")
@pytest.mark.parametrize("damage", ["cut", "byte", "empty"])
def test_a_damaged_file_is_replaced(context: Context, cache: ProgramCache, damage: str) -> None:
    data = cache.path.read_bytes()
    wrong = {"cut": data[:-1], "byte": data[:-99] + bytes([data[-99] ^ 1]) + data[-98:], "empty": b""}
    cache.path.write_bytes(wrong[damage])
    assert start(context, cache.path.parent) == 0
    assert start(context, cache.path.parent) == COUNT


@pytest.mark.drivers("all")
@pytest.mark.parametrize("stale", ["format", "data", "missing"])
def test_programs_that_the_driver_refuses_are_compiled(context: Context, cache: ProgramCache, stale: str) -> None:
    programs = cache.read()
    last = list(programs)[-1]
    removed = programs.pop(last)
    if stale != "missing":
        programs[last] = (
            Binary(1, removed.data) if stale == "format" else Binary(removed.format, b"of another build" * 9)
        )
    assert cache.write(programs)
    assert start(context, cache.path.parent) == COUNT - 1
    assert start(context, cache.path.parent) == COUNT


@pytest.mark.drivers("all")
def test_a_refused_binary_leaves_no_objects(context: Context, binaries: ProgramBinaries) -> None:
    with Session(tiny_bundle(), context=context, cache=False) as session:
        objects = session.gpu_executors[0]._objects
        before = list(objects.programs)
        assert objects.program_from_binary(binaries, Binary(binaries.formats[0], b"nonsense")) is None
        assert objects.program_from_binary(binaries, Binary(max(binaries.formats) + 1, b"nonsense")) is None
        assert objects.programs == before
        assert not context.gl.IsProgram(max(before) + 1)


@pytest.mark.drivers("all")
def test_a_shader_that_is_refused_is_named_and_not_kept(context: Context, tmp_path: Path) -> None:
    bundle = tiny_bundle()
    name = bundle.manifest.programs[-1].fragment
    broken = Bundle(bundle.manifest, {**bundle.members, name: b"void main() { nonsense; }\n"})
    with pytest.raises(ShaderError, match="layer 'dense'"):
        Session(broken, context=context, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.drivers("all")
def test_an_unwritable_cache_is_ignored(context: Context, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    assert start(context, tmp_path / "file") == 0
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.drivers("all")
def test_without_binary_formats_no_cache_is_written(context: Context, tmp_path: Path) -> None:
    assert start(context, tmp_path) == 0
    assert bool(list(tmp_path.iterdir())) <= bool(ProgramBinaries(context).formats)


@pytest.mark.drivers("all")
def test_the_usual_folder_is_the_one_of_the_environment(
    context: Context, cache: ProgramCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", str(cache.path.parent))
    assert start(context, True) == COUNT
    monkeypatch.setenv("GLSL_INFER_CACHE", "off")
    assert start(context, True) == 0


@pytest.mark.drivers("all")
def test_drivers_with_the_extension_get_compiler_threads(context: Context) -> None:
    extensions = context.gl.text(GL.GL_EXTENSIONS).split()
    assert compiler_threads.allow(context.gl) == (EXTENSION in extensions)
    context.gl.check("after telling it")


@pytest.mark.drivers("all")
def test_drivers_without_the_extension_get_no_compiler_threads(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = context.gl.text
    monkeypatch.setattr(context.gl, "text", lambda name: text(name).replace(EXTENSION, ""))
    assert not compiler_threads.allow(context.gl)
    with Session(tiny_bundle(), context=context, cache=False, selfcheck=True) as session:
        session.run(tiny_picture(1))


@pytest.mark.drivers("all")
def test_compiler_threads_are_allowed_once_in_a_process(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[str]()
    result = egl.extension_function
    monkeypatch.setattr(egl, "extension_function", lambda name, kind: calls.append(name) or result(name, kind))
    monkeypatch.setattr(compiler_threads, "_configured", set[str]())
    can = compiler_threads.allow(context.gl)
    with Context() as another:
        for _ in range(2):
            with Session(tiny_bundle(), context=another, cache=False):
                pass
    assert calls.count("glMaxShaderCompilerThreadsKHR") == can


@pytest.mark.drivers("all")
def test_all_programs_are_started_before_a_status_is_queried(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, messages = tiny_bundle(), list[str]()
    assert isinstance(driver_of(context).device_lines, str), "measured once, by a shader of its own"
    start, check, texture = Objects.start_program, Objects.check_program, Objects.texture
    monkeypatch.setattr(compiler_threads, "allow", lambda _: messages.append("allow"))
    monkeypatch.setattr(Objects, "start_program", lambda self, *a: messages.append("start") or start(self, *a))
    monkeypatch.setattr(Objects, "check_program", lambda self, *a: messages.append("check") or check(self, *a))
    monkeypatch.setattr(Objects, "texture", lambda self, *a: messages.append("texture") or texture(self, *a))
    with Session(bundle, context=context, cache=False):
        pass
    count = len(bundle.manifest.programs)
    assert messages[: 1 + count] == ["allow", *["start"] * count]
    assert messages[-count:] == ["check"] * count
    assert "texture" in messages[1 + count : -count], "textures are created while programs are compiled"


@pytest.mark.drivers("all")
def test_pending_programs_are_limited(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, messages = tiny_bundle(), list[str]()
    assert isinstance(driver_of(context).device_lines, str), "measured once, by a shader of its own"
    start, check = Objects.start_program, Objects.check_program
    monkeypatch.setattr(linking, "AT_ONCE", 1)
    monkeypatch.setattr(Objects, "start_program", lambda self, *a: messages.append("start") or start(self, *a))
    monkeypatch.setattr(Objects, "check_program", lambda self, *a: messages.append("check") or check(self, *a))
    with Session(bundle, context=context, cache=False):
        pass
    count = len(bundle.manifest.programs)
    assert count > 2
    assert messages == ["start", *["start", "check"] * (count - 1), "check"]


VERTEX = b"attribute vec2 position; void main() { gl_Position = vec4(position, 0.0, 1.0); }"
FRAGMENT = b"precision highp float; void main() { gl_FragColor = vec4(%d.0); }"


@pytest.mark.drivers
def test_dropped_shaders_are_attached_no_longer(context: Context) -> None:
    objects, gl = Objects(context.gl), context.gl
    programs = [objects.program(VERTEX, FRAGMENT % index, ["position"], "here") for index in range(3)]
    attached, linked = ctypes.c_int(), ctypes.c_int()
    for program in programs:
        gl.GetProgramiv(program, 0x8B85, ctypes.byref(attached))  # GL_ATTACHED_SHADERS
        assert attached.value == 2
    objects.drop_shaders()
    for program in programs:
        gl.GetProgramiv(program, 0x8B85, ctypes.byref(attached))
        gl.GetProgramiv(program, GL.GL_LINK_STATUS, ctypes.byref(linked))
        assert (attached.value, linked.value) == (0, 1)
        gl.UseProgram(program)
    objects.program(VERTEX, FRAGMENT % 4, ["position"], "one that comes later")
    objects.close()
    gl.check("after it")


@pytest.mark.drivers
def test_a_fragment_shader_goes_with_the_last_program_that_has_it(context: Context) -> None:
    objects, gl = Objects(context.gl), context.gl
    other = VERTEX.replace(b"0.0, 1.0", b"0.5, 1.0")
    programs = [objects.program(vertex, FRAGMENT % 1, ["position"], "here") for vertex in (VERTEX, other)]
    key = GL.GL_FRAGMENT_SHADER, FRAGMENT % 1
    objects.drop_fragment(programs[0], FRAGMENT % 1)
    assert key in objects.shaders
    objects.drop_fragment(programs[1], FRAGMENT % 1)
    assert key not in objects.shaders
    attached = ctypes.c_int()
    for program in programs:
        gl.GetProgramiv(program, 0x8B85, ctypes.byref(attached))
        assert attached.value == 1, "the vertex shader"
        gl.UseProgram(program)
    objects.close()
    gl.check("after it")


NEVER_IN_A_FRAME = ("glGetError", "glFinish", "glGetIntegerv", "glGetUniformLocation", "glCheckFramebufferStatus")


@pytest.mark.drivers("all")
def test_calls_are_counted_by_name_and_only_within_the_block(context: Context) -> None:
    gl = context.gl
    with gl.counting() as counts:
        gl.ActiveTexture(GL.GL_TEXTURE0)
        gl.ActiveTexture(GL.GL_TEXTURE0)
        assert gl.GetError() == 0
    gl.ActiveTexture(GL.GL_TEXTURE0)
    assert counts == {"glActiveTexture": 2, "glGetError": 1}


@pytest.mark.drivers("all")
def test_calls_are_no_longer_counted_after_an_error(context: Context) -> None:
    plain = context.gl.Finish
    with pytest.raises(ValueError, match="broken"), context.gl.counting():
        raise ValueError("broken")
    assert context.gl.Finish is plain


@pytest.mark.drivers("all")
@each_of(("weights", ["baked", "uniform"]), ("layout", ["atlas", "planar"]))
def test_a_frame_makes_as_many_calls_as_statistics_count(tiled: Context, weights: str, layout: str) -> None:
    with Session(tiny_bundle(weights, layout), context=tiled) as session:
        result = frames.counts(session, tiny_picture(0))
        statistics = session.statistics()
    calls = result["gl_calls_of_frame"]
    assert result["gl_calls"] == {"upload": 3, "frame": statistics.gl_calls, "read_back": 2}
    assert sum(calls.values()) == statistics.gl_calls
    assert calls["glDrawArrays"] == result["draws"] == statistics.passes
    assert calls["glBindFramebuffer"] == calls["glClear"] == result["jobs"] == statistics.jobs
    assert not set(NEVER_IN_A_FRAME) & set(calls)


@pytest.mark.drivers("all")
def test_the_exact_calls_of_the_tiny_network(tiled: Context) -> None:
    # A row of uniform_rows.py needs its coordinate only, an array all its values.
    arrays, numbers = ({}, 52) if driver_of(tiled).fetches_uniforms else ({"glUniform4fv": 50}, 2)
    with Session(tiny_bundle("uniform"), context=tiled) as session:
        assert frames.counts(session, tiny_picture(0))["gl_calls_of_frame"] == {
            **arrays,
            "glDrawArrays": 53,
            "glBindTexture": 8,
            "glBindFramebuffer": 6,
            "glViewport": 1,
            "glClear": 6,
            "glUseProgram": 6,
            "glActiveTexture": 4,
            "glUniform1fv": numbers,
            "glClearColor": 1,
        }


@pytest.mark.drivers("all")
@pytest.mark.parametrize("layout", ["atlas", "planar"])
def test_no_state_is_set_twice_to_the_same_value(context: Context, layout: str) -> None:
    with Session(tiny_bundle("uniform", layout), context=context) as session:
        state: dict[object, object] = {}
        for function, arguments in session.frame:
            name = function.__name__
            if name in ("glDrawArrays", "glClear"):
                continue
            key: object = name
            if name == "glBindTexture":
                key = (name, state["glActiveTexture"])
            elif name.startswith("glUniform"):
                key = (name, state["glUseProgram"], arguments[0])
            plain = tuple(argument if isinstance(argument, int) else bytes(argument) for argument in arguments)
            assert state.get(key) != plain, f"{key} is set to {plain} again"
            state[key] = plain


@pytest.mark.drivers("all")
def test_counting_draws_the_same_frame(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        expected = session.run(tiny_picture(1))
        session.run(tiny_picture(2))
        frames.counts(session, tiny_picture(1))
        np.testing.assert_array_equal(session.read_back(), expected)


@pytest.mark.drivers("all")
def test_the_steps_of_a_run_one_by_one(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        expected = [session.run(tiny_picture(seed)) for seed in range(2)]
        for seed in range(2):
            session.upload(tiny_picture(seed))
            session.submit()
            np.testing.assert_array_equal(session.read_back(), expected[seed])
        assert not np.array_equal(*expected)


CLASSES = 120


@pytest.fixture(scope="module")
def bundle() -> bundles.Bundle:
    graph = prepare(optimize(x22(385, CLASSES))).graph
    return to_bundle(lower.to_program(graph, Target(memory="by-size")), [f"class {index}" for index in range(CLASSES)])


@pytest.mark.slow
def test_a_frame_of_few_draws(bundle: bundles.Bundle, context: Context, tmp_path: Path) -> None:
    with Session(bundle, context=context, selfcheck=True) as session:
        counts = session.statistics()
    assert (counts.passes, counts.jobs, counts.programs) == (234, 44, 11)
    assert counts.gl_calls <= 800


def test_weights_of_small_maps_are_in_textures(bundle: bundles.Bundle) -> None:
    """Weights are in textures from 23 x 23 pixels down, with 16 bits, because there are no calibration images."""
    textures = {texture.name for texture in bundle.manifest.textures}
    maps = {layer.name: layer.output for layer in bundle.network.layers if layer.op == "conv2d"}
    assert {name for name in maps if f"{name}.weights" in textures} == {
        name for name, output in maps.items() if getattr(output, "height", 0) <= 23
    }
