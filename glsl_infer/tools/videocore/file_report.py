"""Report on a bundle file. For a bundle of parts, it covers all GPU parts together; the CPU's cost is not counted."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.tools.videocore.driver import Driver
from glsl_infer.tools.videocore.measure import Watch, measure, unwatched
from glsl_infer.tools.videocore.report import Report, report


def file_report(path: Path, driver: Driver, *, watch: Watch = unwatched) -> Report:
    """Measure a file and report on it; see ``measure.measure`` for arguments and errors."""
    if len(bundles.read(path).parts) == 1:
        return report(*measure(path, driver, watch=watch), str(path))
    drawn = gpu_parts(path)
    with tempfile.TemporaryDirectory() as folder:
        files = written(drawn, path.name, Path(folder))
        return merge_reports([report(*measure(file, driver, watch=watch), str(path)) for file in files])


def gpu_parts(path: Path) -> list[Bundle]:
    """Return the bundles of a file that the GPU computes."""
    return list(bundles.read(path).gpu_parts)


def written(parts: Sequence[Bundle], name: str, folder: Path) -> list[Path]:
    """Write every part to its own file; return the files, all with the given name."""
    files = [folder / str(number) / name for number in range(len(parts))]
    for part, file in zip(parts, files):
        file.parent.mkdir()
        bundles.write(part, file)
    return files


def merge_reports(reports: Sequence[Report]) -> Report:
    """Return one report on the parts of a file: their layers, jobs and problems in order."""
    if len(reports) == 1:
        return reports[0]
    shaders = {
        f"{name}, part {number}" if number else name: shader
        for number, report in enumerate(reports)
        for name, shader in report.shaders.items()
    }
    return replace(
        reports[0],
        rows=tuple(row for report in reports for row in report.rows),
        shaders=shaders,
        frame=tuple(job for report in reports for job in report.frame),
        problems=tuple(problem for report in reports for problem in report.problems),
        texture_bytes=sum(report.texture_bytes for report in reports),
    )
