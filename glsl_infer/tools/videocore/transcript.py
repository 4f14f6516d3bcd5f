"""Statistics from the messages of the vc4 driver while passes are drawn.

A transcript is text. The lines added by ``harness`` and ``compile_only`` begin with ``@``:

    @driver NAME            result of glGetString
    @draw K                 pass K is drawn next; messages up to the next such line are about it
    @message TEXT           a KHR_debug message
    @frame                  an entire frame follows, as a runner draws it
    @compile NAME           this program is compiled next, and nothing is drawn
    @refused TEXT           the driver refused it, with the reason
    @compiled NAME          the compilation has ended

The others are the driver's and the shim's: ``KVALIDATE`` by the kernel's validator, ``SUBMIT_CL`` for every job, and
disassembly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.shader_check import Loop
from glsl_infer.bundle.shader_check import parse as parse_shader
from glsl_infer.program import Pass
from glsl_infer.tools.videocore.loops import executed

_COMPILED = re.compile(
    r"@message MESA_SHADER_(\w+) shader: (\d+) inst, (\d+) threads, (\d+) uniforms, (\d+) max-temps, "
    r"(\d+) estimated-cycles"
)
_VALIDATED = re.compile(r"KVALIDATE (OK|REJECTED) insts=\d+(?: tex_samples=(\d+))?")
_SUBMITTED = re.compile(
    r"SUBMIT_CL seq=\d+ bin_cl=(\d+)B shader_rec=(\d+)B\(x(\d+)\) uniforms=(\d+)B bos=\d+ (\d+)x(\d+) "
    r"tiles=(\d+)\.\.(\d+),(\d+)\.\.(\d+) flags=0x([0-9a-f]+)"
)
_NO_REGISTERS = "Failed to register allocate"
_LISTING = re.compile(r"MESA_SHADER_FRAGMENT prog \d+/\d+ QPU:")
_KERNEL = "KERNEL: "
_USE_CLEAR_COLOR = 1
"""VC4_SUBMIT_CL_USE_CLEAR_COLOR: without it the driver loads the target's old pixels into the tile buffer."""

FRAGMENT_COMPILED = "@message MESA_SHADER_FRAGMENT"
"""Prefix of the message about a compiled fragment shader."""

Loops = Mapping[str, Sequence[Loop]]
"""The loops of shaders, by the program's name."""

NO_LOOPS: Loops = {}

SKIPPED = "the driver compiled nothing for it and silently skips its draws"


@dataclass(frozen=True)
class Shader:
    """A compiled fragment shader.

    Attributes:
        instructions: QPU instructions; each takes 4 cycles for 16 pixels.
        executed: instructions executed for a fragment, with every iteration of loops.
        threads: 2, or 1 if two threads need too many registers or a texel is fetched in a branch.
        uniforms: words of the uniform stream, constants among them.
        temporaries: largest number of values alive at once.
        cycles: the compiler's estimate for 16 pixels alone, in instruction slots; a wait for a texel counts 100.
        fetches: texels fetched, in all iterations.
    """

    instructions: int
    executed: int
    threads: int
    uniforms: int
    temporaries: int
    cycles: int
    fetches: int


@dataclass(frozen=True)
class Job:
    """A unit of work submitted to the kernel.

    Attributes:
        width, height: size of the target, in pixels.
        tiles: 64x64 tiles of the target that are rendered.
        records: its shader records; successive draws without a change of state share one.
        loads: whether the target's old pixels are loaded into the tile buffer first.
        command_bytes: commands, shader records and uniforms, which the CPU writes for every frame.
    """

    width: int
    height: int
    tiles: int
    records: int
    loads: bool
    command_bytes: int


@dataclass(frozen=True)
class Measured:
    """The driver's statistics for a bundle.

    Attributes:
        driver: the driver's own name.
        programs: statistics of the compiled fragment shaders, by the program's name.
        failures: reasons for failures, by the name of the program, or of the layer if the cause is not a program.
        jobs: jobs of every layer, each flushed separately.
        frame: jobs of one frame as a runner draws it.
        listings: disassembly of fragment shaders by program, if requested.
    """

    driver: str = ""
    programs: Mapping[str, Shader] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, tuple[Job, ...]] = field(default_factory=dict)
    frame: tuple[Job, ...] = ()
    listings: Mapping[str, str] = field(default_factory=dict)


def parse(lines: Iterable[str], passes: Sequence[Pass], loops: Loops = NO_LOOPS) -> Measured:
    """Return the statistics in a transcript of a bundle's passes, drawn in this order.

    Loops of shaders count with their iterations if the transcript has disassembly.
    """
    return _Reader(passes, loops).read(lines)


def parse_compiled(lines: Iterable[str], loops: Loops = NO_LOOPS) -> Measured:
    """Return the statistics in a transcript of separately compiled programs; only completed compilations count."""
    return _Reader((), loops).compiled(lines)


def loops_of(bundle: Bundle) -> Loops:
    """Return the loops of a bundle's programs; programs without loops are omitted."""
    texts = {program.name: bundle.members[program.fragment].decode("ascii") for program in bundle.manifest.programs}
    loops = {name: parse_shader(name, text).loops for name, text in texts.items()}
    return {name: turns for name, turns in loops.items() if turns}


class _Reader:
    """Parser of a transcript; arguments as for ``parse``."""

    def __init__(self, passes: Sequence[Pass], loops: Loops) -> None:
        self.passes, self.loops = passes, loops
        self.driver, self.programs, self.failures = "", dict[str, Shader](), dict[str, str]()
        self.jobs: dict[str, list[Job]] = {draw.layer: [] for draw in passes}
        self.frame: list[Job] = []
        self.listings: dict[str, list[str]] = {}
        self._drawn: Pass | None = None
        self._in_frame = self._listing = False
        self._stage, self._reason = "", ""

    def read(self, lines: Iterable[str]) -> Measured:
        for line in lines:
            self._line(line.rstrip("\n"))
        for draw in self.passes:
            if draw.program not in self.programs:
                self.failures.setdefault(draw.program, SKIPPED)
        self._record_skipped_draws()
        return Measured(
            self.driver,
            self._executed(),
            self.failures,
            {layer: tuple(jobs) for layer, jobs in self.jobs.items()},
            tuple(self.frame),
            {name: "\n".join(text) for name, text in self.listings.items()},
        )

    def compiled(self, lines: Iterable[str]) -> Measured:
        ended, name = set[str](), ""
        for text in lines:
            line = text.rstrip("\n")
            mark, _, argument = line.partition(" ")
            if mark == "@compile":
                name = argument
            elif mark == "@compiled":
                ended.add(argument)
                if argument not in self.programs:
                    self.failures.setdefault(argument, SKIPPED)
            elif mark == "@refused":
                self.failures[name] = f"the driver refuses it ({argument})"
            elif mark == "@driver":
                self.driver = argument
            elif name:
                self._about(line, name)
        return Measured(
            self.driver,
            {name: shader for name, shader in self._executed().items() if name in ended},
            {name: why for name, why in self.failures.items() if name in ended},
        )

    def _line(self, line: str) -> None:
        if line.startswith("@draw "):
            self._drawn = self.passes[int(line.split()[1])]
        elif line.startswith("@driver "):
            self.driver = line.split(" ", 1)[1]
        elif line == "@frame":
            self._drawn, self._in_frame = None, True
        elif match := _SUBMITTED.match(line):
            self._submitted([int(number, 16 if number == match[11] else 10) for number in match.groups()])
        elif self._drawn is not None:
            self._about(line, self._drawn.program)

    def _about(self, line: str, program: str) -> None:
        """Process a line about the shaders of a program."""
        if self._listing and line:
            self.listings[program].append(line)
        elif match := _COMPILED.match(line):
            self._stage = match[1].lower()
            if self._stage == "fragment":
                inst, threads, uniforms, temporaries, cycles = (int(number) for number in match.groups()[1:])
                shader = Shader(inst, inst, threads, uniforms, temporaries, cycles, fetches=0)
                earlier = self.programs.get(program)
                if earlier is None or shader.instructions >= earlier.instructions:  # keep the longer of two variants
                    self.programs[program] = shader
        elif match := _VALIDATED.match(line):
            if match[1] == "REJECTED":
                self.failures[program] = (
                    f"the kernel rejects its {self._stage} shader ({self._reason or 'no reason given'})"
                )
            elif self._stage == "fragment" and program in self.programs:
                self.programs[program] = replace(self.programs[program], fetches=int(match[2]))
            self._reason = ""
        elif line.startswith(_KERNEL):
            self._reason = line[len(_KERNEL) :].strip()
        elif line.startswith(_NO_REGISTERS):
            self.failures[program] = (
                "the compiler has too few registers for it; it links all the same, and its draws are silently skipped"
            )
        elif _LISTING.match(line):
            self.listings[program], self._listing = [], True
        else:
            self._listing = False

    def _submitted(self, fields: list[int]) -> None:
        commands, record_bytes, records, uniforms, width, height, left, right, top, bottom, flags = fields
        job = Job(
            width,
            height,
            (right - left + 1) * (bottom - top + 1),
            records,
            not flags & _USE_CLEAR_COLOR,
            commands + record_bytes + uniforms,
        )
        if self._in_frame:
            self.frame.append(job)
        elif self._drawn is not None:
            self.jobs[self._drawn.layer].append(job)

    def _executed(self) -> dict[str, Shader]:
        """Return the programs with the instructions executed and texels fetched in all iterations of their loops."""
        programs = dict(self.programs)
        for name, loops in self.loops.items():
            if name in programs and len(listing := self.listings.get(name, ())) == programs[name].instructions:
                counts = executed(listing, loops)
                programs[name] = replace(programs[name], executed=counts.instructions, fetches=counts.fetches)
        return programs

    def _record_skipped_draws(self) -> None:
        """Record a failure for layers whose draws were not submitted for an unknown reason."""
        for layer, jobs in self.jobs.items():
            reported = any(draw.program in self.failures for draw in self.passes if draw.layer == layer)
            if not reported and not sum(job.records for job in jobs):
                self.failures[layer] = "compiles, but none of its draws reaches the GPU"
