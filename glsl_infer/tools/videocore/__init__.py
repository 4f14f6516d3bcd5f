"""Cost of a bundle on a VideoCore IV, measured with that GPU's own compiler and command stream.

Mesa's ``vc4`` driver compiles and submits as on a Raspberry Pi. A shim replaces the kernel, so no board is needed. Only
the executor computes pixels. docs/engineering/videocore.md explains every figure.

    driver.py      find the driver, and the environment of a process that uses it
    harness.py     in such a process: draw a bundle's passes and record the driver's messages
    transcript.py  recorded messages -> statistics of each program and jobs of each layer
    measure.py     both of them, from an ordinary process
    compile_only.py, verify.py  do a bundle's programs compile? For export: nothing is drawn, and time is limited
    known_programs.py  statistics of the programs of earlier exports
    floor.py       lower bound of a layer's arithmetic
    report.py      statistics -> a row for each layer, totals, problems
    estimate.py    rows -> estimated milliseconds
    advice.py      rows -> suggested changes
    table.py, plot.py    output for users
    executor.py    a virtual VideoCore IV that draws the submitted jobs: its location, and how to run a process on it
    pixels.py      the executor's pixels of a bundle, compared with the exact reference
"""

from __future__ import annotations

from glsl_infer.tools.videocore.driver import Driver, find, find_all
from glsl_infer.tools.videocore.measure import measure
from glsl_infer.tools.videocore.report import Report, report

__all__ = ["Driver", "Report", "find", "find_all", "measure", "report"]
