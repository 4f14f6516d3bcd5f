"""The installed wheel on the CPUs of a Raspberry Pi Zero and 2, with Debian's NumPy, Pillow, PyOpenGL and Mesa."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from board import Arm
from pages import ROOT
from tiny import LABELS, tiny_picture

from glsl_infer import bundle
from glsl_infer.graph import reference
from glsl_infer.graph.host_steps import softmax

pytestmark = pytest.mark.exhaustive

PAGE = (ROOT / "docs/guide/raspberry-pi.md").read_text("utf-8")


def test_the_board_has_its_processor(arm: Arm) -> None:
    done = arm.python("-c", "import platform, struct; print(platform.machine(), struct.calcsize('P'))")
    machine = {"bookworm-armel": "armv6l", "trixie-armhf": "armv7l"}[arm.system]
    assert done.stdout.split() == [machine, "4"], done.stderr


def test_debian_packages_satisfy_the_requirements(arm: Arm) -> None:
    """Debian's packages satisfy all requirements of the wheel except glfw, which is pure Python."""
    program = """
import json, re
from importlib import metadata
asked = [one for one in metadata.requires("glsl-infer") if "extra ==" not in one]
found = {}
for name in (re.match(r"[\\w-]+", one)[0] for one in asked):
    try:
        found[name.lower()] = str(metadata.distribution(name).locate_file(""))
    except metadata.PackageNotFoundError:
        found[name.lower()] = ""
print(json.dumps(found))
"""
    report = json.loads(arm.python("-c", program).stdout)
    assert sorted(report) == ["glfw", "numpy", "pillow", "pyopengl"]
    assert {name for name, folder in report.items() if not folder.rstrip("/").endswith("/dist-packages")} == {"glfw"}


def test_classify(arm: Arm) -> None:
    """The self-check of the first use has run, and the probabilities match the exact reference."""
    done = arm.command("classify", "--model", arm.model, "--json", arm.picture)
    assert (done.returncode, done.stderr) == (0, "")
    (report,) = json.loads(done.stdout)
    read = bundle.read(arm.model)
    exact = softmax(np.asarray(reference.run(read, tiny_picture(1)), np.float64))
    order = np.argsort(-exact)
    assert [prediction["label"] for prediction in report["predictions"]] == [LABELS[index] for index in order]
    assert [prediction["probability"] for prediction in report["predictions"]] == pytest.approx(exact[order], abs=0.01)


def test_every_layer_passes_the_self_check(arm: Arm) -> None:
    done = arm.command("glsl-infer", "selfcheck", arm.model)
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_are_reported(arm: Arm) -> None:
    done = arm.command("classify", "no.jpg")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: no.jpg: no such file\n")


def test_fetched_packages_are_those_of_the_page() -> None:
    fetch = (ROOT / "scripts/arm/fetch").read_text("utf-8")
    fetched = set(re.search(r'^packages="([^"]*)"', fetch, re.MULTILINE)[1].split())
    listed = {
        word for line in re.findall(r"^ {4}sudo apt install ([^#\n]+)", PAGE, re.MULTILINE) for word in line.split()
    }
    # venv is only needed to install, libglfw3 is for --window, picamera2 and av are for cameras.
    assert listed - fetched == {"python3-venv", "libglfw3", "python3-picamera2", "python3-av"}
    assert fetched - listed == {"python3-minimal", "libpython3-stdlib"}, "a part of the python3 that is always there"
