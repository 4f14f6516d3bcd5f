"""Save and restore linked programs: GL_OES_get_program_binary.

Mesa's llvmpipe and V3D (Raspberry Pi 4 and 5) support it with one format, and so does NVIDIA's driver. VideoCore IV's
driver and softpipe do not.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int, c_uint, c_void_p
from typing import Any

from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.context import Context
from glsl_infer.support.records import dataclass

EXTENSION = "GL_OES_get_program_binary"

_LENGTH, _NUMBER_OF_FORMATS, _FORMATS = 0x8741, 0x87FE, 0x87FF

_SIGNATURES: dict[str, Any] = {
    "GetProgramBinary": ctypes.CFUNCTYPE(None, c_uint, c_int, POINTER(c_int), POINTER(c_uint), c_void_p),
    "ProgramBinary": ctypes.CFUNCTYPE(None, c_uint, c_uint, c_void_p, c_int),
}


@dataclass(frozen=True)
class Binary:
    """A linked program in a format of the driver."""

    format: int
    data: bytes


class ProgramBinaries:
    """Program binaries of a driver. Its context must be current during all calls.

    Attributes:
        formats: supported formats; empty without support.
    """

    def __init__(self, context: Context) -> None:
        context.make_current()
        self._gl = context.gl
        self.formats = self._find_formats()
        if self.formats:
            self._get, self._put = (
                egl.extension_function(f"gl{name}OES", signature) for name, signature in _SIGNATURES.items()
            )

    def _find_formats(self) -> tuple[int, ...]:
        # In a GLX context, extension functions come from another loader, which is not supported.
        if EXTENSION not in self._gl.text(GL.GL_EXTENSIONS).split() or egl.current() is None:
            return ()
        count = self._gl.integer(_NUMBER_OF_FORMATS)
        if count < 1:
            return ()
        formats = (c_int * count)()
        self._gl.GetIntegerv(_FORMATS, formats)
        return tuple(formats)

    def get(self, program: int) -> Binary | None:
        """Return the binary of a linked program; None if the driver returns none (Mesa without shader cache)."""
        length, format_ = c_int(), c_uint()
        if self.formats:
            self._gl.GetProgramiv(program, _LENGTH, byref(length))
        if length.value <= 0:
            return None
        buffer = ctypes.create_string_buffer(length.value)
        self._get(program, len(buffer), byref(length), byref(format_), buffer)
        binary = Binary(format_.value, buffer.raw[: length.value])
        return binary if binary.data and binary.format in self.formats else None

    def put(self, program: int, binary: Binary) -> bool:
        """Load a binary into a new program; return whether the driver accepts it.

        Binaries of an unsupported format are not passed to the driver.
        """
        if binary.format not in self.formats:
            return False
        self._put(program, binary.format, binary.data, len(binary.data))
        status = c_int()
        self._gl.GetProgramiv(program, GL.GL_LINK_STATUS, byref(status))
        return bool(status.value)
