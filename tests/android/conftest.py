"""Fixtures: the Java runner, compiled once, and the app on the fake phone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jvm import Jvm, Server
from phone import MODEL
from red_squares import folder_of_tasks
from tiny import write_tiny

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "android"))

import build_apk  # noqa: E402
from app import command_of_app  # noqa: E402
from toolchain import Tools  # noqa: E402


@pytest.fixture(scope="session")
def tools() -> Tools:
    return Tools()


@pytest.fixture(scope="session")
def runner(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jvm]:
    """``glslinfer.desktop.Main``: the runner on this machine's OpenGL ES driver."""
    classes = tmp_path_factory.mktemp("classes")
    folders = [ROOT / "android" / name / "src" / "main" / "java" for name in ("runner", "desktop")]
    tools.javac(folders, classes, classpath=[tools.jna], android=False)
    server = Server(tools.java([classes], "glslinfer.desktop.Main"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def squares(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of tasks inside the app."""
    return folder_of_tasks(tmp_path_factory.mktemp("squares"))


@pytest.fixture(scope="session")
def apk(tools: Tools, squares: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app with a model, signed with its own key."""
    folder = tmp_path_factory.mktemp("apk")
    build_apk.build(tools, [MODEL], folder / "demo.apk", folder / "key" / "debug.keystore", [squares])
    return folder / "demo.apk"


@pytest.fixture(scope="session")
def app(tools: Tools, apk: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command for the app of the APK on the fake phone."""
    return command_of_app(tools, apk, tmp_path_factory.mktemp("phone"))


@pytest.fixture(scope="session")
def other_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with three classes, which is not in the app."""
    return write_tiny(tmp_path_factory.mktemp("other"))
