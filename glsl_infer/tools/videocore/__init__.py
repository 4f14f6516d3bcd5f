"""What a bundle costs a VideoCore IV, read off that GPU's own compiler and command stream.

Mesa's ``vc4`` driver compiles and submits as it does on a Raspberry Pi; a shim takes the kernel's place, so that no
board is needed. Nothing is computed but by the executor. docs/engineering/videocore.md explains every number.

    driver.py      where the driver is, and the environment that a process needs to see it
    harness.py     in such a process: draw a bundle's passes and write down what the driver says
    transcript.py  what it said -> statistics of each program and jobs of each layer
    measure.py     both of them, from an ordinary process
    compile_only.py, verify.py  do a bundle's programs compile? For export: nothing is drawn, and time is limited
    floor.py       the least that a layer's arithmetic takes
    report.py      statistics -> a row for each layer, totals, problems
    estimate.py    rows -> milliseconds, an estimate
    advice.py      rows -> what to change
    table.py, plot.py    what people see of it
    executor.py    a virtual VideoCore IV that draws what is submitted: where it is, how a process runs on it
    pixels.py      what it draws of a bundle, against the exact reference
"""

from __future__ import annotations

from glsl_infer.tools.videocore.driver import Driver, find, find_all
from glsl_infer.tools.videocore.measure import measure
from glsl_infer.tools.videocore.report import Report, report

__all__ = ["Driver", "Report", "find", "find_all", "measure", "report"]
