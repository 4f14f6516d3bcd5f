#!/usr/bin/env python3
"""Open sessions and drop them without closing, and check that memory, files and GL objects do not grow.

    python scripts/bench/reliability/sessions.py [--sessions 10000] [--seconds 3600] [--json]

Every session draws a frame and leaves another unread. Nine of ten share a context; every tenth creates one. The exit
code is 1 if a file or thread more is open at the end, or if memory is more than 64 MiB above its value after the first
hundredth.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import tiny  # noqa: E402

from glsl_infer.gl.context import Context  # noqa: E402
from glsl_infer.runtime.session import Session  # noqa: E402

MEMORY = 64 << 20


def taken() -> dict[str, int]:
    """Return the resources of this process: bytes of memory, open files, threads."""
    return {
        "memory": int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(list(Path("/proc/self/task").iterdir())),
    }


def main() -> int:
    """Open and drop sessions, and print the resources; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="end after so many, with fewer sessions")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    bundle, began = tiny.tiny_bundle(), time.monotonic()
    first, most, count = dict[str, int](), 0, 0
    with Context() as context:
        for number in range(args.sessions):
            if time.monotonic() - began > args.seconds:
                break
            count = number + 1
            context.make_current()
            session = Session(bundle, context="auto" if number % 10 == 9 else context)
            session.run(tiny.tiny_picture(1))
            session.run_async(tiny.tiny_picture(2))
            del session
            if number == max(20, args.sessions // 100):
                first = taken()
            elif first:
                most = max(most, taken()["memory"])
    last = taken()
    first = first or last
    grown = {key: last[key] - first[key] for key in last}
    flat = grown["files"] <= 0 and grown["threads"] <= 0 and most - first["memory"] <= MEMORY
    made = {
        "what": "sessions",
        "files": count,
        "verdicts": {"opened and dropped": count},
        "seconds": round(time.monotonic() - began),
        "memory": most,
        "grown": grown,
        "findings": [] if flat else [f"grown: {grown}"],
    }
    if args.json:
        print(json.dumps(made))
    else:
        print(f"{count} sessions in {made['seconds']} s: {most >> 20} MiB at most; grown by {grown}")
    return int(not flat)


if __name__ == "__main__":
    sys.exit(main())
