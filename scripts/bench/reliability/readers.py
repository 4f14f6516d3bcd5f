#!/usr/bin/env python3
"""Compare the three readers of bundles, in Python, Java and TypeScript, on maliciously changed files.

    python scripts/bench/reliability/readers.py [--files 5000] [--seed 0] [--keep DIR]

All three readers must accept or refuse the same files, and read the same name, passes and labels. They must refuse a
changed shader with the same message. If a file has several defects, they can name different ones. Files with different
results are stored in --keep, by default ./reader-findings. The exit code is 1 if they differ. Needs a JDK, Node with
web/node_modules, and the checkout's tests/.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).resolve().parent)]

from fuzz_worker import sound_bundles  # noqa: E402
from mutations import mutated  # noqa: E402

from glsl_infer import bundle as bundles  # noqa: E402
from glsl_infer.errors import BundleError  # noqa: E402

HERE = Path(__file__).resolve().parent
BATCH = 500
ACCEPTED = "ok"
SHADERS = ("GLSL", "tokens")
"""Kinds of changes of a shader alone."""
RULE = re.compile(r" \(rule: ([a-z. ]+)\)$")
NAMED_PART = re.compile(r"pass \d+|(?:layer|program|texture|input|output) '[^']*'|member '[^']{,99}|limits|probe")


def verdict(line: str) -> tuple[str, str]:
    """Return the rule and the part that a reader's message names; ``("ok", "")`` for an accepted file.

    Readers report an error in a shader in the same words.
    """
    if line.startswith(f"{ACCEPTED} "):
        return ACCEPTED, ""
    rule, part = RULE.search(line), NAMED_PART.search(line)
    assert rule, line
    if rule[1] == "shaders" and "shader '" in line:
        return rule[1], line[line.index("shader '") :]
    return rule[1], part[0] if part else ""


def differ(*verdicts: tuple[str, str]) -> bool:
    """Return whether readers name different rules or different parts; a message need not name a part."""
    return len({rule for rule, _ in verdicts}) > 1 or len({part for _, part in verdicts if part}) > 1


class Readers:
    """The three readers.

    Args:
        folder: folder for compiled classes.
    """

    def __init__(self, folder: Path) -> None:
        classes, script = folder / "classes", folder / "verdicts.mjs"
        sources = sorted((ROOT / "android/runner/src/main/java/glslinfer/runner").glob("*.java"))
        _run(["javac", "-nowarn", "-encoding", "UTF-8", "-d", classes, *sources, HERE / "Verdicts.java"])
        _run(
            [
                *(ROOT / "web/node_modules/.bin/esbuild", HERE / "verdicts.ts", "--bundle", "--platform=node"),
                *("--format=esm", "--loader:.frag=text", "--loader:.vert=text", "--log-level=error"),
                f"--outfile={script}",
            ]
        )
        self._commands = {
            "Java": ["java", "-Xmx1g", "-cp", str(classes), "glslinfer.runner.Verdicts"],
            "TypeScript": ["node", str(script)],
        }

    def verdicts(self, paths: Sequence[Path]) -> dict[str, list[str]]:
        """Return each reader's result for each file: ``ok`` and a checksum of the contents, or the refusal."""
        lines = "".join(f"{path}\n" for path in paths)
        answers = {"Python": [_python(path) for path in paths]}
        for name, command in self._commands.items():
            done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=True)
            answers[name] = done.stdout.split("\n")[:-1]
            assert len(answers[name]) == len(paths), done.stdout
        return answers


def _run(command: Sequence[object]) -> None:
    subprocess.run([str(word) for word in command], check=True)


def _python(path: Path) -> str:
    try:
        bundle = bundles.read(path)
    except BundleError as error:
        return str(error)
    return f"{ACCEPTED} {_sum([bundle.manifest.name, str(len(bundle.manifest.passes)), *bundle.labels])}"


def _sum(lines: Sequence[str]) -> int:
    """Return Java's hashCode of some lines: of their UTF-16 units, modulo 2^32, signed."""
    data = "\n".join(lines).encode("utf-16-le")
    checksum = 0
    for at in range(0, len(data), 2):
        checksum = (31 * checksum + data[at] + (data[at + 1] << 8)) & 0xFFFFFFFF
    return checksum - (checksum >> 31 << 32)


def compare(files: int, first: int, keep: Path) -> tuple[Counter[str], list[str]]:
    """Return the number of files of each kind, and a line for each file with different results."""
    kinds: Counter[str] = Counter()
    findings: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        readers = Readers(folder)
        (folder / "sound").mkdir()
        sound = sound_bundles(folder / "sound", parts=False)  # other readers refuse parts
        batch: list[tuple[str, Path]] = []
        for index in range(files):
            kind, data = mutated((first, index), sound)
            path = folder / f"{index}.glslnn"
            path.write_bytes(data)
            kinds[kind] += 1
            batch.append((kind, path))
            if len(batch) == BATCH:
                findings += _differing(readers, batch, keep, kinds)
                batch = []
        findings += _differing(readers, batch, keep, kinds)
    return kinds, findings


def _differing(readers: Readers, batch: Sequence[tuple[str, Path]], keep: Path, kinds: Counter[str]) -> list[str]:
    if not batch:
        return []
    findings = []
    answers = readers.verdicts([path for _, path in batch])
    for index, (kind, path) in enumerate(batch):
        lines = {name: lines[index] for name, lines in answers.items()}
        accepted = {line if line.startswith(f"{ACCEPTED} ") else "" for line in lines.values()}
        kinds["taken"] += "" not in accepted
        crashed = any(line.startswith("TRACEBACK") for line in lines.values())
        if crashed or len(accepted) > 1 or (kind in SHADERS and differ(*map(verdict, lines.values()))):
            keep.mkdir(parents=True, exist_ok=True)
            (keep / path.name).write_bytes(path.read_bytes())
            findings.append(f"{keep / path.name} ({kind}): {lines}")
        path.unlink()
    return findings


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare the three readers of bundles.", allow_abbrev=False)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("reader-findings"))
    arguments = parser.parse_args()
    kinds, findings = compare(arguments.files, arguments.seed, arguments.keep)
    accepted = kinds.pop("taken")
    print(
        f"{sum(kinds.values())} files, {accepted} taken: "
        + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()))
    )
    print(f"{len(findings)} on which the readers differ", *findings, sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
