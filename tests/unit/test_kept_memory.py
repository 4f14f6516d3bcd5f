"""Freed memory is kept for the next array."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has other settings")
def test_kept_memory_is_not_mapped_again() -> None:
    code = (
        "import resource, numpy\n"
        "from glsl_infer.support import memory\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(20): numpy.ones(1 << 18)\n"  # 2 MB: too small for huge pages
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "faults(); memory.keep_freed_memory(); faults()\n"
        "print(faults())"
    )
    faults = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(faults) < 20 * 100, "each new array has a page fault for each of its 512 pages"
