"""Results of checks, the table of all checks, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from glsl_infer import __version__

if TYPE_CHECKING:
    from glsl_infer.tools.doctor.machine import Machine

FORMAT, VERSION = "glsl-infer doctor", 1


class Status(Enum):
    """Severity of a finding; only a problem makes the command fail."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Attributes:
        message: one line.
        status: the severity.
        fixes: commands or edits to fix the problem, in order.
        figures: measured values, as plain data for JSON.
        name: name of the check; ``run_check`` sets it.
    """

    message: str
    status: Status = Status.OK
    fixes: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {
            "check": self.name,
            "status": self.status.value,
            "message": self.message,
            "fixes": list(self.fixes),
            "figures": dict(self.figures),
        }


def ok(message: str, figures: Mapping[str, Any]) -> Finding:
    """Return a finding without a problem."""
    return Finding(message, figures=figures)


def warning(message: str, figures: Mapping[str, Any], *fixes: str) -> Finding:
    """Return a warning with its fixes."""
    return Finding(message, Status.WARNING, fixes, figures)


def problem(message: str, figures: Mapping[str, Any], *fixes: str) -> Finding:
    """Return a problem with its fixes."""
    return Finding(message, Status.PROBLEM, fixes, figures)


Check = Callable[["Machine"], "Finding | None"]
"""A check of a machine; it returns None if it does not apply there."""

CHECKS: dict[str, Check] = {}
"""Every check by its name, in the order of execution."""


def check(name: str) -> Callable[[Check], Check]:
    """Return a decorator that adds a function to ``CHECKS``.

    Args:
        name: first word of its line in the report.
    """

    def add(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return add


def run_check(name: str, machine: Machine) -> Finding | None:
    """Run one check; an exception in it becomes a warning, and the other checks still run.

    Returns:
        The finding, or None if the check does not apply to this machine.
    """
    try:
        finding = CHECKS[name](machine)
    except Exception as error:
        finding = Finding(f"cannot be checked ({type(error).__name__}: {error})", Status.WARNING)
    if finding is None:
        return None
    return Finding(finding.message, finding.status, finding.fixes, finding.figures, name)


def verdict(findings: Sequence[Finding]) -> str:
    """Return the last line of the report."""
    problems = sum(finding.status is Status.PROBLEM for finding in findings)
    warnings = sum(finding.status is Status.WARNING for finding in findings)
    counts = [
        f"{count} {word}{'s' * (count > 1)}" for count, word in ((problems, "problem"), (warnings, "warning")) if count
    ]
    if problems:
        return f"{', '.join(counts)}: apply the fixes above, then run glsl-infer doctor again"
    return f"glsl-infer works here, with {counts[0]}" if warnings else "no problems found"


def report(findings: Sequence[Finding], machine: Machine) -> dict[str, Any]:
    """Return all findings and the description of the driver as plain data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "glsl_infer": __version__,
        "passed": all(finding.status is not Status.PROBLEM for finding in findings),
        "verdict": verdict(findings),
        "checks": [finding.as_json() for finding in findings],
        "driver": machine.driver,
    }
