"""glsl-infer deploy: the file, downloads, and the folder. tests/keras/test_export.py tests its exports."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command_line import Capture, refused, run_python
from red_squares import folder_of_tasks
from tiny import SIZE, write_tiny

from glsl_infer import bundle
from glsl_infer.cli import main
from glsl_infer.errors import InputError
from glsl_infer.tasks import models as task_models
from glsl_infer.tasks import reading
from glsl_infer.tools.deploy import folder, wheel
from glsl_infer.tools.deploy.description import Deployment, Model, On, Service

pytestmark = pytest.mark.slow


@pytest.fixture
def working_folder(tmp_path: Path) -> Path:
    write_tiny(tmp_path)
    return tmp_path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def described(folder: Path, text: str) -> Path:
    (folder / "deployment.yml").write_text(text)
    return folder / "deployment.yml"


KEY = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
"""A public key of minisign."""

ONE_MODEL = "models:\n  - name: tiny\n    source: tiny.glslnn\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(working_folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(working_folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


# Files ---------------------------------------------------------------------------------------------


def test_a_deployment_has_models_sums_service_and_install_script(working_folder: Path, capsys: Capture) -> None:
    text = ONE_MODEL + f"    input_size: {SIZE}\n    sha256: '{digest(working_folder / 'tiny.glslnn')}'\n"
    text += "service:\n  source: /dev/video2\n"
    assert main(["deploy", str(described(working_folder, text)), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    out = working_folder / "deployment"
    assert sorted(path.name for path in out.iterdir()) == [
        "SHA256SUMS", "deployment.json", "glsl-infer.service", wheel.NAME, "install.sh", "models",
    ]  # fmt: skip
    assert report["models"][0]["sha256"] == digest(out / "models/tiny.glslnn") == digest(working_folder / "tiny.glslnn")
    assert bundle.read(out / "models/tiny.glslnn").manifest.input.size == SIZE
    assert report["service"]["model"] == "tiny"
    assert sorted(path.name for path in working_folder.iterdir()) == ["deployment", "deployment.yml", "tiny.glslnn"]


def test_the_unit_starts_a_valid_camera_command(
    working_folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["deploy", str(described(working_folder, ONE_MODEL + "service:\n  every: 3\n  top: 2\n"))]) == 0
    unit = (working_folder / "deployment/glsl-infer.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    program, *arguments = line.split()
    assert program.endswith("/venv/bin/glsl-infer")
    started = []
    monkeypatch.setattr(importlib.import_module("glsl_infer.cli.camera"), "run", started.append)
    assert main(arguments) == 0
    assert (started[0].source, started[0].every, started[0].top, started[0].json) == ("picamera2", 3, 2, True)
    assert started[0].model.name == "tiny.glslnn"


def test_the_script_checks_and_copies(working_folder: Path) -> None:
    assert main(["deploy", str(described(working_folder, ONE_MODEL))]) == 0
    script, board = working_folder / "deployment/install.sh", working_folder / "board"
    subprocess.run(["sh", "-n", script], check=True)
    private = os.umask(0o077)
    try:
        subprocess.run([script, "--files-only", board], check=True, cwd="/")
    finally:
        os.umask(private)
    for path in (board, board / "models", board / "models/tiny.glslnn"):
        assert path.stat().st_mode & 0o044 == 0o044  # readable for the service's user
    assert digest(board / "models/tiny.glslnn") == digest(working_folder / "tiny.glslnn")
    copied = working_folder / "deployment/models/tiny.glslnn"
    copied.write_bytes(copied.read_bytes()[:-1])
    done = subprocess.run([script, "--files-only", board], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "error: a file is missing or damaged" in done.stderr
    assert digest(board / "models/tiny.glslnn") == digest(working_folder / "tiny.glslnn")


@pytest.fixture
def no_tools(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a script that can check files, but cannot change anything."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "sha256sum", "dirname", "ls", "head"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    return {"PATH": str(tmp_path / "bin")}


@pytest.mark.parametrize("how", ["missing", "another"])
def test_the_script_installs_no_other_wheel(working_folder: Path, no_tools: dict[str, str], how: str) -> None:
    assert main(["deploy", str(described(working_folder, ONE_MODEL))]) == 0
    packed = working_folder / "deployment" / wheel.NAME
    packed.rename(packed.with_name("glsl_infer-9.9-py3-none-any.whl"))
    if how == "another":
        packed.write_bytes(b"anything")
    done = subprocess.run(
        [working_folder / "deployment/install.sh"], env=no_tools, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: a file is missing or damaged; copy the folder again\n" in done.stderr


def test_the_script_asks_no_index(working_folder: Path) -> None:
    assert main(["deploy", str(described(working_folder, ONE_MODEL))]) == 0
    script = (working_folder / "deployment/install.sh").read_text()
    (installed,) = re.findall(r"/pip\" install (.*)\n", script)
    assert installed == f"--quiet --no-index --no-deps --force-reinstall ./{wheel.NAME}"


def test_the_wheel_is_this_program(working_folder: Path, tmp_path: Path) -> None:
    assert main(["deploy", str(described(working_folder, ONE_MODEL))]) == 0
    packed = working_folder / "deployment" / wheel.NAME
    assert f"{digest(packed)}  {wheel.NAME}" in (working_folder / "deployment/SHA256SUMS").read_text().splitlines()
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import glsl_infer, glsl_infer.support.resources as r; print(glsl_infer.__file__, r.default_model().is_file())"
    )
    done = run_python("-c", program, check=True)
    assert done.stdout.split() == [str(tmp_path / "site/glsl_infer/__init__.py"), "True"]


def test_a_checkout_that_is_not_installed_makes_the_same_wheel(
    working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def members(folder: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(folder / wheel.write(folder)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    (working_folder / "other").mkdir()
    installed = members(working_folder)
    monkeypatch.setattr(wheel, "_metadata", lambda: None)
    not_installed = members(working_folder / "other")
    (points,) = (name for name in not_installed if name.endswith("entry_points.txt"))
    assert sorted(not_installed[points].split()) == sorted(installed[points].split())
    (about,) = (name for name in not_installed if name.endswith("METADATA"))
    assert set(not_installed[about].split(b"\n")) <= set(installed[about].split(b"\n")) | {b"Metadata-Version: 2.1"}


def test_root_runs_the_service_only_where_it_is_allowed(working_folder: Path, capsys: Capture) -> None:
    file = described(working_folder, ONE_MODEL + "service:\n  user: root\n")
    assert "or give --allow-root" in refused(capsys, ["deploy", file])
    assert not (working_folder / "deployment").exists()
    assert main(["deploy", "--allow-root", str(file)]) == 0
    assert "User=root" in (working_folder / "deployment/glsl-infer.service").read_text()


def test_only_files(working_folder: Path) -> None:
    assert (
        main(
            ["deploy", str(described(working_folder, ONE_MODEL + "target: files\n")), "-o", str(working_folder / "out")]
        )
        == 0
    )
    assert sorted(path.name for path in (working_folder / "out").iterdir()) == [
        "SHA256SUMS",
        "deployment.json",
        "models",
    ]


def test_only_an_older_deployment_is_replaced(working_folder: Path, capsys: Capture) -> None:
    file = described(working_folder, ONE_MODEL)
    assert main(["deploy", str(file)]) == 0
    file.write_text(ONE_MODEL.replace("name: tiny", "name: other"))
    assert main(["deploy", str(file)]) == 0
    assert [path.name for path in (working_folder / "deployment/models").iterdir()] == ["other.glslnn"]
    capsys.readouterr()
    (working_folder / "mine").mkdir()
    assert "is not a deployment of glsl-infer" in refused(capsys, ["deploy", file, "-o", working_folder / "mine"])
    file.write_text(ONE_MODEL.replace("tiny.glslnn", "none.glslnn"))
    refused(capsys, ["deploy", file])
    assert [path.name for path in (working_folder / "deployment/models").iterdir()] == ["other.glslnn"]


def test_check_reads_the_file_alone(working_folder: Path, capsys: Capture) -> None:
    assert (
        main(["deploy", "--check", str(described(working_folder, ONE_MODEL.replace("tiny.glslnn", "none.glslnn")))])
        == 0
    )
    assert not (working_folder / "deployment").exists()


# Tasks and events ----------------------------------------------------------------------------------


def started(unit: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the arguments of the command that a unit starts, as systemd splits them."""
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    _, *words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line)]
    parsed: list[Any] = []
    monkeypatch.setattr(importlib.import_module("glsl_infer.cli.camera"), "run", parsed.append)
    assert main(words) == 0
    return parsed[0]


def test_a_task_of_the_package_with_its_models_and_program(
    working_folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLSL_INFER_MODELS", str(working_folder / "fetched"))
    (working_folder / "ring.sh").write_text("#!/bin/sh\n")
    text = "service:\n  task: face-mesh\n  on_appear: ring.sh '50 % $HOME \"x\" a\\b'\n  snapshots: true\n"
    file = described(working_folder, text + "  mqtt: mqtt://pi@broker/door\n  gpio: '17'\n")
    assert "fetch it: glsl-infer get face-mesh" in refused(capsys, ["deploy", file])
    (working_folder / "fetched").mkdir()
    for name in ("face-mesh", "face-detection"):
        shutil.copy(working_folder / "tiny.glslnn", working_folder / f"fetched/{name}.glslnn")
    assert (
        main(["deploy", "--check", str(file)]) == 0 and "no problems found (task face-mesh)" in capsys.readouterr().out
    )
    assert main(["deploy", "--check", "--json", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == {"models": [], "task": "face-mesh"}
    assert main(["deploy", str(file)]) == 0
    assert "\n  programs/ring.sh\n" in capsys.readouterr().out
    out = working_folder / "deployment"
    assert {path.name for path in (out / "models").iterdir()} == {"face-mesh.glslnn", "face-detection.glslnn"}
    unit = (out / "glsl-infer.service").read_text()
    args = started(unit, monkeypatch)
    assert (args.task, args.mqtt, args.gpio, args.model) == ("face-mesh", "mqtt://pi@broker/door", ["17"], None)
    assert shlex.split(args.on_appear) == ["/opt/glsl-infer/programs/ring.sh", '50 % $HOME "x" a\\b']
    assert str(args.snapshot) == "/var/lib/glsl-infer/snapshots"
    assert "GLSL_INFER_MODELS=/opt/glsl-infer/models" in unit and "EnvironmentFile=-/etc/glsl-infer.env" in unit
    assert "SupplementaryGroups=video render gpio" in unit
    assert "python3-paho-mqtt python3-gpiozero python3-lgpio" in (out / "install.sh").read_text()
    (out / "programs/ring.sh").chmod(0o600)
    subprocess.run([out / "install.sh", "--files-only", working_folder / "board"], check=True)
    assert os.access(working_folder / "board/programs/ring.sh", os.X_OK)
    assert digest(working_folder / "board/models/face-mesh.glslnn") == digest(working_folder / "tiny.glslnn")
    (working_folder / "ring.sh").unlink()
    assert main(["deploy", str(file)]) == 0
    report = f"\n  ring.sh: not copied, because it is not in the folder of {file.name}; the board must have it\n"
    assert report in capsys.readouterr().out and not (out / "programs").exists()


def test_a_task_of_the_user_is_deployed_with_its_detector(
    working_folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (working_folder / "mine").mkdir()
    folder = folder_of_tasks(working_folder / "mine")
    assert main(["deploy", str(described(working_folder, "service:\n  task: mine/sides.json\n"))]) == 0
    out = working_folder / "deployment"
    args = started((out / "glsl-infer.service").read_text(), monkeypatch)
    assert args.task == "/opt/glsl-infer/tasks/sides.json"
    assert {"sides.json", "squares.json"} <= {path.name for path in (out / "tasks").iterdir()}
    for name in ("sides", "squares"):  # the board's folder is complete
        description = reading.read(out / f"tasks/{name}.json")
        assert digest(task_models.find(description.model, description.source)) == digest(folder / description.model)
    subprocess.run([out / "install.sh", "--files-only", working_folder / "board"], check=True)
    assert (working_folder / "board/tasks/sides.json").is_file()
    capsys.readouterr()
    signed = ["deploy", working_folder / "deployment.yml", "--require-signature", KEY]
    assert "sides.glslnn.minisig: no such file; a signature is required" in refused(capsys, signed)
    (folder / "sides.json").write_text((folder / "sides.json").read_text().replace("squares.json", "../squares.json"))
    assert "must be next to the task" in refused(capsys, ["deploy", working_folder / "deployment.yml"])


def test_labels_that_start_commands(working_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    on = "- {label: second class, command: aplay meow.wav}"
    text = f"service:\n  threshold: 0.7\n  gpio: 'second class=4'\n  on:\n    {on}\n"
    assert main(["deploy", str(described(working_folder, ONE_MODEL + text))]) == 0
    args = started((working_folder / "deployment/glsl-infer.service").read_text(), monkeypatch)
    assert (args.on, args.gpio, args.threshold) == ([["second class", "aplay meow.wav"]], ["second class=4"], 0.7)
    capsys.readouterr()
    for wrong in ("gpio: 'Second class=4'", "on: [{label: Second class, command: aplay meow.wav}]"):
        message = refused(capsys, ["deploy", described(working_folder, f"{ONE_MODEL}service:\n  {wrong}\n")])
        assert "model 'tiny' has no label 'Second class'" in message


# Downloads -----------------------------------------------------------------------------------------


def test_a_download_with_its_hash(working_folder: Path, server: str) -> None:
    sha256 = digest(working_folder / "tiny.glslnn")
    text = f"models:\n  - name: web\n    source: {server}/tiny.glslnn\n    sha256: '{sha256}'\n"
    assert main(["deploy", str(described(working_folder, text))]) == 0
    assert digest(working_folder / "deployment/models/web.glslnn") == sha256


def test_a_download_that_is_another_file(working_folder: Path, server: str, capsys: Capture) -> None:
    text = f"models:\n  - name: web\n    source: {server}/tiny.glslnn\n    sha256: '{'0' * 64}'\n"
    message = refused(capsys, ["deploy", described(working_folder, text)])
    assert "model 'web'" in message
    assert digest(working_folder / "tiny.glslnn") in message
    assert not (working_folder / "deployment").exists()


def test_a_download_that_is_not_there(working_folder: Path, server: str, capsys: Capture) -> None:
    text = f"models:\n  - name: web\n    source: {server}/none.glslnn\n    sha256: '{'0' * 64}'\n"
    assert "none.glslnn cannot be downloaded (" in refused(capsys, ["deploy", described(working_folder, text)], code=1)


@pytest.fixture
def drops() -> Iterator[str]:
    """Return the address of a server that sends one byte at a time without end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
                while not ended.wait(0.05):
                    connection.sendall(b"x")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        ended.set()
        thread.join()


def test_a_download_that_never_ends(working_folder: Path, drops: str, capsys: Capture) -> None:
    text = f"models:\n  - name: web\n    source: {drops}/tiny.glslnn\n    sha256: '{'0' * 64}'\n"
    message = refused(capsys, ["deploy", "--timeout", "0.5", described(working_folder, text)], code=1)
    assert "was not downloaded in 0.5 seconds; try again, or give --timeout SECONDS" in message
    assert not (working_folder / "deployment").exists()
    assert "--timeout 0; give more than 0" in refused(
        capsys, ["deploy", "--timeout", "0", described(working_folder, text)]
    )


SECRET = "s3cret"


def test_a_password_is_sent_and_never_shown(working_folder: Path, capsys: Capture) -> None:
    calls = []

    class Asks(Quiet):
        def do_GET(self) -> None:
            calls.append((self.path, self.headers.get("Authorization")))
            self.path = self.path.partition("?")[0]
            super().do_GET()

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Asks, directory=str(working_folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://me:{SECRET}%40@127.0.0.1:{server.server_address[1]}/tiny.glslnn?token={SECRET}"
        text = (
            f"models:\n  - name: web\n    source: {address}\n    sha256: '{digest(working_folder / 'tiny.glslnn')}'\n"
        )
        assert main(["deploy", str(described(working_folder, text))]) == 0
        server.shutdown()
        thread.join()
    credentials = base64.b64encode(f"me:{SECRET}@".encode()).decode()
    assert calls == [(f"/tiny.glslnn?token={SECRET}", f"Basic {credentials}")]
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    files = [path for path in (working_folder / "deployment").rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("source", "hashed"),
    [
        (f"http://me:{SECRET}@127.0.0.1:1/a.glslnn?token={SECRET}", True),  # a port without a server
        (f"http://me:{SECRET}@/a.glslnn", True),
        (f"https://me:{SECRET}@x.org/a.glslnn", False),
        (f"ftp://me:{SECRET}@x.org/a.glslnn", True),
        (f"http://me:{SECRET}@x.org/a.tflite", True),
        (f"http://me:{SECRET}@x.org/{'a' * 2000}", True),
    ],
)
def test_no_refusal_shows_a_password(working_folder: Path, capsys: Capture, source: str, hashed: bool) -> None:
    text = f"models:\n  - name: web\n    source: {source}\n" + f"    sha256: '{'0' * 64}'\n" * hashed
    assert main(["deploy", str(described(working_folder, text))]) in (1, 2)
    message = capsys.readouterr().err
    assert message.startswith("error: ") and SECRET not in message


# Refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "wording"),
    [
        ("models:\n  - name: a\n    sauce: b.glslnn\n", 3, "did you mean source"),
        ("models:\n  - name: a/b\n    source: b.glslnn\n", 2, "must be a name of letters"),
        ("models:\n  - name: a\n", 2, "source is ''"),
        ("models:\n  - name: a\n    source: b.tflite\n", 2, "must end in .keras or .glslnn"),
        ("models:\n  - name: a\n    source: https://x.org/b.glslnn\n", 2, "a URL needs sha256"),
        ("models:\n  - name: a\n    source: file:///etc/b.glslnn\n    sha256: ''\n", 4, "64 hexadecimal digits"),
        ("models:\n  - name: a\n    source: file:///etc/b.glslnn\n", 2, "only https:// and http://"),
        ("models:\n  - name: a\n    source: b.glslnn\n    weights: big\n", 4, "must be auto or baked"),
        ("models:\n  - name: a\n    source: b.glslnn\n    labels: l.txt\n", 2, "labels: b.glslnn is exported already"),
        (ONE_MODEL + "  - name: tiny\n    source: b.glslnn\n", 1, "two models have the name 'tiny'"),
        (ONE_MODEL + "service:\n  model: other\n", 1, "service.model is 'other'; the models are tiny"),
        (ONE_MODEL + "service:\n  user: root; reboot\n", 5, "a user's name"),
        (ONE_MODEL + "service:\n  source: film.mp4\n", 5, "picamera2 or /dev/videoN"),
        (ONE_MODEL + "target: phone\n", 4, "raspberry-pi or files"),
        ("models: []\n", 1, "a list of groups"),
        ("service:\n  top: 1\n", 1, "models is missing"),
        ("models: [\n", 2, "is not YAML"),
        ("service:\n  task: noses\n", 0, "task 'noses': no such task; give one of dogs, face-mesh"),
        ("service:\n  task: faces\n  top: 2\n  on: [{label: a, command: b}]\n", 2, "are for classifiers"),
        ("service:\n  task: faces-fra\n", 2, "task 'faces-fra': no such task (did you mean faces-far?)"),
        (ONE_MODEL + "service:\n  snapshots: true\n", 5, "need a task"),
        (ONE_MODEL + "service:\n  on: []\n", 5, "a list of groups"),
        (ONE_MODEL + "service:\n  on: [{label: a}]\n", 5, "give label and command"),
        ('service:\n  task: faces\n  on_appear: "\'"\n', 2, "cannot be read (No closing quotation)"),
        ("service:\n  task: faces\n  mqtt: http://x/y\n", 2, "not an MQTT address; give mqtt://"),
        ("service:\n  task: faces\n  mqtt: mqtt://u:s3cret@x/y\n", 2, "leave the password out"),
        ("service:\n  task: faces\n  gpio: a=17\n", 2, "give PIN alone with a task"),
    ],
)
def test_invalid_entries_are_reported_with_their_line(
    text: str, line: int, wording: str, working_folder: Path, capsys: Capture
) -> None:
    file = described(working_folder, text)
    message = refused(capsys, ["deploy", file])
    assert message.startswith(f"error: {file}:{line}: " if line else "error: ")
    assert wording in message
    assert "s3cret" not in message


@pytest.mark.parametrize("hidden", ["\\u202e", "\\e", "\\x9b", "\\ud800", "\\u200b", "\\n"])
@pytest.mark.parametrize(
    "text",
    [
        'models: [{name: "aHIDDEN", source: b.glslnn}]\n',
        'models: [{name: a, source: "bHIDDEN.glslnn"}]\n',
        ONE_MODEL + 'service: {source: "/dev/video0HIDDEN"}\n',
        ONE_MODEL + 'service: {user: "piHIDDEN"}\n',
        ONE_MODEL + 'service: {mqtt: "mqtt://broker/aHIDDENb"}\n',
        ONE_MODEL + 'service: {gpio: "catHIDDEN=4"}\n',
        ONE_MODEL + 'service: {on: [{label: "catHIDDEN", command: aplay}]}\n',
        ONE_MODEL + 'service: {on: [{label: cat, command: "aplay HIDDEN"}]}\n',
    ],
)
def test_a_setting_with_a_hidden_character_is_refused(
    text: str, hidden: str, working_folder: Path, capsys: Capture
) -> None:
    """YAML can escape any character; none of them comes into a unit, a script or a topic."""
    message = refused(capsys, ["deploy", described(working_folder, text.replace("HIDDEN", hidden))])
    assert message.strip().isprintable() and "deployment.yml:" in message
    assert not (working_folder / "deployment").exists()


def test_a_program_with_a_hidden_character_in_its_name(working_folder: Path, capsys: Capture) -> None:
    (working_folder / "a\u202eb").write_text("#!/bin/sh\n")
    service = Service(on=(On("first", "a\u202eb"),))
    with pytest.raises(InputError, match=r"programs/a\\u202eb: the name has a character that is not shown"):
        folder.make(
            Deployment((Model("tiny", "tiny.glslnn"),), service=service), working_folder, working_folder / "out"
        )
    assert not (working_folder / "out").exists()


def test_thousands_of_names_are_checked_in_linear_time(working_folder: Path, capsys: Capture) -> None:
    """Checking 3,000 names takes linear time. A search of the list for each name would take minutes."""
    names = "".join(f"  - {{name: m{index}, source: a.glslnn}}\n" for index in range(3000))
    counted = []

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            counted.append(1)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    models = tuple(Model(name=Name(f"m{index}"), source="a.glslnn") for index in range(3000))
    assert Deployment(models=models).models == models
    assert len(counted) < 10 * len(models)
    assert main(["deploy", "--check", str(described(working_folder, f"models:\n{names}"))]) == 0
    capsys.readouterr()


def test_a_group_that_is_there_a_million_times(working_folder: Path, capsys: Capture) -> None:
    text = "models: [&a {name: a, source: a.glslnn}," + "*a," * 20_000 + "]\n"
    assert "is one of more than 10,000 groups" in refused(capsys, ["deploy", described(working_folder, text)])
    assert "larger than 256 KiB" in refused(capsys, ["deploy", described(working_folder, "#" * 300_000)])


def test_files_outside_the_folder_are_refused(working_folder: Path, capsys: Capture) -> None:
    """Paths and links from a downloaded folder to files outside are refused."""
    inner = working_folder / "cloned"
    inner.mkdir()
    (working_folder / "secret.sh").write_text("#!/bin/sh\n")
    (inner / "linked.glslnn").symlink_to("../tiny.glslnn")
    text = (
        "models:\n  - {name: one, source: ../tiny.glslnn}\n  - {name: two, source: linked.glslnn}\n"
        f"  - {{name: three, source: {working_folder}/m.keras, labels: ../secret.sh}}\n"
        "service:\n  on:\n    - {label: cat, command: ../secret.sh now}\n"
    )
    message = refused(capsys, ["deploy", described(inner, text)])
    for named in ("'one': source ../tiny", "'two': source linked", "'three': source /", "labels ../s", "program ../s"):
        assert named in message
    assert not (inner / "deployment").exists()
    assert main(["deploy", "--allow-outside", str(described(inner, ONE_MODEL.replace("tiny.gl", "../tiny.gl")))]) == 0


def test_another_size_than_described(working_folder: Path, capsys: Capture) -> None:
    message = refused(capsys, ["deploy", described(working_folder, ONE_MODEL + "    input_size: 385\n")])
    assert f"reads images of {SIZE}x{SIZE}, not of input_size 385" in message


def test_a_file_of_another_kind_is_refused_as_model(working_folder: Path, capsys: Capture) -> None:
    (working_folder / "tiny.glslnn").write_text("no model")
    assert "not a glsl-infer model" in refused(capsys, ["deploy", described(working_folder, ONE_MODEL)])
    assert not (working_folder / "deployment").exists()


def test_the_file_in_the_docs_is_right(tmp_path: Path, capsys: Capture) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/reference/deploy.md").read_text("utf-8")
    models, task = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert main(["deploy", "--check", str(described(tmp_path, models))]) == 0
    assert "no problems found (trash, shipped)" in capsys.readouterr().out
    assert main(["deploy", "--check", str(described(tmp_path, task))]) == 0
    assert "no problems found (task faces-far)" in capsys.readouterr().out
    for name in ("doorbell", "raspberry-pi"):
        page = (Path(__file__).resolve().parents[2] / f"docs/guide/{name}.md").read_text("utf-8")
        example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
        assert main(["deploy", "--check", str(described(tmp_path, example))]) == 0
