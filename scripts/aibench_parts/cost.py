#!/usr/bin/env python3
"""Run a command, and write what it cost as JSON: cost.py FILE COMMAND ...

A process of its own, and a small one: the most memory that a system tells of a child begins with what its parent had.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Write exit code, seconds of CPU and the largest memory in bytes."""
    child = subprocess.Popen(sys.argv[2:])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    cost = {
        "exit": child.returncode,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "memory_bytes": usage.ru_maxrss << 10,
    }
    Path(sys.argv[1]).write_text(json.dumps(cost), "utf-8")


if __name__ == "__main__":
    main()
