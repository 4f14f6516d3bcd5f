"""Freed memory is kept for the next array; garbage collection is restricted inside two contexts only."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest

from glsl_infer.support import memory


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


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """Undo the freezing of conftest meanwhile."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("unfrozen")
def test_objects_are_permanent_only_inside_the_context() -> None:
    assert gc.get_freeze_count() == 0
    with memory.permanent_objects():
        assert gc.get_freeze_count() > 0
        with memory.permanent_objects():
            pass
        assert gc.get_freeze_count() > 0, "those that a caller froze stay frozen"
    assert gc.get_freeze_count() == 0


def test_nothing_is_collected_inside_the_context() -> None:
    with pytest.raises(KeyError), memory.no_collection():
        assert not gc.isenabled()
        with memory.no_collection():
            pass
        assert not gc.isenabled(), "a caller had disabled it"
        raise KeyError
    assert gc.isenabled()
