"""The measured parts of a test, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aibench_parts.pictures import TASKS, pictures
from glsl_infer import bundle as bundles
from glsl_infer.errors import RunError
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.aibench import before
from glsl_infer.tools.aibench.bundles import bundle_of, export_command
from glsl_infer.tools.aibench.tests import LARGEST, Test

HERE = Path(__file__).resolve().parent

COMPARED = 4
"""Number of images that ``validate`` compares."""

LEAST_COSINE = 0.999
"""Cosine below which the exact reference's cosine is measured, too."""


def export(test: Test, folder: Path) -> dict[str, Any]:
    """Export the network; return the seconds and memory used, and the size of the bundle and its contents."""
    path = folder / f"{test.network}-{test.width}x{test.height}.glslnn"
    result: dict[str, Any] = {}
    if not path.is_file():
        with tempfile.TemporaryDirectory() as work:
            command = export_command(test, _keras(test, folder), path, Path(work))
            _, result["export"] = _measured(command)
    bundle = bundles.read(bundle_of(test, folder, False, print))
    manifest = bundle.manifest
    read_only = [texture for texture in manifest.textures if texture.kind == "constant"]
    return {
        **result,
        "passes": len(manifest.passes),
        "programs": len(manifest.programs),
        "file_bytes": path.stat().st_size,
        "member_bytes": sum(map(len, bundle.members.values())),
        "texture_bytes": 4 * sum(texture.width * texture.height for texture in manifest.textures),
        "weight_texture_bytes": 4 * sum(texture.width * texture.height for texture in read_only),
    }


def run(test: Test, folder: Path) -> dict[str, Any]:
    """Run the test with the command ``aibench``; return its row, the machine, and its peak memory."""
    command = module_command("glsl_infer", "aibench", "--models", folder, "--only", test.number, "--json")
    before, started = os.getloadavg()[0], time.monotonic()
    report, cost = _measured(command)
    result = json.loads(report)
    return {
        **result["tests"][0],
        "machine": result["machine"],
        "memory_bytes": cost["memory_bytes"],
        "load": before,  # of other processes
        "whole_seconds": time.monotonic() - started,
    }


def vc4(test: Test, folder: Path) -> dict[str, Any]:
    """Compile every program for VideoCore IV; return totals, estimates and problems."""
    estimate, _ = _measured(module_command("glsl_infer", "vc4", _bundle(test, folder), "--json"), (0, 1))
    (report,) = json.loads(estimate)["bundles"]
    return {
        "totals": report["totals"],
        "estimates": {
            entry["board"]: {key: entry["milliseconds"][key] for key in ("gpu", "total", "low", "high")}
            for entry in report["estimates"]
        },
        "problems": report["problems"][:8],
        "fewest_threads": min((row["threads"] for row in report["layers"] if row["fetches"] > 0), default=0),
    }


def validate(test: Test, folder: Path) -> dict[str, Any]:
    """Compare with Keras on photographs, scaled as the network expects; return the agreement of the outputs."""
    low, high = test.values
    with tempfile.TemporaryDirectory() as work:
        data = before.typical(test, Path(work))
        command = module_command(
            "glsl_infer", "validate", _keras(test, folder), _bundle(test, folder), "--data", data, "--json",
            "--limit", COMPARED, "--layer-pictures", 1, f"--input-range={low:g},{high:g}",
            "--min-cosine", LEAST_COSINE, "--min-top1", 0,
        )  # fmt: skip
        report, _ = _measured(command)
    agreement = json.loads(report)
    return {"driver": agreement["driver"], "pictures": agreement["pictures"], "outputs": agreement["outputs"]}


def litert(test: Test, folder: Path) -> dict[str, Any]:
    """Return LiteRT's milliseconds for the same network in floats, on one thread of this machine."""
    model = folder / f"{test.network}.float.tflite"
    script = str(HERE / "litert.py")
    if not model.is_file():
        _measured([sys.executable, script, "convert", str(_keras(test, folder)), str(model)])
    report, cost = _measured([sys.executable, script, "time", str(model)])
    return {**json.loads(report.splitlines()[-1]), "memory_bytes": cost["memory_bytes"]}


PARTS: Mapping[str, Callable[[Test, Path], dict[str, Any]]] = {
    "made": export, "run": run, "vc4": vc4, "validate": validate, "litert": litert, "pictures": pictures,
}  # fmt: skip
"""The parts by name, in order of measurement."""


def applies(part: str, test: Test) -> bool:
    """Return whether a part applies to a test: test 9 has the network of test 4, and few networks are trained."""
    if test.number == LARGEST:
        return part == "run"
    return part != "pictures" or test.network in TASKS


def _bundle(test: Test, folder: Path) -> Path:
    return bundle_of(test, folder, False, print)


def _keras(test: Test, folder: Path) -> Path:
    path = folder / f"{test.network}.keras"
    if not path.is_file():
        size = f"{test.width}x{test.height}"
        _measured(module_command("training.aibench.build", folder, test.network, "--size", size))
    return path


def _measured(command: list[str], allowed: tuple[int, ...] = (0,)) -> tuple[str, dict[str, Any]]:
    """Run a process; return its standard output, its seconds and its peak memory.

    Raises:
        RunError: the process failed; with the last line of its standard error.
    """
    with tempfile.TemporaryDirectory() as folder:
        spent = Path(folder) / "cost.json"
        done = subprocess.run(
            [sys.executable, "-S", str(HERE / "cost.py"), str(spent), *command],
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if not spent.is_file():
            raise RunError(f"nobody measured {command[0]}: {done.stderr.strip()[-200:]}")
        cost = json.loads(spent.read_text("utf-8"))
    code = cost.pop("exit")
    if code not in allowed and not (code == 1 and done.stdout.startswith("{")):
        complained = done.stderr.strip()
        raise RunError(complained.splitlines()[-1] if complained else f"exit code {code}")
    return done.stdout, cost
