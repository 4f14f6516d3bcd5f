"""The app's AI Benchmark: a card for each test in the app, with its time or its error."""

from __future__ import annotations

import shutil
from pathlib import Path

import build_apk
import pytest
from app import command_of_app
from phone import IMAGES, SMALL, Phone
from picture_models import picture_model
from toolchain import Tools

from glsl_infer.runtime.session import Session
from glsl_infer.tools.aibench import degraded_input
from glsl_infer.tools.aibench.tests import TESTS

pytestmark = pytest.mark.exhaustive

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
    phone.tell("start", "pictures", 4)
    state = phone.tell("wait", "AI Benchmark: done")
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
    phone.tell("press", "Model")
    phone.tell("choose", "AI Benchmark")
    state = phone.tell("state")
    phone.close()
    assert any(text.startswith("AI Benchmark") for text in state["texts"])


def test_an_app_without_the_benchmark_does_not_list_it(app: list[str], apk: Path, tmp_path: Path) -> None:
    phone = Phone(app, apk, tmp_path)
    phone.start()
    phone.tell("press", "Model")
    with pytest.raises(AssertionError):
        phone.tell("choose", "AI Benchmark")
    phone.close()
