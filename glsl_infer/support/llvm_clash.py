"""Detect TensorFlow and Mesa's LLVM in one process, where the second to be loaded crashes.

Both contain the same C++ symbols from different versions of LLVM, and the dynamic linker mixes them. The result is a
segmentation fault without a message, so both the importers and the GL context check first.
"""

from __future__ import annotations

import sys
from pathlib import Path

ADVICE = (
    "TensorFlow and Mesa's LLVM crash in one process; export and evaluate with Keras in one process, "
    "run the exported model in another"
)


def tensorflow_loaded() -> bool:
    """Return whether this process has imported TensorFlow."""
    return "tensorflow" in sys.modules


def mesa_llvm_loaded() -> bool:
    """Return whether an OpenGL driver has loaded LLVM into this process (always False outside Linux)."""
    try:
        return "/libLLVM" in Path("/proc/self/maps").read_text("utf-8", "replace")
    except OSError:
        return False
