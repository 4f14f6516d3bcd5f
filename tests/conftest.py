"""Settings of the entire suite."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# NumPy's threads spin while they wait: for small matrices they take three times the CPU time of one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # a crashing child process prints its traceback
# Tests must not use the user's compiled programs; child processes inherit the variable.
os.environ["GLSL_INFER_CACHE"] = "off"
os.environ["GLSL_INFER_ISOLATION"] = "off"  # a second process for each drawing command; test_isolation sets it

# A shell starts background jobs with SIGINT ignored, nohup with SIGHUP; child processes would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

sys.path.insert(0, str(Path(__file__).parent))  # helpers shared by tests: tiny.py, graphs.py
sys.path[:0] = [str(Path(__file__).parents[1] / f"scripts/{name}") for name in ("build", "bench", "docs")]
sys.path += [str(Path(__file__).parents[1] / f"scripts/{name}") for name in ("vc4", "bench/reliability")]

pytest_plugins = ["failed_commands", "independent", "needs", "snapshots", "tiers"]

# A busy machine is not a failure, and every run has the same cases; only make sweep draws new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def a_busy_machine_prints_no_progress() -> Iterator[None]:
    """Commands in this process print no progress lines, which long steps print after 20 seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glsl_infer.cli.progress.SILENT", 3600.0)
        yield


KERAS_FOLDERS = {"keras", "training"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = {item.path.relative_to(Path(__file__).parent).parts[0] for item in items}
    if folders & KERAS_FOLDERS and folders - KERAS_FOLDERS:
        raise pytest.UsageError(
            "TensorFlow and Mesa's LLVM crash in one process: run `make test`, "
            "or pytest for tests/keras and tests/training apart from the others"
        )


def pytest_collection_finish() -> None:
    """Exclude long-lived objects from garbage collection, such as TensorFlow's and the tests themselves."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End the report with the ten slowest files; scripts/build/test_parts.py reads these lines."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    if len(seconds) > 1:
        terminalreporter.section("slowest files")
        for name, spent in sorted(seconds.items(), key=lambda item: -item[1])[:10]:
            terminalreporter.write_line(f"{spent:8.1f} s  {name}")
