"""A virtual screen for tests of windows: Xvfb."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import needs

_PATIENCE = 60.0


@contextmanager
def virtual_screen(size: str = "1400x1100x24") -> Iterator[str]:
    """Run Xvfb on a free display in its own process group; yield the display's name, such as ``:7``."""
    xvfb = needs.program("Xvfb", "xvfb")
    reader, writer = os.pipe()
    # Without -noreset it restarts when its last client leaves, and refuses a client that connects meanwhile.
    command = [xvfb, "-displayfd", str(writer), "-screen", "0", size, "-nolisten", "tcp", "-noreset"]
    try:
        server = subprocess.Popen(
            command, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    finally:
        os.close(writer)
    try:
        with os.fdopen(reader, "rb") as pipe:
            assert select.select([pipe], [], [], _PATIENCE)[0], "Xvfb does not start"
            display = pipe.readline().decode().strip()
        assert display, f"Xvfb ended with {server.wait()}"
        yield f":{display}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait()
