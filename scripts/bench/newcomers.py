#!/usr/bin/env python3
"""Time five new users, each with a fresh clone and an empty HOME, and write newcomers.md.

    python scripts/bench/newcomers.py                      # all five; an hour of a small machine, and some GB
    python scripts/bench/newcomers.py --only keras,page    # some of them; the rows of the others stay
    python scripts/bench/newcomers.py --only owner --data ../shared/data/grocery/test

Each runs the commands of the pages word by word; if a page no longer has a command, the script ends before the first
run. Only file names are the user's own. The clone has the committed files. pip, npm and apt have this machine's
configuration. The exit status is 1 if a command failed; its output is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from newcomer_steps import NEWCOMERS, PORT, SERVED, Newcomer

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/engineering/newcomers.md"
PATIENCE = 1800.0
"""Timeout of one command in seconds."""

KEPT = re.compile(
    r"(?i)(pip|npm_config|uv)_.*|.*_proxy|lang|lc_.*|path|ssl_cert.*|requests_ca_bundle|node_extra_ca_certs"
)
"""Environment variables of this machine that the new user has as well."""


DEPLOYMENT = "models:\n  - {name: door, source: door.glslnn}\n"


class NewcomerError(Exception):
    """A failure during a new user's task."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run all tasks, print and write the times; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME,NAME", help=", ".join(newcomer.name for newcomer in NEWCOMERS))
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where clones go (default: a temporary folder)")
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data/grocery/train", metavar="DIR",
        help="photographs for 'owner': DIR/Banana/*.jpg and DIR/Carrots/*.jpg",
    )  # fmt: skip
    parser.add_argument(
        "--no-page", action="store_true", help="print, and leave docs/engineering/newcomers.md as it is"
    )
    args = parser.parse_args(argv)
    names = [newcomer.name for newcomer in NEWCOMERS] if args.only is None else args.only.split(",")
    chosen = [newcomer for newcomer in NEWCOMERS if newcomer.name in names]
    try:
        if len(chosen) != len(names):
            raise NewcomerError(f"--only {args.only}; choose of {', '.join(newcomer.name for newcomer in NEWCOMERS)}")
        for newcomer in chosen:
            check(newcomer, ROOT)
        with tempfile.TemporaryDirectory(dir=args.folder, prefix="newcomers-") as folder:
            minutes = {newcomer.name: play(newcomer, Path(folder), args.data.resolve()) for newcomer in chosen}
    except NewcomerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not args.no_page:
        write(minutes)
    return 0


def check(newcomer: Newcomer, root: Path) -> None:
    """Check that the pages have every command of a new user.

    Raises:
        NewcomerError: a command is missing; the message has page and command.
    """
    for step in newcomer.steps:
        if step.written not in " ".join((root / step.page).read_text("utf-8").split()):
            raise NewcomerError(f"{step.page} no longer says: {step.written}")


def play(newcomer: Newcomer, folder: Path, data: Path) -> list[float]:
    """Run all commands of a new user; return the minutes of each command, with the clone first.

    Raises:
        NewcomerError: a command failed.
    """
    home, clone = folder / f"{newcomer.name}-home", folder / newcomer.name
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    for variable, file in (("PIP_CONFIG_FILE", ".config/pip/pip.conf"), ("NPM_CONFIG_USERCONFIG", ".npmrc")):
        if (Path.home() / file).is_file():
            environment.setdefault(variable, str(Path.home() / file))
    path = [entry for entry in environment["PATH"].split(os.pathsep) if ".venv" not in entry]
    environment.update(HOME=str(home), PATH=os.pathsep.join([str(clone / ".venv/bin"), *path]))
    took = [typed(f"git clone -q {shlex.quote(str(ROOT))} {shlex.quote(str(clone))}", folder, environment)]
    prepare(newcomer, clone, data)
    for step in newcomer.steps:
        how = served if step.until == SERVED else typed
        took.append(how(step.typed or step.written, clone, environment))
    print(f"{newcomer.name}: {sum(took):.1f} minutes", flush=True)
    shutil.rmtree(clone)
    return took


def prepare(newcomer: Newcomer, clone: Path, data: Path) -> None:
    """Copy the user's own files into place.

    Raises:
        NewcomerError: there are too few.
    """
    for source, target in newcomer.files:
        pattern, _, span = source.partition(" ")
        base = clone
        if pattern.startswith("DATA/"):
            base, pattern = data, pattern[len("DATA/") :]
        files = sorted(base.glob(pattern))
        if span:
            first, last = map(int, span.split())
            files = files[first:last] if len(files) >= last else []
        if not files:
            raise NewcomerError(f"{newcomer.name}: {base / pattern} are too few; give --data")
        if target.endswith("/"):
            (clone / target).mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, clone / target)
    (clone / "deployment.yml").write_text(DEPLOYMENT, "utf-8")


def typed(command: str, folder: Path, environment: dict[str, str]) -> float:
    """Run a line of bash; return its minutes.

    Raises:
        NewcomerError: it failed, or took too long.
    """
    began = time.monotonic()
    try:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
            timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NewcomerError(f"{command}: not over after {PATIENCE / 60:.0f} minutes") from None
    minutes = (time.monotonic() - began) / 60
    if done.returncode:
        raise NewcomerError(f"{command}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    print(f"  {minutes:5.1f}  {command}", flush=True)
    return minutes


def served(command: str, folder: Path, environment: dict[str, str]) -> float:
    """Run a line that serves a page; return the minutes until the page answers.

    Raises:
        NewcomerError: the command ended before, or took too long.
    """
    began = time.monotonic()
    log = folder / "served.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=folder, env=environment, stdout=out, stderr=out,
            start_new_session=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        while not answers():
            if process.poll() is not None or time.monotonic() - began > PATIENCE:
                raise NewcomerError(f"{command}: serves no page\n{log.read_text('utf-8', 'replace')[-4000:]}")
            time.sleep(1.0)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 15)
            process.wait()
    minutes = (time.monotonic() - began) / 60
    print(f"  {minutes:5.1f}  {command}", flush=True)
    return minutes


def answers() -> bool:
    """Return whether the page answers."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"http://127.0.0.1:{PORT}/", timeout=5
        ) as page:
            return b"<canvas" in page.read()
    except OSError:
        return False


def write(minutes: dict[str, list[float]]) -> None:
    """Write the page, and keep the rows of users that were not run."""
    before: dict[str, list[float]] = {}
    if PAGE.is_file():
        stored = re.search(r"<!-- minutes: (.*) -->", PAGE.read_text("utf-8"))
        before = json.loads(stored[1]) if stored else {}
    times = {**before, **{name: [round(step, 2) for step in took] for name, took in minutes.items()}}
    lines = [
        "# Newcomers",
        "",
        "The time of five typical beginnings. `scripts/bench/newcomers.py` makes a fresh clone and an empty HOME for",
        "each, runs the commands of the guides, and writes this page. Minutes include downloads by pip and npm.",
        f"Measured on {os.cpu_count()} busy cores with llvmpipe, on a machine that has all Debian packages.",
        "",
        "| task | minutes | the longest step |",
        "|---|---|---|",
    ]
    for newcomer in NEWCOMERS:
        if newcomer.name not in times:
            continue
        took = times[newcomer.name]
        labels = ["git clone", *(step.written for step in newcomer.steps)]
        longest = max(zip(took, labels)) if len(took) == len(labels) else (0.0, "?")
        lines.append(f"| {newcomer.wants} | {sum(took):.1f} | {longest[0]:.1f}: `{longest[1]}` |")
    times_json = json.dumps(times, separators=(",", ":"))
    PAGE.write_text("\n".join([*lines, "", f"<!-- minutes: {times_json} -->", ""]), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
