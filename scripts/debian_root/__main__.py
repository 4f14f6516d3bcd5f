#!/usr/bin/env python3
"""Test the project on a bare Debian 12 or 13 in a folder: documented commands, a deployment, and targets of make.

    python3 scripts/debian_root 13                          # the steps board, deploy, classify and quick
    python3 scripts/debian_root 12 deploy test-llvmpipe     # these steps
    python3 scripts/debian_root 13 --run ".venv/bin/python -m pytest tests/gl -q"       # in that root's checkout

Steps:
    board     raspberry-pi.md, as a user with sudo: its apt lines, the commands of "Install" and of "Check", a film
              by Debian's PyAV
    deploy    `glsl-infer deploy`, install.sh with sudo, and the first frame that the service writes. Placeholders
              replace systemctl and the camera's package python3-picamera2, which Debian lacks
    TARGET    `make TARGET` as root in a copy of the checkout, on a machine that has only git, make and python3

The roots are stored in $GLSL_INFER_DEBIAN, by default ~/.cache/glsl-infer/debian, and built again when their packages
change. Needs mmdebstrap, and root or, for another user, the package uidmap (scripts/system-packages --debian-root
installs both). The kernel must allow mounts, which many containers forbid.

The roots also use this machine's settings of apt, pip and npm for mirrors, proxies and certificates.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "build")]

import raspberry_pi  # noqa: E402
from debian_packages import REACHING, PackageError, apt, own_mirror  # noqa: E402
from system_root import Root, StepError  # noqa: E402

PROJECT = HERE.parents[1]
SUITES = {"12": "bookworm", "13": "trixie"}
BARE = "ca-certificates,git,make,passwd,python3,sudo"
"""Packages of a bare machine: those required by README.md, and those of every installation."""

STEPS = ("board", "deploy", "classify", "quick")
"""The default steps."""

NOT_COPIED = ("build", "dist", "data", "web/dist", "android/build")
"""Folders of a checkout to leave out, in addition to those whose names begin with a dot."""

KEPT = (".venv", "web/node_modules", "web/tfjs/node_modules")
"""Folders in the copy of the checkout that make fills."""


def main() -> int:
    """Return the exit code: 0, 1 if a step fails, 2 if the root cannot be built."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("release", choices=[*SUITES], help="of Debian")
    steps = f"board, deploy or a target of the Makefile (default: {' '.join(STEPS)})"
    parser.add_argument("steps", nargs="*", metavar="STEP", help=steps)
    parser.add_argument(
        "--run", metavar="COMMAND", help="instead of steps, a shell command in the copy of the checkout"
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # also ends the commands in the root
    if shutil.which("mmdebstrap") is None:
        print("error: mmdebstrap is not installed; type: scripts/system-packages --debian-root", file=sys.stderr)
        return 2
    if os.geteuid() != 0:  # every user id in a root folder needs a subordinate id of this user
        as_root = ["unshare", "--user", "--map-auto", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
        os.execvp(as_root[0], [*as_root, "--mount-proc", sys.executable, *sys.argv])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glsl-infer/debian"
    folder = Path(os.environ.get("GLSL_INFER_DEBIAN") or cache).absolute() / SUITES[arguments.release]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with timed("base"), locked(folder, "base"):
            build_base(folder, SUITES[arguments.release])
        for step in arguments.steps or ([] if arguments.run else STEPS):
            with timed(step):
                run_step(folder, step)
        if arguments.run:
            with timed("run"), locked(folder, "checkout"):
                checkout(folder).run(arguments.run)
    except StepError as error:
        print(f"error: Debian {arguments.release}: {error}", file=sys.stderr)
        return 1
    except PackageError as error:
        print(f"error: Debian {arguments.release}: {error}", file=sys.stderr)
        return 2
    return 0


@contextlib.contextmanager
def timed(name: str) -> Iterator[None]:
    """Print the duration of a step in seconds."""
    start = time.monotonic()
    try:
        yield
    finally:
        print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)


@contextlib.contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Wait until no other process uses a root of this release."""
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_step(folder: Path, step: str) -> None:
    """Run ``board``, ``deploy`` or a target of the Makefile."""
    if step not in ("board", "deploy"):
        with locked(folder, "checkout"):
            checkout(folder).run(f"make {step}")
        return
    with locked(folder, "board"):
        root = Root(folder / "board")
        if not root.is_current(key := key_of((folder / "base/made-by").read_bytes(), raspberry_pi.key(PROJECT))):
            root.build(folder / "base")
            raspberry_pi.prepare(root, PROJECT)
            root.finish(key)
        copy_checkout(Root(root.path, user=raspberry_pi.USER), raspberry_pi.CHECKOUT, raspberry_pi.KEPT)
        (raspberry_pi.install if step == "board" else raspberry_pi.deploy)(root)


def checkout(folder: Path) -> Root:
    """Return a root with a new copy of the checkout, as after ``git clone``."""
    root = Root(folder / "checkout", work="/root/a checkout")
    packages = (PROJECT / "scripts/system-packages").read_bytes()
    if not root.is_current(key := key_of((folder / "base/made-by").read_bytes(), packages)):
        root.build(folder / "base")
        root.finish(key)
    copy_checkout(root, root.work, KEPT)
    return root


def build_base(folder: Path, suite: str) -> None:
    """Build the root of a bare machine, unless one with the packages of this script exists."""
    base = Root(folder / "base")
    if base.is_current(key := hashlib.sha256(f"{suite} {BARE}".encode()).hexdigest()):
        return
    base.remove()
    mirror = own_mirror(suite)
    settings = apt(["apt-config", "dump", *REACHING]).splitlines()
    command = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={BARE}", "--dpkgopt=force-unsafe-io"]
    command += ["--skip=chroot/mount/sys"]  # a user namespace cannot mount it, and none of these packages reads it
    command += [f"--aptopt={line}" for line in settings if line.endswith(";")]
    command += [suite, str(base.unfinished), "-"]
    result = subprocess.run(command, input=mirror.entry("deb", suite), text=True, check=False)
    if result.returncode:
        raise PackageError(f"mmdebstrap failed with {result.returncode}; {base.unfinished} is incomplete")
    base.settle()
    base.finish(key)


def key_of(*contents: bytes) -> str:
    """Return a hash of everything used to build a root."""
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


def copy_checkout(root: Root, work: str, folders: tuple[str, ...]) -> None:
    """Replace the copy of the checkout in a root, except the folders filled by its commands."""
    target = root.path / work.lstrip("/")
    target.mkdir(parents=True, exist_ok=True)
    kept = " ".join(f"-path ./{name} -prune -o" for name in folders)
    subprocess.run(f"find . -mindepth 1 {kept} ! -type d -exec rm -f {{}} +", shell=True, cwd=target, check=True)
    files = subprocess.run(
        ["git", "-c", f"safe.directory={PROJECT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT, capture_output=True, check=False,
    )  # fmt: skip
    names = files.stdout if files.returncode == 0 and (PROJECT / ".git").exists() else all_files()
    pack = ["tar", "--create", "--null", "--files-from=-", "--ignore-failed-read", "--owner=0", "--group=0"]
    packed = subprocess.run(
        pack, cwd=PROJECT, input=names, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    subprocess.run(["tar", "--extract"], cwd=target, input=packed.stdout, check=True)
    root.own(target)


def all_files() -> bytes:
    """Return the NUL-terminated names of all files of a checkout without a git repository, such as one of .ci/run."""
    paths = []
    for folder, folders, files in os.walk(PROJECT):
        relative = Path(folder).relative_to(PROJECT)
        folders[:] = [
            name for name in folders
            if name not in ("node_modules", "__pycache__") and str(relative / name) not in NOT_COPIED
            and (not name.startswith(".") or name in (".ci", ".github"))
        ]  # fmt: skip
        paths += [os.fsencode(relative / name) for name in files]
    return b"\0".join(paths)


if __name__ == "__main__":
    sys.exit(main())
