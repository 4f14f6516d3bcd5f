"""A real MQTT broker for tests: Debian's mosquitto from the PATH, or unpacked into the cache without installation."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
from command_line import run_python
from debian_packages import own_release

from glsl_infer.support.child_process import ROOT

USER, PASSWORD = "pi", "raspberry"


def tools() -> tuple[str, str, dict[str, str]]:
    """Return the broker, its password program and their environment; skip the test if they are not available."""
    installed = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
    if installed is not None:
        return installed, "mosquitto_passwd", dict(os.environ)
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / f"glsl-infer/mosquitto-{own_release()}"
    if not (folder / "done").is_file():
        done = run_python(ROOT / "scripts/build/debian_packages.py", folder, "--missing", "mosquitto")
        if done.returncode:
            needs.missing(f"mosquitto cannot be fetched: {done.stderr.strip()[-300:]}")
        (folder / "done").touch()
    libraries = ":".join(str(path) for path in (folder / "usr/lib").glob("*-linux-gnu*"))
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    return str(folder / "usr/sbin/mosquitto"), str(folder / "usr/bin/mosquitto_passwd"), environment


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def broker(folder: Path, port: int, *, users: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """Run a broker until the block ends, unless it is killed earlier."""
    program, passwords, environment = tools()
    settings = f"listener {port} 127.0.0.1\nallow_anonymous {'false' if users else 'true'}\nuser root\n"
    if users:
        command = [passwords, "-b", "-c", str(folder / "passwords"), USER, PASSWORD]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        settings += f"password_file {folder / 'passwords'}\n"
    (folder / "mosquitto.conf").write_text(settings)
    command = [program, "-c", str(folder / "mosquitto.conf")]
    with (folder / "mosquitto.log").open("a") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                break
            time.sleep(0.05)
        else:
            pytest.fail((folder / "mosquitto.log").read_text())
        yield process
    finally:
        process.kill()
        process.wait()
