"""A doorbell by the commands of the guides: films of two people, a training, a deployment, an MQTT message."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import av
import matplotlib
import numpy as np
import pytest
from broker import broker, free_port
from PIL import Image, ImageEnhance
from test_camera_events import Heard, wait_for
from test_deploy_install import run_script

from glsl_infer.support.child_process import ROOT
from glsl_infer.tools.get.samples import PERSON

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

FRAMES_PER_VISIT = 20
PEOPLE = {"eileen": PERSON, "grace": Path(matplotlib.get_data_path()) / "sample_data/grace_hopper.jpg"}
"""Portraits in the public domain."""

DEPLOYMENT = """\
models:
  - {name: door, source: door.glslnn}
service:
  source: picamera2
  mqtt: %s
"""


def frames(person: str, count: int, seed: int) -> list[Image.Image]:
    """Return a portrait in different positions, sizes and light, 320 x 240."""
    random = np.random.default_rng(seed)
    portrait = Image.open(PEOPLE[person]).convert("RGB")
    messages = []
    for _ in range(count):
        width = random.uniform(0.75, 1.0) * min(portrait.width, portrait.height * 4 / 3)
        left = random.uniform(0, portrait.width - width)
        top = random.uniform(0, 0.3) * (portrait.height - 0.75 * width)
        view = portrait.resize((320, 240), Image.Resampling.BILINEAR, (left, top, left + width, top + 0.75 * width))
        messages.append(ImageEnhance.Brightness(view).enhance(random.uniform(0.8, 1.2)))
    return messages


def write_film(path: Path, pictures: list[Image.Image]) -> None:
    with av.open(str(path), "w") as film:
        stream = film.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = 320, 240, "yuv420p", 4_000_000
        for picture in pictures:
            film.mux(stream.encode(av.VideoFrame.from_image(picture)))
        film.mux(stream.encode())


def printed(page: str, pattern: str) -> list[str]:
    """Return the words after ``glsl-infer`` of the only command of a guide that matches."""
    lines = re.findall(
        rf"^    glsl-infer ({pattern}[^#\n]*)", (ROOT / "docs/guide" / page).read_text("utf-8"), re.MULTILINE
    )
    (line,) = lines
    return shlex.split(line)


def test_the_guide_leads_from_films_to_a_message(tmp_path: Path) -> None:
    environment = {**os.environ, "GLSL_INFER_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}

    def run(*words: str, keys: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "glsl_infer", *words],
            cwd=tmp_path, env=environment, input=keys, capture_output=True, text=True, check=False, timeout=1200,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    collect = printed("your-classes.md", "collect --source film.mp4")
    every = int(collect[collect.index("--every") + 1])
    views = [frame for seed, name in enumerate(PEOPLE) for frame in frames(name, FRAMES_PER_VISIT, seed)]
    write_film(tmp_path / "film.mp4", [frame for frame in views for _ in range(every)])
    classes = collect.index("--classes") + 1
    assert collect[classes].endswith(",none")
    collect[classes] = ",".join([*PEOPLE, "none"])
    run(*collect, keys="1" * FRAMES_PER_VISIT + "2" * FRAMES_PER_VISIT)
    assert {path.name: len(list(path.iterdir())) for path in (tmp_path / "photos").iterdir()} == {
        **dict.fromkeys(PEOPLE, FRAMES_PER_VISIT),
        "none": 0,
    }
    run(*printed("your-classes.md", "train photos/"))
    with broker(tmp_path, port := free_port()):
        (tmp_path / "deployment.yml").write_text(DEPLOYMENT % f"mqtt://127.0.0.1:{port}/door")
        run(*printed("raspberry-pi.md", "deploy deployment.yml"))
        installed = run_script(tmp_path)
        assert installed.returncode == 0, installed.stderr
        unit = (tmp_path / "board/systemd/glsl-infer.service").read_text()
        (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
        _, *words = shlex.split(line.replace("/opt/glsl-infer", str(tmp_path / "board")))
        write_film(tmp_path / "visit.mp4", [*frames("grace", 6, 7), *frames("eileen", 6, 8)])
        words[words.index("picamera2")] = str(tmp_path / "visit.mp4")
        heard = Heard(port)
        lines = [json.loads(line) for line in run(*words).splitlines()]
        wait_for(lambda: heard.last.get("door/status") == "offline")
        heard.close()
    labels = [line["predictions"][0]["label"] for line in lines]
    assert len(labels) == 12
    assert ("door/grace", "ON") in heard.all, labels
    assert ("door/eileen", "ON") in heard.all, labels
    assert heard.all.index(("door/grace", "ON")) < heard.all.index(("door/eileen", "ON"))
