"""Complete models on the virtual VideoCore IV: no more bytes differ from the reference than were counted."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import needs
import pytest
from command_line import run_python

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.cli import main
from glsl_infer.gl.rounding import TOLERANCE
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.executor import Executor, find
from glsl_infer.tools.videocore.pixels import Pixels, compare

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
PHOTOGRAPH = ROOT / "docs/images/glass128.jpg"

CUT_PRODUCTS = 0.04
"""Additional error of a partial sum, in 16-bit steps.

Truncation is corrected in the mean only, and each of dozens of additions takes up to 0.002 of a step from sums above
64.
"""


FINE_CUT_PRODUCTS = 0.35
"""The same if the texels of a sum have 16 bits: 0.31 was measured, with 16-bit weights in a texture too."""

FINE_STEPS = 8.0
"""Largest error of a layer in 16-bit steps: the largest measured is 4.6, with weights in a texture."""


@pytest.fixture(params=["trashnet-x22-129", "superres-x2-96"])
def model(request: pytest.FixtureRequest, compared: Callable[[Path], tuple[Pixels, ...]]) -> tuple[Pixels, ...]:
    return compared(MODELS / f"{request.param}.glslnn")


def test_bytes_that_differ(model: tuple[Pixels, ...]) -> None:
    """All differing bytes are off by one step; test_compiled.py checks their number."""
    assert [pixels.rounding for pixels in model] == ["hardware", "nearest"]
    for pixels in model:
        assert pixels.worst <= 1
        assert pixels.values > 1_000_000


def test_the_frame_s_counters(model: tuple[Pixels, ...]) -> None:
    hardware, nearest = model
    counted = hardware.counters
    for name in ("jobs", "draws", "tiles_stored", "pixels"):  # corners may round to other 16ths of a pixel
        assert counted[name] == nearest.counters[name] > 0
    assert counted["tiles_loaded"] == 0
    assert counted["pixels"] <= 4 * counted["quads"] <= 16 * counted["groups"]
    assert counted["tmu_misses"] < counted["tmu_hits"]
    assert counted["texels"] == 4 * counted["texture_quads"]


def test_the_first_label_is_the_same(model: tuple[Pixels, ...]) -> None:
    for pixels in model:
        assert [frame.picture for frame in pixels.pictures] == ["probe", str(PHOTOGRAPH)]
        assert all(frame.same_top is not False for frame in pixels.pictures)


def with_choices(folder: Path) -> Path:
    """Write superres-x2-96 with its earlier depth to space, which chooses lanes instead of adding them."""
    bundle = bundles.read(MODELS / "superres-x2-96.glslnn")
    name = "shaders/depth_to_space.0.frag"
    text, count = re.subn(
        r"y\.(\w) \+= max\(1\.0 - abs\(phase - (\S+)\), 0\.0\) \* t\.(\w);",
        r"y.\1 = abs(phase - \2) < 0.5 ? t.\3 : y.\1;",
        bundle.members[name].decode(),
    )
    assert count == 12
    hashes = {**bundle.manifest.members, name: hashlib.sha256(text.encode()).hexdigest()}
    path = folder / "choices.glslnn"
    bundles.write(Bundle(replace(bundle.manifest, members=hashes), {**bundle.members, name: text.encode()}), path)
    return path


@pytest.mark.exhaustive
def test_flags_that_a_thread_switch_loses_are_counted(
    executor: Executor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Flags lost at a thread switch are counted: Mesa compiles choices in depth to space to such code.

    The layer then draws wrong pixels.
    """
    monkeypatch.delenv("VC4_EXECUTOR_FLAGS", raising=False)
    pixels, _ = compare(with_choices(tmp_path), executor)
    assert pixels.counters["lost_flags"] > 0
    assert [layer.layer for layer in pixels.layers if layer.worst > 1] == ["depth_to_space"]


def test_the_command(capsys: pytest.CaptureFixture[str], executor: Executor) -> None:
    path = str(MODELS / "trashnet-x22-129.glslnn")
    assert main(["vc4", path, "--pixels", "--json", "--driver", str(executor.driver.prefix)]) == 0
    (report,) = json.loads(capsys.readouterr().out)["bundles"]
    assert report["file"] == path
    assert [rounding["rounding"] for rounding in report["roundings"]] == ["hardware", "nearest"]
    assert report["roundings"][0]["counters"]["jobs"] == 33
    assert main(["vc4", path, "--picture", str(PHOTOGRAPH)]) == 2
    assert "--images is used with --pixels" in capsys.readouterr().err


def run(executor: Executor, *command: str, **environment: str) -> str:
    """Run Python on the virtual GPU, and return its output."""
    done = subprocess.run(
        [sys.executable, *command],
        env={**executor.environment(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_self_check_passes(executor: Executor) -> None:
    result = run(executor, "-m", "glsl_infer", "selfcheck", str(MODELS / "trashnet-x22-129.glslnn"), "--json")
    assert json.loads(result)["passed"]
    assert json.loads(result)["driver"]["renderer"] == "VC4 V3D 2.1"


def test_a_photograph_is_classified(executor: Executor) -> None:
    photograph = ROOT / "docs/images/pineapple007.jpg"
    result = run(executor, "-m", "glsl_infer", "classify", str(photograph), "--json")
    here = run_python("-m", "glsl_infer", "classify", photograph, "--json", check=True, LIBGL_ALWAYS_SOFTWARE="1")
    assert first_label(result) == first_label(here.stdout)


def first_label(printed: str) -> str:
    """Return the first label in the JSON of a command."""
    data = json.loads(printed)
    while not isinstance(data, str):
        data = (
            data[0]
            if isinstance(data, list)
            else data.get("label") or next(v for v in data.values() if isinstance(v, list))
        )
    return data


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("rounding", "pack", "mesa"),
    [
        ("hardware", "round", "22"),
        ("hardware", "truncate", "22"),
        ("nearest", "round", "22"),
        ("nearest", "truncate", "22"),
        ("nearest", "truncate", "25"),
    ],
)
def test_random_networks_of_every_operator(drivers: tuple[Driver, ...], rounding: str, pack: str, mesa: str) -> None:
    """Random networks are right in both conversions to bytes: with truncation, shaders round (``ROUND_STORES``)."""
    chosen = [driver for driver in drivers if driver.mesa == mesa]
    if not chosen:
        needs.missing(f"no driver of Mesa {mesa}; scripts/vc4/build.sh builds it")
    executor = find(chosen[0])
    program = Path(__file__).parent / "random_layers.py"
    networks = json.loads(run(executor, str(program), "1", VC4_EXECUTOR_ROUND=rounding, VC4_EXECUTOR_PACK=pack))
    assert len(networks) >= 17
    for name, layers in networks.items():
        for layer in layers.values():
            cut = CUT_PRODUCTS if rounding == "hardware" and layer["op"] == "convolution_products" else 0.0
            assert layer["worst"] <= 0.52 + cut, (name, layer)


@pytest.mark.exhaustive
def test_maps_of_16_bits(executor: Executor) -> None:
    """Layers that store 16 bits are right to FINE_STEPS, where a step of 8 bits has 256."""
    program = Path(__file__).parent / "random_layers.py"
    networks = json.loads(run(executor, str(program), "1", "2", "--fine"))
    layers = [layer for network in networks.values() for layer in network.values()]
    assert sum(layer["bits"] == 16 for layer in layers) > len(layers) / 10
    for layer in layers:
        cut = FINE_CUT_PRODUCTS if layer["op"] == "convolution_products" else 0.0
        assert layer["worst"] <= (FINE_STEPS if layer["bits"] == 16 else 0.52 + cut), layer


@pytest.mark.parametrize("pack", ["round", "truncate"])
@pytest.mark.parametrize("rounding", ["hardware", "nearest"])
def test_info_reports_the_rounding(each_executor: Executor, rounding: str, pack: str) -> None:
    """``info`` reports both roundings, even if the compiler moves arithmetic between shaders."""
    switches = {"VC4_EXECUTOR_ROUND": rounding, "VC4_EXECUTOR_PACK": pack}
    report = json.loads(run(each_executor, "-m", "glsl_infer", "info", "--json", **switches))
    assert report["sum_rounds_up_from"] == pytest.approx(1.0 if rounding == "hardware" else 0.5, abs=TOLERANCE)
    assert report["store_rounds_up_from"] == pytest.approx(1.0 if pack == "truncate" else 0.5, abs=TOLERANCE)
