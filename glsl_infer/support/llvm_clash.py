"""TensorFlow and Mesa's LLVM cannot live in one process: whichever comes second crashes.

Both bring the same C++ symbols of different LLVM versions, and the dynamic linker mixes them up. That ends in
a segmentation fault without a word, so it is looked for, and refused in words, on either side.
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
    """Return whether an OpenGL driver has loaded LLVM into this process (Linux; False elsewhere)."""
    try:
        return "/libLLVM" in Path("/proc/self/maps").read_text("utf-8", "replace")
    except OSError:
        return False
