"""Layers that a VideoCore IV cannot draw, or only slowly, are named, also by the report of export."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from budget import ROOT
from command_line import Capture
from on_driver import lines_of

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.cli import main
from glsl_infer.errors import RunError
from glsl_infer.tools.videocore import Driver, measure, report
from glsl_infer.tools.videocore.report import Problem
from glsl_infer.tools.videocore.transcript import parse
from glsl_infer.tools.videocore.verify import ONE_THREAD, verify

LAYER = "expand"
"""The layer of the tiny network with a replaced shader. In uniform mode it has its own program."""


def write_replaced(folder: Path, body: str) -> Path:
    """Write the tiny network with ``body`` as main() of that layer; ``t`` is its texture, ``at`` a coordinate."""
    bundle = tiny.tiny_bundle(weights="uniform")
    (program,) = {drawn.program for drawn in bundle.manifest.passes if drawn.layer == LAYER}
    original = next(pair for pair in bundle.manifest.programs if pair.name == program)
    source = bundle.members[original.fragment].decode()
    sampler = original.samplers[0]
    body = re.sub(r"\bt\b", sampler, body)
    text = "\n".join(
        [
            f"uniform sampler2D {sampler};",
            *(_declaration(source, name, count) for name, count in original.uniforms.items()),
            "varying vec4 coord0;",
            f"void main() {{ vec2 at = coord0.xy; {body} }}",
            "",
        ]
    )
    assert f"sampler2D {sampler};" in source and "varying vec4 coord0" in source
    path = folder / "replaced.glslnn"
    bundles.write(_with_member(bundle, original.fragment, text.encode()), path)
    return path


def _declaration(source: str, name: str, count: int) -> str:
    """Return the shader's declaration of a uniform, which passes set even if it is not used."""
    match = re.search(rf"uniform (\w+) {name}(\[)?", source)
    assert match is not None
    length = count // int(match[1].removeprefix("vec").replace("float", "1"))
    return f"uniform {match[1]} {name}{f'[{length}]' if match[2] else ''};"


def _with_member(bundle: Bundle, name: str, data: bytes) -> Bundle:
    digests = {**bundle.manifest.members, name: hashlib.sha256(data).hexdigest()}
    return Bundle(replace(bundle.manifest, members=digests), {**bundle.members, name: data})


BRANCH = "vec4 s = vec4(0.5); if (at.x > 0.5) s = texture2D(t, at); gl_FragColor = s;"
"""A texel fetched in a branch, which leaves the other thread nothing to do."""


def alive(count: int) -> str:
    """Return a body in which ``count`` vec4 are alive at once: each is needed to the end and cannot be recomputed."""
    statements = [f"s = fract(s * s.yzwx + {i}.3); vec4 a{i} = s;" for i in range(count)]
    used = [f"s += a{i} * s.wzyx; s = fract(s * a{count - 1 - i}.yxwz);" for i in range(count)]
    return f"vec4 s = texture2D(t, at); {' '.join(statements + used)} gl_FragColor = s;"


@pytest.fixture
def driver(each_driver: Driver) -> Driver:
    return each_driver


def problems(path: Path, driver: Driver, layer: str = LAYER) -> list[Problem]:
    return [problem for problem in report(*measure(path, driver)).problems if problem.layer == layer]


def test_too_few_registers(driver: Driver, tmp_path: Path) -> None:
    path = write_replaced(tmp_path, alive(18))
    bundle, measured = measure(path, driver)
    assert list(measured.failures) == [LAYER], "the program has the layer's name"
    result = report(bundle, measured)
    (row,) = (row for row in result.rows if row.layer == LAYER)
    assert row.failed and row.instructions == row.total == 0
    (problem,) = (problem for problem in result.problems if problem.layer == LAYER)
    assert problem.fatal
    assert problem.text.startswith("program 'expand': the compiler has too few registers for it")


def test_one_thread_for_lack_of_registers(driver: Driver, tmp_path: Path) -> None:
    (problem,) = problems(write_replaced(tmp_path, alive(8)), driver)
    assert problem.fatal
    assert problem.text.startswith("falls to one thread")
    assert problems(write_replaced(tmp_path, alive(4)), driver) == []


def test_one_thread_by_a_fetch_in_a_branch(driver: Driver, tmp_path: Path) -> None:
    (problem,) = problems(write_replaced(tmp_path, BRANCH), driver)
    assert problem.fatal
    assert "no fetch in a branch" in problem.text


def test_one_thread_is_accepted_without_fetches(driver: Driver, tmp_path: Path) -> None:
    path = write_replaced(tmp_path, "gl_FragColor = at.xyxy;")
    bundle, measured = measure(path, driver)
    assert measured.programs["expand"].threads == 1
    assert measured.programs["expand"].fetches == 0
    assert [problem for problem in report(bundle, measured).problems if problem.layer == LAYER] == []


def test_a_shader_that_does_not_compile_is_an_error_of_its_layer(driver: Driver, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="layer 'expand'"):
        measure(write_replaced(tmp_path, "float twice = 1.0; float twice = 2.0; gl_FragColor = at.xyxy;"), driver)


REJECTED = """
import ctypes, fcntl, os, struct

code = ctypes.create_string_buffer({code!r})
with open("/dev/dri/renderD128", "r+b", buffering=0) as device:
    request = struct.pack("<IIQII", len(code) - 1, 0, ctypes.addressof(code), 0, 0)
    fcntl.ioctl(device, 3 << 30 | len(request) << 16 | ord("d") << 8 | 0x45, request)
"""


def test_a_shader_that_the_kernel_rejects_is_an_error_of_its_layer(driver: Driver) -> None:
    """A shader that the kernel rejects is reported by its layer.

    No GLSL is known that compiles to one (none of 860 random shaders did), so the test passes machine code directly.
    """
    bundle = tiny.tiny_bundle(weights="uniform")
    log_lines = lines_of(driver, REJECTED.format(code=bytes(64)))
    index = next(index for index, draw in enumerate(bundle.manifest.passes) if draw.layer == LAYER)
    compiled = "@message MESA_SHADER_FRAGMENT shader: 8 inst, 2 threads, 3 uniforms, 1 max-temps, 9 estimated-cycles"
    measured = parse([f"@draw {index}", compiled, *log_lines], bundle.manifest.passes)
    assert measured.failures["expand"].startswith("the kernel rejects its fragment shader (")
    assert "no reason" not in measured.failures["expand"]
    (problem,) = (problem for problem in report(bundle, measured).problems if problem.layer == LAYER)
    assert problem.fatal


def test_the_command_ends_with_1_and_names_the_layer(driver: Driver, tmp_path: Path, capsys: Capture) -> None:
    path = write_replaced(tmp_path, alive(18))
    assert main(["vc4", str(path), "--driver", str(driver.prefix), "--shaders"]) == 1
    printed = capsys.readouterr()
    assert f"error: {path}: layer 'expand': program 'expand': the compiler has too few registers" in printed.err
    row = next(line.split() for line in printed.out.splitlines() if line.startswith("expand "))
    assert row[1:9] == ["16", *"-------"]


MODEL = ROOT / "models/trashnet-x22-129.glslnn"


@pytest.mark.exhaustive
def test_every_layer_of_a_model_is_verified(driver: Driver) -> None:
    bundle, measured = measure(MODEL, driver)
    verification = verify(bundle, 120.0, prefix=driver.prefix)
    assert verification.driver.startswith("VC4") and verification.note == "" and verification.warnings == ()
    assert [check.layer for check in verification.layers] == list(
        dict.fromkeys(draw.layer for draw in bundle.manifest.passes)
    )
    assert all(check.verified and check.threads == 2 for check in verification.layers)
    users = {draw.layer: draw.program for draw in bundle.manifest.passes}
    for check in verification.layers:  # a draw knows its target's format, which changes the counts slightly
        drawn = measured.programs[users[check.layer]]
        assert check.registers is not None and abs(check.registers - drawn.temporaries) <= 2
        assert (
            check.instructions is not None
            and abs(check.instructions - drawn.instructions) <= 0.03 * drawn.instructions + 2
        )


@pytest.mark.exhaustive
def test_too_few_registers_are_a_warning_that_names_the_layer(driver: Driver, tmp_path: Path) -> None:
    bundle = bundles.read(write_replaced(tmp_path, alive(18)))
    (warning,) = verify(bundle, 60.0, prefix=driver.prefix).warnings
    assert "layer 'expand': the compiler has too few registers" in warning


@pytest.mark.exhaustive
def test_one_thread_is_a_warning(driver: Driver, tmp_path: Path) -> None:
    verification = verify(bundles.read(write_replaced(tmp_path, alive(8))), 60.0, prefix=driver.prefix)
    (check,) = (check for check in verification.layers if check.layer == LAYER)
    assert check.threads == 1 and check.failure == ONE_THREAD


@pytest.mark.exhaustive
def test_a_refused_layer_is_a_warning_and_the_others_are_verified(driver: Driver, tmp_path: Path) -> None:
    verification = verify(
        bundles.read(write_replaced(tmp_path, "float twice = 1.0; float twice = 2.0; gl_FragColor = at.xyxy;")),
        60.0,
        prefix=driver.prefix,
    )
    (check,) = (check for check in verification.layers if check.failure)
    assert check.layer == LAYER and "the driver refuses it" in check.failure
    assert all(check.verified for check in verification.layers)


@pytest.mark.exhaustive
def test_without_time_no_layer_is_verified(driver: Driver) -> None:
    verification = verify(bundles.read(MODEL), 0.001, prefix=driver.prefix)
    assert not any(check.verified for check in verification.layers)
    assert verification.note == "0.001 seconds were over" and verification.warnings == ()


@pytest.mark.exhaustive
def test_a_broken_driver_fails_no_layer(driver: Driver, tmp_path: Path) -> None:
    """A folder with the file names of a driver, but empty files, fails no layer."""
    for name in ("lib/libEGL.so.1", "lib/libGLESv2.so.2", "lib/dri/vc4_dri.so", "lib/libvc4_noop_drm_shim.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    verification = verify(bundles.read(MODEL), 60.0, prefix=tmp_path)
    assert "does not work here" in verification.note
    assert not any(check.verified or check.failure for check in verification.layers)
