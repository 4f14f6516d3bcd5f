#!/usr/bin/env python3
"""Build and check everything that a release has; publish nothing.

    python scripts/build/release.py version 0.2.0     # the new version and its date, wherever they stand
    python scripts/build/release.py build             # build/release: sdist, wheel, npm's package, AAR, SHA256SUMS
    python scripts/build/release.py build --tag v0.2.0 --repository https://HOST/OWNER/NAME

With a tag, the version and CHANGELOG.md must match it. The repository is the base of the links in package pages.
.github/workflows/release.yml runs this for a tag, and publishes. The exit status is 2 if a file has to be changed
first, and 1 if a tool failed.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "release"
PYTHON, WEB, CHANGES = "glsl_infer/__init__.py", "web", "CHANGELOG.md"
VERSION = re.compile(r"(?:0|[1-9]\d?)(?:\.(?:0|[1-9]\d?)){2}")
"""Three numbers below 100, the parts of Android's version code."""

UNRELEASED = "unreleased"


class ReleaseError(Exception):
    """A list of necessary changes, one a line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("version", help="write a new version and its date")
    command.add_argument("version", metavar="N.N.N")
    command = commands.add_parser("build", help="make and check all packages")
    command.add_argument("-o", "--output", type=Path, default=OUT, metavar="DIR")
    command.add_argument("--repository", default="", metavar="URL", help="for the links of package pages")
    command.add_argument("--tag", metavar="vN.N.N", help="what is released")
    command.add_argument("--without", action="append", default=[], choices=("npm", "android"), help="leave it out")
    args = parser.parse_args(argv)
    try:
        if args.command == "version":
            write_version(ROOT, args.version)
        else:
            build(args.output, args.repository, args.tag, args.without)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def version_of(root: Path) -> str:
    """Return the version of glsl_infer, which all other files must match."""
    match = re.search(r'^__version__ = "(.+)"$', (root / PYTHON).read_text("utf-8"), re.MULTILINE)
    if not match:
        raise ReleaseError(f"{PYTHON} has no line __version__ =")
    return match[1]


def faults(root: Path, tag: str | None = None) -> list[str]:
    """Return the disagreements of other files with the version, or of the version with a tag."""
    version, problems = version_of(root), []
    if not VERSION.fullmatch(version):
        problems.append(f"{PYTHON}: version {version!r}; give three numbers below 100, as in 0.2.0")
    for name in ("package.json", "package-lock.json"):
        data = json.loads((root / WEB / name).read_text("utf-8"))
        for package in (data, data.get("packages", {}).get("", data)):
            if package["version"] != version:
                problems.append(f"{WEB}/{name}: version {package['version']}, where {PYTHON} has {version}")
    heading = _heading(root)
    if heading[0] != version:
        problems.append(f"{CHANGES} begins with {heading[0]}, where {PYTHON} has {version}")
    if tag is not None:
        if tag != f"v{version}":
            problems.append(f"tag {tag}, where {PYTHON} has {version}: python scripts/build/release.py version N.N.N")
        if heading[1] == UNRELEASED:
            problems.append(
                f"{CHANGES}: {version} is {UNRELEASED}; python scripts/build/release.py version {version} dates it"
            )
    return list(dict.fromkeys(problems))


def write_version(root: Path, version: str) -> None:
    """Write a version and today's date.

    Raises:
        ReleaseError: the version is invalid, or CHANGELOG.md has no entry for the version.
    """
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"version {version!r}; give three numbers below 100, as in 0.2.0")
    old, day = _heading(root)
    if day != UNRELEASED:
        raise ReleaseError(
            f"{CHANGES} begins with {old} of {day}; write '## {version} - {UNRELEASED}' and what changed"
        )
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    _replace(root / CHANGES, rf"^## {re.escape(old)} - {UNRELEASED}$", f"## {version} - {today}")
    _replace(root / PYTHON, r'^__version__ = ".+"$', f'__version__ = "{version}"')
    for name in ("package.json", "package-lock.json"):
        path = root / WEB / name
        data = json.loads(path.read_text("utf-8"))
        for package in (data, data.get("packages", {}).get("", data)):
            package["version"] = version
        path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", "utf-8")


def build(out: Path, repository: str, tag: str | None, without: Sequence[str]) -> None:
    """Build all packages in ``out``, which is emptied first, and check them.

    Raises:
        ReleaseError: versions disagree.
        CalledProcessError: a tool fails.
    """
    wrong = faults(ROOT, tag)
    if wrong:
        raise ReleaseError("\n       ".join(wrong))
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    python_packages(out, repository)
    if "npm" not in without:
        npm_package(out, repository)
    if "android" not in without:
        _run([sys.executable, ROOT / "android" / "build_aar.py", "-o", out / f"glsl-infer-{version_of(ROOT)}.aar"])
    files = sorted(path for path in out.iterdir() if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(sums), "utf-8")
    for path in files:
        print(f"{path}: {path.stat().st_size:,} bytes")


def python_packages(out: Path, repository: str = "") -> None:
    """Build sdist and wheel, the wheel from the sdist's files, and check them with twine."""
    environment = {"GLSL_INFER_REPOSITORY": repository}
    _run([sys.executable, "-I", "-m", "build", "--no-isolation", "--outdir", out, ROOT], environment)
    _run([sys.executable, "-I", "-m", "twine", "check", "--strict", *out.glob("*.whl"), *out.glob("*.tar.gz")])


def npm_package(out: Path, repository: str = "") -> None:
    """Build npm's package and check it by ``npm publish --dry-run``, without a network."""
    folder = out / "npm"
    library = folder / "dist"
    library.mkdir(parents=True)
    _run(["node", ROOT / WEB / "build.mjs", "--library", library])
    (library / "glsl-infer.js.map").unlink()
    text = (library / "glsl-infer.js").read_text("utf-8")
    (library / "glsl-infer.js").write_text(re.sub(r"\n?//# sourceMappingURL=.*\s*$", "\n", text), "utf-8")
    for name in ("README.md", "LICENSE"):
        shutil.copyfile(ROOT / WEB / name, folder / name)
    data = json.loads((ROOT / WEB / "package.json").read_text("utf-8"))
    del data["scripts"], data["devDependencies"]  # only for developers
    if repository:
        data |= {
            "homepage": f"{repository}#readme",
            "repository": {"type": "git", "url": f"git+{repository}.git", "directory": WEB},
            "bugs": f"{repository}/issues",
        }
    (folder / "package.json").write_text(json.dumps(data, indent=2) + "\n", "utf-8")
    quiet = ["--offline", "--no-audit", "--no-fund", "--no-update-notifier"]
    output = _run(["npm", "publish", "--dry-run", *quiet, folder])
    warned = [line for line in output.splitlines() if line.startswith("npm warn publish") and "logged in" not in line]
    if warned:
        raise ReleaseError("npm publish --dry-run: " + "\n       ".join(warned))
    _run(["npm", "pack", *quiet, "--pack-destination", out, folder])
    shutil.rmtree(folder)


def _heading(root: Path) -> tuple[str, str]:
    """Return version and date of CHANGELOG.md's first heading."""
    match = re.search(r"^## (\S+) - (\S+)$", (root / CHANGES).read_text("utf-8"), re.MULTILINE)
    if not match:
        raise ReleaseError(f"{CHANGES} has no heading like '## 0.2.0 - {UNRELEASED}'")
    return match[1], match[2]


def _replace(path: Path, pattern: str, line: str) -> None:
    text, times = re.subn(pattern, line, path.read_text("utf-8"), count=1, flags=re.MULTILINE)
    if not times:
        raise ReleaseError(f"{path}: nothing matches {pattern}")
    path.write_text(text, "utf-8")


def _run(command: Sequence[object], environment: dict[str, str] | None = None) -> str:
    """Run a tool and return its output; print the output only if the tool fails."""
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr, end="")
        done.check_returncode()
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
