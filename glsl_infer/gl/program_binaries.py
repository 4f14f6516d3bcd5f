"""Linked programs as bytes that the same driver takes back: GL_OES_get_program_binary, where it has formats.

Mesa's llvmpipe and V3D (Raspberry Pi 4 and 5) have one, and NVIDIA's driver; VideoCore IV's and softpipe have none.
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
    """A linked program as the driver's own bytes, and the format that it calls them."""

    format: int
    data: bytes


class ProgramBinaries:
    """What a driver does with program binaries; its context must be current whenever a method is called.

    Attributes:
        formats: the formats that it takes; none where it cannot do this.
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
        # A context of GLX's has functions of another loader; no such driver is worth a second way to find them.
        if EXTENSION not in self._gl.text(GL.GL_EXTENSIONS).split() or egl.current() is None:
            return ()
        count = self._gl.integer(_NUMBER_OF_FORMATS)
        if count < 1:
            return ()
        formats = (c_int * count)()
        self._gl.GetIntegerv(_FORMATS, formats)
        return tuple(formats)

    def get(self, program: int) -> Binary | None:
        """Return a linked program as bytes, or None where the driver gives none (Mesa's, with its own cache off)."""
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
        """Make a new program what a binary was made of; return whether the driver takes it.

        One of a format that the driver does not name is not shown to it.
        """
        if binary.format not in self.formats:
            return False
        self._put(program, binary.format, binary.data, len(binary.data))
        status = c_int()
        self._gl.GetProgramiv(program, GL.GL_LINK_STATUS, byref(status))
        return bool(status.value)
