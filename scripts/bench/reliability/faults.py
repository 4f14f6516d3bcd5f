#!/usr/bin/env python3
"""Interrupt all writes of the project at every call, and check that the output is either the old one or complete.

    python scripts/bench/reliability/faults.py                   # all: a quarter of an hour on two cores
    python scripts/bench/reliability/faults.py text deployment   # these outputs only

Needs strace. For each output (``fault_writers.py``), the process is killed at each of its writing calls. At the first,
the middle and the last call of each name, it also gets other signals, and the call fails as on a full, a broken or a
read-only disk. Then the power is cut after each call (``power_cut.py``). Prints a row for each output, and ends with 1
if an output was neither the old nor the complete new one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2]), str(HERE.parents[2] / "tests")]

import power_cut  # noqa: E402
from fault_writers import CONTROLS, WRITERS, Writer  # noqa: E402

from glsl_infer.cli.execution import Parser, add_debug, execute  # noqa: E402
from glsl_infer.errors import InputError, RunError  # noqa: E402
from glsl_infer.support.files import TEMPORARY  # noqa: E402

SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES")
POWER = "power cut"
_LONGEST = 120


@dataclass
class Place:
    """Folders and contents of one output.

    Attributes:
        name, writer: the output.
        folder: the folder of the output in its current state.
        before: the folder with the old output.
        fixtures: the folder of input files.
        old, new: contents of the target before and after.
    """

    name: str
    writer: Writer
    folder: Path
    before: Path
    fixtures: Path
    old: dict[str, bytes] | None = None
    new: dict[str, bytes] | None = None

    @classmethod
    def made(cls, name: str, root: Path) -> Place:
        """Write the old output, then the new one, and record both."""
        folder, before = root / name, root / f"{name}-before"
        place = cls(name, {**WRITERS, **CONTROLS}[name], folder, before, root / "fixtures")
        before.mkdir()
        folder.mkdir()
        place.run("old")
        shutil.rmtree(before)
        shutil.move(folder, before)
        place.reset()
        place.old = place.seen()
        place.run("new")
        place.new = place.seen()
        if place.old == place.new or place.new is None:
            raise RunError(f"{name}: the new output is the old one")
        return place

    def run(self, version: str, *strace: str) -> int:
        """Write a version, under the given strace command if any; return the exit code."""
        command = [sys.executable, str(HERE / "fault_writers.py"), self.name, str(self.folder), version]
        done = subprocess.run(
            [*strace, *command, str(self.fixtures)],
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_LONGEST,
        )
        return done.returncode

    def reset(self) -> None:
        """Restore the folder with the old output."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.before, self.folder, symlinks=True)

    def seen(self) -> dict[str, bytes] | None:
        """Return the contents of the target, bytes by relative path (empty for folders); None if it does not exist."""
        target = self.folder / self.writer.target
        if not target.exists():
            return None
        files = [target, *sorted(target.rglob("*"))]
        return {str(path)[len(str(target)) :]: path.read_bytes() if path.is_file() else b"" for path in files}

    def traced(self) -> list[tuple[int, power_cut.Call]]:
        """Return the calls on the folder while the new output replaces the old one."""
        self.reset()
        log = self.folder.with_name("trace")
        options = ["-y", "-xx", "-s", "99999999", "-o", str(log), "-e", f"trace={power_cut.CALLS},lseek"]
        if self.run("new", "strace", *options):
            raise RunError(f"{self.name}: cannot be traced; strace must be allowed to")
        return [
            (index, call)
            for index, call in power_cut.calls(log.read_text("ascii", "replace"))
            if any(f"{path}/".startswith(f"{self.folder}/") for path in call.paths)
        ]


def faults(place: Place, calls: list[tuple[int, power_cut.Call]]) -> Iterator[tuple[str, str]]:
    """Yield (kind of fault, problem or an empty string) for every fault at every call of a process."""
    changing = [
        (index, call)
        for index, call in calls
        if call.name != "lseek" and (call.name != "openat" or "O_CREAT" in call.words)
    ]
    log = place.folder.with_name("injected")
    names = {
        name: [index for index, call in changing if call.name == name] for _, call in changing for name in [call.name]
    }
    sampled = {index for indices in names.values() for index in (indices[0], indices[len(indices) // 2], indices[-1])}
    for index, call in changing:
        for fault in (*SIGNALS, *ERRORS) if index in sampled else SIGNALS[:1]:
            place.reset()
            how = f"signal={fault}" if fault in SIGNALS else f"error={fault}"
            inject = f"inject={power_cut.CALLS}:{how}:when={index}"
            code = place.run("new", "strace", "-o", str(log), "-e", f"trace={power_cut.CALLS}", "-e", inject)
            contents = place.seen()
            wrong = ""
            if contents not in (place.old, place.new):
                wrong = "neither old nor complete"
            elif code == 0 and contents != place.new and not place.writer.optional:
                wrong = "said that it worked"
            elif fault in ERRORS and "unlink" not in call.name and left(place):
                wrong = "a temporary was left"
            elif index in sampled:
                place.run("new")
                wrong = "" if place.seen() == place.new else "cannot be written any more"
            yield fault, f"{place.name}, {fault} at {call.name} {index}: {wrong}" if wrong else ""


def left(place: Place) -> bool:
    """Return whether the folder has a temporary file."""
    return any(path.name.startswith((TEMPORARY, f".{place.writer.target}.")) for path in place.folder.rglob("*"))


def cuts(place: Place, calls: list[tuple[int, power_cut.Call]]) -> Iterator[tuple[str, str]]:
    """Yield (``POWER``, problem or an empty string) for every state after a power cut."""
    place.reset()
    disk = power_cut.Disk(place.folder, [call for _, call in calls])
    contents: dict[str, bytes] | None = None
    for cut, contents in disk.states(str(place.folder / place.writer.target)):
        wrong = contents not in (place.old, place.new)
        yield POWER, f"{place.name}, {POWER} before call {cut}: neither old nor complete" if wrong else ""
    if contents != place.new:
        raise RunError(f"{place.name}: the replay of its calls is not what they made")


def tried(names: list[str], *, only_power: bool = False) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Return the number of tests of each (output, kind of fault), and all problems."""
    from tiny import write_tiny

    counted: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        (root / "fixtures").mkdir()
        write_tiny(root / "fixtures", "old.glslnn", "baked")
        write_tiny(root / "fixtures", "new.glslnn", "uniform")
        for name in names:
            place = Place.made(name, root)
            calls = place.traced()
            for kind, problem in (*cuts(place, calls), *(() if only_power else faults(place, calls))):
                counted[name, kind] += 1
                wrong += [problem] if problem else []
    return counted, wrong


def main() -> int:
    """Run all tests, print a table."""
    parser = Parser(prog="faults.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("outputs", nargs="*", metavar="OUTPUT", help=f"which (default: all): {', '.join(WRITERS)}")
    parser.add_argument("--power", action="store_true", help="only the power cuts, which take seconds")
    add_debug(parser)
    parser.set_defaults(run=_run)
    return execute(parser, None)


def _run(args: argparse.Namespace) -> int:
    unknown = [name for name in args.outputs if name not in {**WRITERS, **CONTROLS}]
    if unknown:
        raise InputError(f"{unknown[0]}: no output; there are {', '.join(WRITERS)}")
    if shutil.which("strace") is None:
        raise InputError("strace is not installed: sudo apt-get install strace")
    counted, wrong = tried(args.outputs or list(WRITERS), only_power=args.power)
    kinds = list(dict.fromkeys(kind for _, kind in counted))
    print(f"{'output':12}" + "".join(f"{kind:>10}" for kind in kinds))
    for name in dict.fromkeys(name for name, _ in counted):
        print(f"{name:12}" + "".join(f"{counted[name, kind]:10,}" for kind in kinds))
    print(f"{len(counted)} kinds of faults, {sum(counted.values()):,} faults, {len(wrong)} wrong")
    for problem in wrong:
        print(f"  {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
