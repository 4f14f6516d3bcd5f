"""Bundles of the benchmark: found in a folder, or built there from ``training/aibench``.

Two processes build one: Keras writes the network with seeded weights, and ``glsl-infer export`` writes the bundle.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError, RunError
from glsl_infer.runtime import program_cache
from glsl_infer.support.child_process import ROOT, last_line, module_command
from glsl_infer.support.progress import ProgressCallback
from glsl_infer.tools.aibench import degraded_input
from glsl_infer.tools.aibench.tests import Test

PHOTOGRAPH = degraded_input.PICTURES / "pineapple007.jpg"
"""Photograph that the page and the app show before and after the network; only a checkout has it."""

QUANTISED = frozenset(("mobilenet-v1",))
"""Networks whose feature maps all have 8 bits, in the paper as here."""

_ADVICE = (
    "to build it, run glsl-infer aibench in a checkout of the project with TensorFlow "
    "(.venv/bin/python -m pip install -e '.[train]'), and "
    "copy its folder of models here for --models DIR"
)


def default_folder() -> Path:
    """Return the default folder of bundles.

    Raises:
        InputError: the cache is switched off.
    """
    cache = program_cache.default_folder()
    if cache is None:
        raise InputError("the cache is switched off (GLSL_INFER_CACHE); give --models DIR")
    return cache.parent / "aibench"


def size_of(test: Test, quick: bool) -> tuple[int, int]:
    """Return width and height of a test's image."""
    return test.quick if quick and test.quick is not None else (test.width, test.height)


def check_size(bundle: Bundle, test: Test, quick: bool) -> None:
    """Check that a bundle is of the test's network, by its input size: all tests differ in size.

    Raises:
        RunError: it reads images of another size.
    """
    width, height = size_of(test, quick)
    read = [(model_input.width, model_input.height) for model_input in bundle.manifest.inputs]
    if read != [(width, height)]:
        sizes = ", ".join(f"{model_input.width}x{model_input.height}" for model_input in bundle.manifest.inputs)
        raise RunError(
            f"{bundle.path} reads {sizes}, and the test's images have {width}x{height}: another network; delete it, "
            f"or put {test.network}'s bundle in its place"
        )


def require_any(tests: Sequence[Test], folder: Path, quick: bool) -> None:
    """Check that at least one test can run.

    Raises:
        InputError: the folder has none of the bundles, and they cannot be built because requirements are missing or the
            folder is not writable.
    """
    if any(_path_of(test, folder, quick).is_file() for test in tests):
        return
    if _can_build():
        _make(folder)
    else:
        names = dict.fromkeys(_path_of(test, folder, quick).name for test in tests)
        raise InputError(f"{folder} has no {' or '.join(names)}; {_ADVICE}")


def _make(folder: Path) -> None:
    """Create a folder to build bundles in.

    Raises:
        InputError: it cannot be created or is not writable.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise InputError(
            f"{folder}: no network can be built there ({error.strerror}); give --models a folder that you may write to"
        ) from None


def _path_of(test: Test, folder: Path, quick: bool) -> Path:
    width, height = size_of(test, quick)
    return folder / f"{test.network}-{width}x{height}.glslnn"


def _can_build() -> bool:
    return (ROOT / "training/aibench").is_dir() and importlib.util.find_spec("tensorflow") is not None


def bundle_of(test: Test, folder: Path, quick: bool, progress: ProgressCallback) -> Path:
    """Return the bundle of a test; build it if it is missing.

    In a checkout, the input image of a test with ``shown`` is written to the same folder.

    Args:
        test: the test.
        folder: the folder of bundles.
        quick: whether to use the size of a quick run.
        progress: called with a message for each build step.

    Raises:
        InputError: it is missing, and this installation lacks the requirements to build it.
        RunError: it could not be built.
    """
    width, height = size_of(test, quick)
    path = _path_of(test, folder, quick)
    if path.is_file():
        _show(test, path, (width, height))
        return path
    if not _can_build():
        raise InputError(f"{path}: no such file; {_ADVICE}")
    _make(folder)
    with tempfile.TemporaryDirectory() as work:
        progress(f"building {test.network}")
        _run(module_command("training.aibench.build", work, test.network, "--size", f"{width}x{height}"), test.network)
        progress(f"exporting {test.network}")
        _run(export_command(test, Path(work) / f"{test.network}.keras", path, Path(work)), test.network)
    _show(test, path, (width, height))
    return path


def export_command(test: Test, model: Path, path: Path, work: Path) -> list[str]:
    """Return the command that exports a test's network.

    Args:
        test: the test.
        model: its Keras file.
        path: the bundle to write.
        work: folder without files except the Keras file. The command's calibration images and labels are written there.
    """
    low, high = test.values
    typical = work / "typical"
    typical.mkdir()
    command = module_command(
        "glsl_infer", "export", model, "-o", path,
        "--calibrate", degraded_input.typical(test, typical),
        f"--input-range={low:g},{high:g}", "--fit", "center-crop", "--verify", "0",
    )  # fmt: skip
    if test.network in QUANTISED:
        command += ["--precision", "8"]
    if test.classes:
        labels = work / "labels.txt"
        labels.write_text("".join(f"class {index}\n" for index in range(test.classes)), "utf-8")
        command += ["--labels", str(labels)]
    return command


def _show(test: Test, path: Path, size: tuple[int, int]) -> None:
    """Write the input image of a shown test next to its bundle, if the photograph exists and the folder is writable."""
    picture = path.with_suffix(".png")
    if test.shown and PHOTOGRAPH.is_file() and not picture.exists() and os.access(path.parent, os.W_OK):
        degraded_input.write(test, PHOTOGRAPH, size, picture)


def _run(command: list[str], subject: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise RunError(f"{subject} cannot be built: {last_line(done.stderr)}")
