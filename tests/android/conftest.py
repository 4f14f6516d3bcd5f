"""The Java runner, compiled once, and how to start it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jvm import Jvm

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "android"))

from toolchain import Tools  # noqa: E402


@pytest.fixture(scope="session")
def tools() -> Tools:
    return Tools()


@pytest.fixture(scope="session")
def runner(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Jvm:
    """``glslinfer.desktop.Main``: the runner on this machine's OpenGL ES driver."""
    classes = tmp_path_factory.mktemp("classes")
    folders = [ROOT / "android" / name / "src" / "main" / "java" for name in ("runner", "desktop")]
    tools.javac(folders, classes, classpath=[tools.jna], android=False)
    return Jvm(tools.java([classes], "glslinfer.desktop.Main"))
