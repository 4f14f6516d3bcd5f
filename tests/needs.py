"""Packages and programs for some tests only: a test without them is skipped with the reason; in CI it fails.

    tflite = needs.module("tflite")             # imports it, at the top of a test module or in a test
    needs.installed("keras")                    # for an import in a child process
    strace = needs.program("strace", "strace")  # the path of a program; the second name is its Debian package

A test module can also import an optional package as usual: as a pytest plugin, this module turns the
``ModuleNotFoundError`` into the same skip.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from collections.abc import Generator
from types import ModuleType
from typing import Any, NoReturn

import pytest

OPTIONAL = {
    "ai_edge_litert", "av", "build", "cryptography", "flatbuffers", "gpiozero", "h5py", "hatchling", "jax",
    "jsonschema", "keras", "matplotlib", "onnx", "onnxruntime", "paho", "pdoc", "pyseccomp",
    "tensorboard", "tensorflow", "tflite", "torch", "tqdm", "twine", "yaml",
}  # fmt: skip
"""Packages outside of `make dev`."""

IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")


def missing(reason: str) -> NoReturn:
    """Skip the calling test or test module; in CI, fail."""
    if IN_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def module(name: str) -> ModuleType:
    """Return an optional module, or skip the test."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing(_install(error.name or name))


def installed(name: str) -> None:
    """Require an optional package without importing it, or skip the test."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:  # a folder of this name, as tests/keras, is a package without an origin
        missing(_install(name))


def program(name: str, package: str) -> str:
    """Return the path of a program of Debian's package ``package``, or skip the test."""
    path = shutil.which(name)
    if path is None:
        missing(f"{name} is not installed: sudo apt-get install {package}")
    return path


def _install(name: str) -> str:
    return f"the package of the module {name} is not installed: `make .venv/.all` installs all of them"


def _absent(error: BaseException | None) -> str:
    """Return the optional package whose absence caused an error, or an empty string for another cause."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in OPTIONAL:
            return error.name or ""
        error = error.__cause__
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, Any]:
    report = yield
    call = getattr(report, "call", None)
    name = _absent(call.excinfo.value if call is not None and call.excinfo else None)
    if name and not IN_CI:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {_install(name)}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if _absent(error):
            missing(_install(error.name or ""))
        raise
