#!/usr/bin/env python3
"""Test the reader with files from libFuzzer, guided by the lines of the reader that they reach.

    python scripts/bench/reliability/fuzz_atheris.py [-max_total_time=60] [FOLDER] [libFuzzer's other options]

Needs atheris, which ``pip install -e '.[dev]'`` installs if it has a wheel: CPython up to 3.14 on x86-64 Linux. An
input that begins with ``PK`` is an entire file. After a ``p`` it is passes.bin of a tiny bundle, after a ``g`` its
graph.json; any other input is its manifest. It must result in a BundleError or a sound bundle. libFuzzer stops at
anything else, at 20 s for an input and at 2 GiB, and stores that input in the current folder as crash-*, timeout-* or
oom-*. FOLDER collects the inputs that reached new lines, for the next run.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

try:
    import atheris
except ImportError:
    print("error: atheris is not installed: pip install atheris (CPython on x86-64 Linux)", file=sys.stderr)
    sys.exit(2)

with atheris.instrument_imports(include=["glsl_infer", "json", "zipfile"]):
    from glsl_infer import bundle as bundles
    from glsl_infer.errors import BundleError

import bundle_members  # noqa: E402
import tiny  # noqa: E402

LIMITS = ("-max_total_time=60", "-timeout=20", "-rss_limit_mb=2048", "-max_len=65536")

MEMBERS = {b"p": "passes.bin", b"g": "graph.json"}


def main() -> None:
    """Seed a corpus with a tiny bundle's file and its parts, and run libFuzzer, which ends the process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds, path = folder / "seeds", folder / "tried.glslnn"
        seeds.mkdir()
        data = tiny.write_tiny(folder).read_bytes()
        members = bundle_members.unpacked(data)
        (seeds / "file").write_bytes(data)
        (seeds / "manifest").write_bytes(members[bundle_members.MANIFEST])
        for kind, member in MEMBERS.items():
            (seeds / member).write_bytes(kind + members[member])

        def attempt(tried: bytes) -> None:
            if tried.startswith(b"PK"):
                path.write_bytes(tried)
            elif tried[:1] in MEMBERS:
                path.write_bytes(bundle_members.rehashed({**members, MEMBERS[tried[:1]]: tried[1:]}))
            else:
                path.write_bytes(bundle_members.packed(list({**members, bundle_members.MANIFEST: tried}.items())))
            with contextlib.suppress(BundleError):
                _ = bundles.read(path).graph

        given = sys.argv[1:]
        limits = [limit for limit in LIMITS if not any(argument.startswith(limit.split("=")[0]) for argument in given)]
        own = [argument for argument in given if not argument.startswith("-")]
        atheris.Setup(
            [sys.argv[0], *limits, *(argument for argument in given if argument not in own), *own, str(seeds)], attempt
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
