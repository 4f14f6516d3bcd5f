"""The app's report and its AI Benchmark: the same JSON and cards as from the commands."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import build_apk
import pytest
from app import command_of_app
from bundle_files import members_of, rehashed, zipped
from phone import IMAGES, SMALL, Phone
from picture_models import picture_model
from toolchain import Tools

import glsl_infer
from glsl_infer.runtime.session import Session
from glsl_infer.tools.aibench import degraded_input
from glsl_infer.tools.aibench.tests import TESTS
from glsl_infer.tools.report import saved
from glsl_infer.tools.report.page import page

pytestmark = pytest.mark.exhaustive


ROOT = Path(__file__).resolve().parents[2]
ACTIVITY = "glslinfer.app.ReportActivity"


@pytest.fixture(scope="module")
def reporting(tools: Tools, other_model: Path, squares: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An app with five sound models, a model whose probe its driver does not match, and a damaged one."""
    folder = tmp_path_factory.mktemp("report")
    sound, damaged, wrong = folder / "sound.glslnn", folder / "damaged.glslnn", folder / "wrong.glslnn"
    shutil.copyfile(other_model, sound)
    damaged.write_bytes(b"PK\x03\x04 cut off")
    members = members_of(other_model.read_bytes(), folder)
    weights = bytearray(members["weights/expand.f32"])
    weights[: len(weights) // 2] = bytes(len(weights) // 2)
    zipped(wrong, rehashed(members, {"weights/expand.f32": bytes(weights)}))
    apk = folder / "demo.apk"
    build_apk.build(tools, [SMALL, sound, damaged, wrong], apk, folder / "key" / "debug.keystore", [squares])
    return command_of_app(tools, apk, folder, ACTIVITY), apk


def started(reporting: Any, folder: Path, *extras: object, screen: tuple[int, int] = (450, 800)) -> Phone:
    (java, *arguments), apk = reporting
    phone = Phone(
        [java, f"-Dfiles={folder}", f"-Dversion={glsl_infer.__version__}", *arguments], apk, folder, screen=screen
    )
    phone.command("start", *extras)
    return phone


def sent(phone: Phone, path: Path) -> dict[str, Any]:
    """Press Send, and return the shared report."""
    phone.command("press", "Send")
    phone.command("sent", path)
    return saved.read(path)


def test_report_equals_that_of_the_command(reporting: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    phone = started(reporting, tmp_path)
    texts = phone.command("wait", "Report: done")["texts"]
    path = tmp_path / "sent.json"
    report = sent(phone, path)
    phone.command("press", "Save")
    phone.command("file", tmp_path / "kept.json")
    state = phone.command("idle")
    shot = phone.shot()
    phone.close()
    assert saved.read(tmp_path / "kept.json") == report
    assert "Saved kept.json" in state["texts"]
    assert state["gl_error"] == 0
    assert (shot.reshape(-1, 3).std(axis=0) > 10).all()

    assert report["glsl_infer"] == glsl_infer.__version__
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", report["measured"])
    assert report["machine"]["cpu"] == "Fake Phone, jvm"
    for when in ("before", "after"):
        assert report["machine"][when]["temperatures_c"]["battery"] == 31.5
    assert report["driver"]["renderer"] and report["driver"]["limits"]["GL_MAX_TEXTURE_SIZE"] >= 64
    models = {model["model"]: model for model in report["models"]}
    assert set(models) == {"damaged", "mask", "sides", SMALL.stem, "sound", "squares", "wrong"}
    assert models[SMALL.stem]["sha256"] == hashlib.sha256(SMALL.read_bytes()).hexdigest()
    for name in ("mask", "sides", SMALL.stem, "sound", "squares"):
        assert models[name]["selfcheck"]["passed"] is True
        times, start = saved.frame_ms(models[name]), saved.start_ms(models[name])
        assert times is not None and start is not None
        assert 0 < times["p5"] <= times["median"] <= times["p95"]
        assert models[name]["benchmark"]["settings"]["runs"] == 30
    for section in ("selfcheck", "benchmark"):
        assert "not a glsl-infer model" in models["damaged"][section]["failed"]
    assert models["wrong"]["selfcheck"]["wrong"] == "expand"
    (layer, *_) = models["wrong"]["selfcheck"]["layers"]
    assert layer["layer"] == "expand" and layer["max_error"] > layer["max_allowed"]
    assert saved.frame_ms(models["wrong"]) is not None, "wrong numbers take their time, too"
    assert "wrong: expand" in texts and texts.count("every layer is right") == 5
    assert "expand" in page(report)

    spec = importlib.util.spec_from_file_location("table", ROOT / "scripts/docs/boards/table.py")
    assert spec is not None and spec.loader is not None
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    monkeypatch.setattr(table, "BOARDS", tmp_path)
    row = table._row(saved.read(table.add(path, None)), [SMALL.stem])
    assert row[0].startswith("Fake Phone, jvm") and row[2] == "5 of 7" and float(row[3]) > 0


def test_a_driver_that_ends_the_app_costs_one_model(reporting: Any, tmp_path: Path) -> None:
    (tmp_path / "report-model").write_text("sound")  # left by an app after a driver crash
    phone = started(reporting, tmp_path, screen=(800, 450))
    texts = phone.command("wait", "Report: done")["texts"]
    models = {model["model"]: model for model in sent(phone, tmp_path / "sent.json")["models"]}
    phone.close()
    assert "the driver crashed" in models["sound"]["benchmark"]["failed"]
    assert models[SMALL.stem]["selfcheck"]["passed"] is True
    assert any(text.startswith("the app ended while this model ran") for text in texts)
    assert not (tmp_path / "report-model").exists(), "the next report tries it again"


def test_an_interrupted_report_starts_again(reporting: Any, tmp_path: Path) -> None:
    phone = started(reporting, tmp_path)
    phone.command("wait", "every layer, then 40 frames")
    assert (tmp_path / "report-model").exists()
    phone.command("pause")
    assert not (tmp_path / "report-model").exists()
    phone.command("lose")
    phone.command("resume")
    phone.command("wait", "Report: done")
    report = sent(phone, tmp_path / "sent.json")
    phone.command("recreate")  # the system ended the app in the background, and the user returns
    state = phone.command("idle")
    assert "Report: done" in state["texts"]
    assert sent(phone, tmp_path / "again.json") == report
    phone.close()
    assert len(report["models"]) == 7


def test_frames_for_minutes_on_request(reporting: Any, tmp_path: Path) -> None:
    phone = started(reporting, tmp_path, "minutes", 0.05)
    phone.command("wait", "Report: done")
    phone.command("press", "0 minutes")
    texts = phone.command("wait", "At the end, frames")["texts"]
    run = sent(phone, tmp_path / "sent.json")["sustained"]
    phone.close()
    models = saved.read(tmp_path / "sent.json")["models"]
    assert run["model"] == next(model["model"] for model in models if saved.frame_ms(model))
    assert run["runs"] == sum(window["runs"] for window in run["windows"]) and len(run["windows"]) in (2, 3)
    assert run["slowdown"] > 0
    assert any(text.startswith("At the end, frames took") for text in texts)
    assert "Sustained" in page(saved.read(tmp_path / "sent.json"))


def test_the_report_is_in_the_list_of_models(app: list[str], apk: Path, tmp_path: Path) -> None:
    java, *arguments = app
    phone = Phone([java, f"-Dfiles={tmp_path}", *arguments], apk, tmp_path)
    phone.start()
    phone.command("press", "Model")
    phone.command("choose", "Report on this device")
    state = phone.command("state")
    phone.close()
    assert any(text.startswith("Report") for text in state["texts"])


LANDSCAPE = (800, 450)


@pytest.fixture(scope="module")
def benchmark(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """An app with small networks under the names of the benchmark's networks; one is missing."""
    folder = tmp_path_factory.mktemp("benchmark")
    models = [folder / SMALL.name]
    shutil.copyfile(SMALL, models[0])
    for test in TESTS:
        if not test.shown:
            continue
        path = folder / f"{test.network}-{test.width}x{test.height}.glslnn"
        if test.classes:
            shutil.copyfile(SMALL, path)
        elif test.network != "srgan":  # missing in this app
            picture_model(path, (24, 36), "stretch/area-average", 1 if test.network == "vdsr" else 3, "image")
        degraded_input.write(test, IMAGES / "pineapple007.jpg", (test.width, test.height), path.with_suffix(".png"))
        models += [path] if path.exists() else []
    (folder / "dped-192x128.png").write_bytes(b"no picture")  # makes its test fail
    build_apk.build(tools, models, folder / "demo.apk", folder / "key" / "debug.keystore")
    return command_of_app(tools, folder / "demo.apk", folder), folder / "demo.apk"


@pytest.mark.parametrize("screen", [(450, 800), LANDSCAPE], ids=["high", "wide"])
def test_every_test_has_a_card(benchmark: tuple[list[str], Path], tmp_path: Path, screen: tuple[int, int]) -> None:
    command, apk = benchmark
    begun = [word.replace("MainActivity", "BenchmarkActivity") for word in command]
    phone = Phone(begun, apk, tmp_path, screen=screen)
    phone.command("start", "pictures", 4)
    state = phone.command("wait", "AI Benchmark: done")
    texts = state["texts"]
    shot = phone.shot()
    phone.close()
    titles = [text for text in texts if text in {f"{test.number} {test.task}" for test in TESTS}]
    assert titles == ["1 classification", "4 deblurring", "5 super-resolution x3", "8 enhancement"]
    times = [float(text.removesuffix(" ms")) for text in texts if text.endswith(" ms") and not text.startswith("Pixel")]
    assert len(times) == 3 and min(times) > 0
    with Session(SMALL) as session:
        assert set(texts) & set(session.bundle.labels)
    assert any(text.startswith("dped-192x128.png") for text in texts), "the failure is told"
    assert state["gl_error"] == 0
    assert (shot.reshape(-1, 3).astype(int).std(axis=0) > 20).all(), "there are pictures on the screen"


def test_the_benchmark_is_in_the_list_of_models(benchmark: tuple[list[str], Path], tmp_path: Path) -> None:
    command, apk = benchmark
    phone = Phone(command, apk, tmp_path)
    phone.start()
    phone.command("press", "Model")
    phone.command("choose", "AI Benchmark")
    state = phone.command("state")
    phone.close()
    assert any(text.startswith("AI Benchmark") for text in state["texts"])


def test_an_app_without_the_benchmark_does_not_list_it(app: list[str], apk: Path, tmp_path: Path) -> None:
    phone = Phone(app, apk, tmp_path)
    phone.start()
    phone.command("press", "Model")
    with pytest.raises(AssertionError):
        phone.command("choose", "AI Benchmark")
    phone.close()
