"""A bundle's shader programs on a driver: restored from the cache if possible, otherwise compiled."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Union

from glsl_infer.gl import compiler_threads
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Linked, Objects
from glsl_infer.gl.program_binaries import ProgramBinaries
from glsl_infer.program import PRELUDE
from glsl_infer.runtime.drivers.llvmpipe.drawn import Drawn
from glsl_infer.runtime.program_cache import ProgramCache, default_folder, key_of
from glsl_infer.support.records import dataclass

AT_ONCE = 32
"""Number of programs in compilation at a time: more than a driver has threads, and few enough for its memory."""

_DRIVER = (GL.GL_VENDOR, GL.GL_RENDERER, GL.GL_VERSION, GL.GL_SHADING_LANGUAGE_VERSION, GL.GL_EXTENSIONS)


@dataclass(frozen=True)
class LinkedBundle:
    """Programs that are ready to use.

    Attributes:
        programs: by the names of the manifest.
        restored: number of programs from the cache.
        compiled: number of compiled programs. The sum of both can be lower than the bundle's number of programs,
            because programs can be merged for a driver.
    """

    programs: Mapping[str, Linked]
    restored: int
    compiled: int


class Linker:
    """Creates a bundle's programs; the context must be current.

    Args:
        drawn: has the programs.
        context: the context to compile in.
        objects: owns the programs, and deletes them.
        device_lines: lines after the prelude in fragment shaders: ``DriverFacts.device_lines``.
        varyings: number of vec4 attributes of the vertices after their position.
        cache: whether to store compiled programs for the next start: True for the default folder
            (``program_cache.default_folder``), or the path of another folder.
    """

    def __init__(
        self,
        drawn: Drawn,
        context: Context,
        objects: Objects,
        device_lines: str,
        varyings: int,
        cache: Union[bool, Path],
    ) -> None:
        bundle, members = drawn.bundle, drawn.bundle.members
        self._samplers = drawn.samplers
        prelude = members[PRELUDE] + device_lines.encode()
        self._described = {program.name: program for program in bundle.manifest.programs}
        self._sources = {
            name: (members[program.vertex], prelude + members[program.fragment])
            for name, program in self._described.items()
        }
        self._attributes = ["position", *(f"corner{index}" for index in range(varyings))]
        self._users: dict[str, str] = {}
        for draw in bundle.manifest.passes:
            self._users.setdefault(draw.program, draw.layer)
        self._gl, self._objects = context.gl, objects
        self._compiling: deque[str] = deque()
        self._binaries = ProgramBinaries(context)
        self._cache: ProgramCache | None = None
        folder = default_folder() if cache is True else cache or None
        if folder is not None and self._binaries.formats:
            self._cache = ProgramCache(folder, key_of(driver_strings(context.gl), self._attributes, self._sources))

    def start(self) -> None:
        """Restore every program or start its compilation; wait only for those started ``AT_ONCE`` programs earlier.

        Several are started before the first is queried, so that a driver with threads compiles them in parallel.

        Raises:
            ShaderError: as ``finish``.
        """
        self._programs = self._restore()
        self._missing = [name for name in self._sources if name not in self._programs]
        if self._missing:
            compiler_threads.allow(self._gl)
        for name in self._missing:
            self._programs[name] = self._objects.start_program(*self._sources[name], self._attributes)
            self._compiling.append(name)
            if len(self._compiling) > AT_ONCE:
                self._check(self._compiling.popleft())

    def finish(self) -> LinkedBundle:
        """Wait for the compilation, and query the locations of all samplers and uniforms.

        Raises:
            ShaderError: the driver refuses a shader; names the layer and quotes the driver.
        """
        while self._compiling:
            self._check(self._compiling.popleft())
        self._objects.drop_shaders()
        linked = {name: self._linked(name, self._programs[name]) for name in self._described}
        return LinkedBundle(linked, len(self._programs) - len(self._missing), len(self._missing))

    def _check(self, name: str) -> None:
        """Wait for a program, and free the driver's copy of its source, which can take megabytes."""
        subject = f"layer '{self._users.get(name, name)}' on {self._gl.text(GL.GL_RENDERER)}"
        program, (vertex, fragment) = self._programs[name], self._sources[name]
        self._objects.check_program(program, vertex, fragment, subject)
        self._objects.drop_fragment(program, fragment)

    def keep(self) -> None:
        """Write the programs to the cache for the next start if any had to be compiled. Failures are ignored."""
        if self._cache is None or not self._missing:
            return
        binaries = {name: self._binaries.get(program) for name, program in self._programs.items()}
        available = {name: binary for name, binary in binaries.items() if binary is not None}
        if len(available) == len(binaries):
            self._cache.write(available)

    def _restore(self) -> dict[str, int]:
        stored = self._cache.read() if self._cache else {}
        programs = {}
        for name in self._sources:
            if name in stored:
                program = self._objects.program_from_binary(self._binaries, stored[name])
                if program is None:  # for example after an update of the driver: the others would fail as well
                    break
                programs[name] = program
        return programs

    def _linked(self, name: str, program: int) -> Linked:
        described, gl = self._described[name], self._gl
        gl.UseProgram(program)
        units = {**self._samplers, **{sampler: unit for unit, sampler in enumerate(described.samplers)}}
        for sampler, unit in units.items():  # GL ignores samplers unknown to a program
            gl.Uniform1i(gl.GetUniformLocation(program, sampler.encode()), unit)
        return Linked(program, {key: gl.GetUniformLocation(program, key.encode()) for key in described.uniforms})


def driver_strings(gl: Api) -> list[str]:
    """Return all GL strings of the current context's driver."""
    return [gl.text(name) for name in _DRIVER]
