"""Import modules one after the other and print a line for each: its name, 1 or 0, its version or the reason.

``packages`` starts it in a child process, because an import can crash.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys


def main() -> int:
    """Import the modules ``argv[1:]``; return the exit code."""
    for name in sys.argv[1:]:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            is_missing = (error.name or "").partition(".")[0] == name
            _print(name, 0, "is not installed" if is_missing else f"cannot be imported ({error})")
        except Exception as error:  # a missing library, or another version of NumPy
            _print(name, 0, f"cannot be imported ({str(error).strip().partition(chr(10))[0]})")
        else:
            _print(name, 1, str(getattr(module, "__version__", "of unknown version")))
    return 0


def _print(name: str, is_right: int, words: str) -> None:
    print(name, is_right, words, sep="\t", flush=True)


if __name__ == "__main__":
    sys.exit(main())
