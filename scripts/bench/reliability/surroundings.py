#!/usr/bin/env python3
"""Run commands and readers in hostile surroundings: little memory, killed neighbours, silent peers, changed bytes.

    python scripts/bench/reliability/surroundings.py [--seed 0] [--only CASE ...] [--json]

``memory`` runs commands with less and less address space. ``caches`` kills processes that share a cache, then checks a
model with the cache. ``connections`` holds 1,000 silent connections to ``camera --serve``. ``proxy`` downloads through
a proxy that never answers. ``tables`` and ``signatures`` read changed CSV files and signatures. A traceback, a signal,
a wrong result or a hang is a finding, and the exit code is 1. ``make sweep`` runs all cases. Linux only.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import tiny  # noqa: E402

from glsl_infer.errors import GlslInferError, InputError, RunError  # noqa: E402
from glsl_infer.support.child_process import module_command  # noqa: E402

PEAK = "import glsl_infer.cli.inspect, glsl_infer.bundle; print(open('/proc/self/status').read())"
STEP, STEPS = 4 << 20, 12
PROCESSES, KILLED_AFTER = 8, 3.0
CONNECTIONS, REQUESTS = 1000, 10
CHANGES = 400
LIMIT_S = 300.0
Cases = Iterator[str]


def _command(*words: object, limit: int | None = None, **environment: str) -> subprocess.Popen[str]:
    """Start a command of glsl-infer, with at most ``limit`` bytes of address space."""
    limited = [] if limit is None else ["prlimit", f"--as={limit}"]
    return subprocess.Popen(
        [*limited, *module_command("glsl_infer", *words)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finding(process: subprocess.Popen[str]) -> str:
    """Return the problem of a command after its end, or an empty string."""
    try:
        _, printed = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return f"hangs for {LIMIT_S:.0f} s"
    if process.returncode not in (0, 1, 2) or "Traceback" in printed:
        return f"exit code {process.returncode}: {printed.strip()[-200:]}"
    return ""


def memory(folder: Path, _: random.Random) -> Cases:
    """Inspect a bundle with the memory of the command's modules, and with a little more each time."""
    path = tiny.write_tiny(folder)
    once = module_command("timeit", "-n1", "-r1", PEAK)  # timeit executes a statement
    status = subprocess.run(once, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    peak = 1024 * int(status.partition("VmPeak:")[2].split()[0])
    for step in range(1, STEPS + 1):
        process = _command("inspect", path, "--json", limit=peak + step * STEP)
        yield (how := _finding(process)) and f"inspect in {peak + step * STEP >> 20} MiB: {how}"


def caches(folder: Path, rng: random.Random) -> Cases:
    """Kill processes that check models with the same cache, and check one to its end."""
    paths = [tiny.write_tiny(folder), tiny.write_tiny(folder, "baked.glslnn", "baked")]
    cache = {"GLSL_INFER_CACHE": str(folder / "cache"), "GLSL_INFER_ISOLATION": "off"}
    running = [_command("selfcheck", rng.choice(paths), **cache) for _ in range(PROCESSES)]
    for process in rng.sample(running, PROCESSES - 1):
        time.sleep(rng.random() * KILLED_AFTER / PROCESSES)
        process.send_signal(signal.SIGKILL)
    for process in running:
        process.communicate()
        yield "" if process.returncode in (0, -signal.SIGKILL) else f"selfcheck ended with {process.returncode}"
    for path in paths:
        process = _command("selfcheck", path, **cache)
        how = _finding(process)
        yield how or ("" if process.returncode == 0 else "a model fails its self-check after others were killed")


def connections(_: Path, rng: random.Random) -> Cases:
    """Hold silent connections, and request a page between them."""
    from glsl_infer.tools.camera import mjpeg

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8 * CONNECTIONS), hard))
    with mjpeg.FrameServer(0) as server, contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.socket()) for _ in range(CONNECTIONS)]
        for silent in opened:
            silent.setblocking(False)
            silent.connect_ex((mjpeg.HOST, server.port))
        for _ in range(REQUESTS):
            for silent in rng.sample(opened, CONNECTIONS // REQUESTS):
                with contextlib.suppress(OSError):  # not connected yet, or dropped
                    silent.send(rng.choice((b"G", b"GET / HTTP/1.0\r\n")))
            how = f"no answer with {CONNECTIONS} connections"
            with contextlib.suppress(OSError), urllib.request.urlopen(server.address, timeout=60) as answer:
                how = "" if answer.status == 200 else f"status {answer.status}"
            yield how


def proxy(folder: Path, _: random.Random) -> Cases:
    """Download a package through a proxy that accepts connections and never answers."""
    from glsl_infer.tools.get import fetching

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        before = dict(os.environ)
        os.environ.update(HTTPS_PROXY=address, HTTP_PROXY=address, https_proxy=address, http_proxy=address)
        patience, fetching._PATIENCE = fetching._PATIENCE, 5
        try:
            fetching._package(SimpleNamespace(tool=fetching.PIP, package="glsl-infer-none"), folder)  # type: ignore[arg-type]
            yield "a package came from a proxy that does not answer"
        except RunError:
            yield ""
        finally:
            fetching._PATIENCE = patience
            os.environ.clear()
            os.environ.update(before)


def tables(folder: Path, rng: random.Random) -> Cases:
    """Read changed CSV files as the values of an input."""
    from glsl_infer.bundle.manifest import Input
    from glsl_infer.cli import number_files
    from glsl_infer.program.layout import FixedPoint

    model_input, path = Input("x", "numbers", FixedPoint("t", 0, 6, 1.0), None), folder / "values.csv"
    sound = b"0.5,1.5,-2.0\n3.0,4e3,5.0\n"
    for index in range(CHANGES):
        path.write_bytes(_changed(sound, rng))
        try:
            number_files.read_input(path, model_input)
            yield ""
        except GlslInferError as error:
            yield "" if str(path) in str(error) else f"table {index}: the message has no file: {error}"
        except Exception as error:
            yield f"table {index}: {error!r}"


def signatures(folder: Path, rng: random.Random) -> Cases:
    """Change a signed file or its signature."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from glsl_infer.support import signatures as checked

    secret, key_id = Ed25519PrivateKey.generate(), b"12345678"
    key = base64.b64encode(b"Ed" + key_id + secret.public_key().public_bytes_raw()).decode("ascii")
    path = tiny.write_tiny(folder)
    signature, comment = secret.sign(path.read_bytes()), b"by me"
    parts = [
        base64.b64encode(signed).decode("ascii")
        for signed in (b"Ed" + key_id + signature, secret.sign(signature + comment))
    ]
    text = f"untrusted comment: x\n{parts[0]}\ntrusted comment: by me\n{parts[1]}\n".encode("ascii")
    files = {path: path.read_bytes(), path.with_name(f"{path.name}.minisig"): text}
    for changed, sound in files.items():
        changed.write_bytes(sound)
    for other in range(CHANGES):
        changed, sound = rng.choice(list(files.items()))
        new = _changed(sound, rng)
        comment = new.partition(b"\n")[2] == sound.partition(b"\n")[2]  # the first line is not signed
        changed.write_bytes(new)
        try:
            checked.require(path, key)
            yield "" if new == sound or comment or new.split() == sound.split() else f"change {other} is accepted"
        except InputError:
            yield ""
        changed.write_bytes(sound)


def _changed(data: bytes, rng: random.Random) -> bytes:
    """Return data with a few bytes replaced, removed or repeated."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, count = rng.randrange(len(changed) + 1), rng.choice((1, 1, 2, 8))
        changed[at : at + rng.choice((0, count))] = rng.choice(
            (rng.randbytes(count), b",,\n\n", b"nan", b"1" * 400, b"")
        )
    return bytes(changed)


CASES: dict[str, Callable[[Path, random.Random], Cases]] = {
    function.__name__: function for function in (memory, caches, connections, proxy, tables, signatures)
}


def run(seed: int, cases: Sequence[str]) -> dict[str, Any]:
    """Return the counts and findings of all cases."""
    report: dict[str, Any] = {"seed": seed, "cases": {}, "findings": []}
    for name in cases:
        with tempfile.TemporaryDirectory() as folder:
            results = list(CASES[name](Path(folder), random.Random(f"{seed} {name}")))
        report["cases"][name] = len(results)
        report["findings"] += [f"{name}: {result}" for result in results if result]
    return report


def main() -> int:
    """Run and print; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    report = run(args.seed, args.only)
    if args.json:
        print(json.dumps(report))
    else:
        print(", ".join(f"{name} {count}" for name, count in report["cases"].items()))
        print(f"{len(report['findings'])} findings", *report["findings"], sep="\n")
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
