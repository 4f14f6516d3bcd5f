"""Checks of this machine for ``glsl-infer doctor``: board, driver, rights, memory, camera, every layer of a model.

``findings.CHECKS`` is the table of checks. A check is a function of a ``Machine`` with the decorator ``check``, in one
of the modules imported by this package; other code does not refer to it by name. The checks run in the order of these
imports. Nothing here imports NumPy or OpenGL at its top, so their absence can be reported.
"""

from glsl_infer.tools.doctor import system, packages, graphics, camera, layers  # noqa: I001, F401 - the order of the checks
from glsl_infer.tools.doctor.findings import CHECKS, Finding, Status, report, run_check, verdict
from glsl_infer.tools.doctor.machine import Machine, User

__all__ = ["CHECKS", "Finding", "Machine", "Status", "User", "report", "run_check", "verdict"]
