"""Measurements of a bundle as a row for each layer, totals, and problems with the names of layers."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.program import Pass
from glsl_infer.program.layout import slices_of
from glsl_infer.tools.videocore import floor
from glsl_infer.tools.videocore.driver import Driver
from glsl_infer.tools.videocore.measure import Watch, measure, unwatched
from glsl_infer.tools.videocore.transcript import Job, Measured, Shader

LANES = 16
"""Pixels that a QPU works on at once."""

SMALL_SHARE = 0.01
"""Share of a frame's instructions up to which a layer may use a single thread."""


@dataclass(frozen=True)
class Row:
    """Cost of a layer. A figure that differs between passes is the largest.

    Attributes:
        passes, programs: draws, and their shader programs.
        pixels: pixels drawn by the passes.
        groups: groups of 16 pixels, the unit of work of QPUs; the last of each quad can be incomplete.
        least, instructions: QPU instructions of the shortest and of the longest of its shaders.
        total: executed instructions times pixels.
        issued: executed instructions times groups.
        threads, uniforms, cycles: see ``transcript.Shader``; threads are the fewest of a shader that fetches.
        fetches: texels fetched by a pass for a pixel.
        fetched: texels fetched for all pixels.
        products: see ``floor.products``; None without a floor.
        jobs, tiles, loads, command_bytes: of its jobs; see ``transcript.Job``.
        texture_bytes: size of the textures it renders into, 4 bytes a texel.
        failed: whether a shader failed to compile; the figures then omit it.
    """

    layer: str
    op: str
    passes: int
    programs: int
    pixels: int
    groups: int
    least: int
    instructions: int
    total: int
    issued: int
    threads: int
    uniforms: int
    cycles: int
    fetches: int
    fetched: int
    products: int | None
    jobs: int
    tiles: int
    loads: int
    command_bytes: int
    texture_bytes: int
    failed: bool

    @property
    def per_fetch(self) -> float | None:
        """Instructions per fetch."""
        return self.total / self.fetched if self.fetched else None

    @property
    def least_total(self) -> int | None:
        """Instructions times pixels of the floor, or None without a floor."""
        return None if self.products is None else self.products + floor.COORDINATES * self.fetched

    @property
    def floor_per_fetch(self) -> float | None:
        """Instructions per fetch of the floor, or None without a floor or fetches."""
        return None if self.least_total is None or not self.fetched else self.least_total / self.fetched


@dataclass(frozen=True)
class Problem:
    """A problem of a layer; ``fatal`` if it makes the bundle unfit to ship."""

    layer: str
    text: str
    fatal: bool


@dataclass(frozen=True)
class Report:
    """Cost of a bundle.

    Attributes:
        file: the bundle's path, as the caller gave it.
        driver: the driver's own name.
        rows: one for each layer that draws, in order.
        shaders: statistics of every program.
        frame: the jobs of an entire frame.
        problems: layers that fail or are compiled for one thread.
        texture_bytes: size of all render targets; layers can share some.
    """

    file: str
    driver: str
    rows: tuple[Row, ...]
    shaders: Mapping[str, Shader]
    frame: tuple[Job, ...]
    problems: tuple[Problem, ...]
    texture_bytes: int

    @property
    def mesa(self) -> str:
        """Mesa's version, such as 22.3.6; empty if the driver's name lacks it."""
        match = re.search(r"Mesa (\d+(?:\.\d+)*)", self.driver)
        return "" if match is None else match[1]

    @property
    def total(self) -> int:
        """Instructions times pixels of a frame."""
        return sum(row.total for row in self.rows)

    @property
    def totals(self) -> dict[str, int]:
        """Sums over a frame: passes, jobs, loads and so on; jobs as in a runner, without flushes between layers."""
        summed = ("passes", "pixels", "total", "fetched")
        return {
            **{name: sum(getattr(row, name) for row in self.rows) for name in summed},
            "texture_bytes": self.texture_bytes,
            "programs": len(self.shaders),
            "jobs": len(self.frame),
            "tiles": sum(job.tiles for job in self.frame),
            "loads": sum(job.loads for job in self.frame),
            "command_bytes": sum(job.command_bytes for job in self.frame),
        }

    def as_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return {
            "file": self.file,
            "driver": self.driver,
            "mesa": self.mesa,
            "layers": [
                {**asdict(row), "per_fetch": row.per_fetch, "floor_per_fetch": row.floor_per_fetch} for row in self.rows
            ],
            "totals": self.totals,
            "shaders": {name: asdict(shader) for name, shader in self.shaders.items()},
            "problems": [asdict(problem) for problem in self.problems],
        }


def report(bundle: Bundle, measured: Measured, file: str = "bundle") -> Report:
    """Return the report on a bundle from its measurements."""
    textures = {texture.name: 4 * texture.width * texture.height for texture in bundle.manifest.textures}
    rows = []
    for layer in bundle.network.layers:
        passes = [draw for draw in bundle.manifest.passes if draw.layer == layer.name]
        if passes:
            targets = sum(textures[name] for name in {draw.target for draw in passes})
            rows.append(_row(layer.name, layer.op, passes, measured, targets, floor.products(layer)))
    problems = _failures(bundle.manifest.passes, measured) + _single_threaded(rows)
    rendered = sum(textures[name] for name in {draw.target for draw in bundle.manifest.passes})
    return Report(file, measured.driver, tuple(rows), measured.programs, measured.frame, tuple(problems), rendered)


def _row(
    layer: str, op: str, passes: Sequence[Pass], measured: Measured, texture_bytes: int, products: int | None
) -> Row:
    compiled = [(draw, measured.programs[draw.program]) for draw in passes if draw.program in measured.programs]
    shaders = [shader for _, shader in compiled]
    waiting = [shader for shader in shaders if shader.fetches]  # shaders without fetches do not need a second thread
    # A layer without a clear draws in another layer's job. Here, between two flushes, it has its own job, which loads.
    jobs = measured.jobs.get(layer, ()) if any(draw.clear for draw in passes) else ()
    return Row(
        layer,
        op,
        len(passes),
        len({draw.program for draw in passes}),
        sum(draw.pixels for draw in passes),
        sum(groups_of(draw) for draw in passes),
        min((shader.instructions for shader in shaders), default=0),
        max((shader.instructions for shader in shaders), default=0),
        sum(shader.executed * draw.pixels for draw, shader in compiled),
        sum(shader.executed * groups_of(draw) for draw, shader in compiled),
        min((shader.threads for shader in waiting or shaders), default=0),
        max((shader.uniforms for shader in shaders), default=0),
        max((shader.cycles for shader in shaders), default=0),
        max((shader.fetches for shader in shaders), default=0),
        sum(shader.fetches * draw.pixels for draw, shader in compiled),
        products,
        len(jobs),
        sum(job.tiles for job in jobs),
        sum(job.loads for job in jobs),
        sum(job.command_bytes for job in jobs),
        texture_bytes,
        layer in measured.failures or any(draw.program in measured.failures for draw in passes),
    )


def groups_of(draw: Pass) -> int:
    """Return the groups of ``LANES`` pixels that a pass draws; the last of each quad can be incomplete."""
    return sum(slices_of(quad.width * quad.height, LANES) for quad in draw.quads)


def _failures(passes: Sequence[Pass], measured: Measured) -> list[Problem]:
    """Return a problem for each layer that fails; a program of several layers is named in each."""
    problems: dict[tuple[str, str], Problem] = {}
    for draw in passes:
        for name, prefix in ((draw.program, f"program '{draw.program}': "), (draw.layer, "")):
            if name in measured.failures:
                text = f"{prefix}{measured.failures[name]}"
                problems.setdefault((draw.layer, measured.failures[name]), Problem(draw.layer, text, True))
    return list(problems.values())


def _single_threaded(rows: Sequence[Row]) -> list[Problem]:
    frame = sum(row.total for row in rows)
    return [
        Problem(
            row.layer,
            f"falls to one thread, so that nothing is computed while a texel is on its way ({row.total / frame:.2%} of "
            "the frame's instructions); keep fewer values alive at once, and no fetch in a branch",
            row.total > SMALL_SHARE * frame,
        )
        for row in rows
        if row.threads == 1 and row.fetches
    ]


def file_report(path: Path, driver: Driver, *, watch: Watch = unwatched) -> Report:
    """Measure a bundle file and report on it; see ``measure.measure`` for arguments and errors.

    For a bundle of parts, the report covers all GPU parts together; the CPU's cost is not counted.
    """
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
