#!/usr/bin/env python3
"""Run a command, and write its cost as JSON: cost.py FILE COMMAND ...

Runs in its own small process, because the peak memory that a system reports for a child starts at its parent's memory.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Write exit code, seconds of CPU and peak memory in bytes."""
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
