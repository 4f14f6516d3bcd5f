"""Compile programs on the vc4 driver and print a transcript of its messages; draw nothing.

It is a separate process, started by ``verify``, because it uses another OpenGL driver. Its argument is a JSON file:
``{"attributes": [...], "prelude", "programs": [{"name", "vertex", "fragment"}, ...]}``.
"""

from __future__ import annotations

import sys
from typing import Any

from glsl_infer.errors import ShaderError
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.isolated_run import enclose
from glsl_infer.support.child_process import execute
from glsl_infer.tools.videocore.harness import DebugMessageWriter, stderr_to_stdout, write


def compile_all(job: dict[str, Any]) -> None:
    """Compile every program of a job and write the transcript to file descriptor 2.

    Raises:
        ContextError: the process does not use the vc4 driver.
    """
    with Context("surfaceless") as context:
        vars(driver_of(context))["rounds_stores"] = False  # cannot be measured, see ``harness.draw``
        messages = DebugMessageWriter(context)
        device = driver_of(context).device_lines
        for program in job["programs"]:
            name, vertex, text = program["name"], program["vertex"].encode(), program["fragment"]
            fragment = (job["prelude"] + device + text).encode()
            write(f"@compile {name}")
            with Objects(context.gl) as objects:
                linked = objects.start_program(vertex, fragment, job["attributes"])
                try:
                    objects.check_program(linked, vertex, fragment, name)
                except ShaderError as error:
                    write(f"@refused {' '.join(str(error).split())}")
            write(f"@compiled {name}")
        del messages


def main() -> int:
    """Compile the programs listed in the file named by the first argument; return the exit code."""
    return execute(sys.argv[1:], _compile)


def _compile(job: dict[str, Any]) -> None:
    enclose()
    with stderr_to_stdout():
        compile_all(job)


if __name__ == "__main__":
    sys.exit(main())
