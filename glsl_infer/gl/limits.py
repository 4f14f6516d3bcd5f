"""Limits, precision and identity of a driver."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_int
from typing import Any

from glsl_infer.errors import LimitError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.context import Context

NAMES = {
    "texture_units": (GL.GL_MAX_TEXTURE_IMAGE_UNITS, "GL_MAX_TEXTURE_IMAGE_UNITS"),
    "texture_size": (GL.GL_MAX_TEXTURE_SIZE, "GL_MAX_TEXTURE_SIZE"),
    "fragment_uniform_vectors": (GL.GL_MAX_FRAGMENT_UNIFORM_VECTORS, "GL_MAX_FRAGMENT_UNIFORM_VECTORS"),
    "varying_vectors": (GL.GL_MAX_VARYING_VECTORS, "GL_MAX_VARYING_VECTORS"),
    "vertex_attributes": (GL.GL_MAX_VERTEX_ATTRIBS, "GL_MAX_VERTEX_ATTRIBS"),
}

SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "SwiftShader")
"""Substrings of GL_RENDERER that identify software renderers."""


def is_software(renderer: str) -> bool:
    """Return whether a driver renders on the CPU, judged by its GL_RENDERER."""
    return any(name in renderer for name in SOFTWARE_RENDERERS)


def driver_limits(gl: Api) -> dict[str, int]:
    """Return the limits of the current context, with the names of the bundle format (``NAMES``)."""
    return {field: gl.integer(name) for field, (name, _) in NAMES.items()}


def float_precision(gl: Api, precision: str) -> dict[str, int]:
    """Return mantissa bits and log2 of the range of ``highp`` or ``mediump`` floats in fragment shaders."""
    span, bits = (c_int * 2)(), c_int()
    name = {"highp": GL.GL_HIGH_FLOAT, "mediump": GL.GL_MEDIUM_FLOAT}[precision]
    gl.GetShaderPrecisionFormat(GL.GL_FRAGMENT_SHADER, name, span, bits)
    return {"mantissa_bits": bits.value, "range_low": span[0], "range_high": span[1]}


def describe(context: Context) -> dict[str, Any]:
    """Return names, limits, precision, rounding and extensions of the driver, as plain data."""
    context.make_current()
    gl = context.gl
    strings = {"vendor": GL.GL_VENDOR, "renderer": GL.GL_RENDERER, "version": GL.GL_VERSION}
    return {
        **{key: gl.text(name) for key, name in strings.items()},
        "shading_language": gl.text(GL.GL_SHADING_LANGUAGE_VERSION),
        "limits": {NAMES[field][1]: value for field, value in driver_limits(gl).items()},
        "precision": {precision: float_precision(gl, precision) for precision in ("highp", "mediump")},
        "store_rounds_up_from": round(context.store_threshold, 3),
        "sum_rounds_up_from": round(context.sum_threshold, 3),
        "extensions": sorted(gl.text(GL.GL_EXTENSIONS).split()),
    }


_SMALLER = "use a model of smaller images or fewer channels"
_OTHER_DRIVER = "use another driver or GPU (OpenGL ES 2.0 promises 8)"
_ADVICE = {
    "texture_units": _OTHER_DRIVER,
    "texture_size": _SMALLER,
    "fragment_uniform_vectors": "export the model with --weights baked",
    "varying_vectors": _OTHER_DRIVER,
    "vertex_attributes": _OTHER_DRIVER,
}


def require(needed: Mapping[str, int], gl: Api) -> None:
    """Refuse a driver whose limits are below the needs of a model, both by the names of the bundle format.

    Raises:
        LimitError: a limit is too small; the message names each.
    """
    offered = driver_limits(gl)
    short = {field: value for field, value in needed.items() if offered[field] < value}
    if short:
        lacks = "; ".join(f"{NAMES[field][1]} is {offered[field]}, the model needs {short[field]}" for field in short)
        advice = ", and ".join(dict.fromkeys(_ADVICE[field] for field in short))
        raise LimitError(f"this GPU ({gl.text(GL.GL_RENDERER)}) is too small for the model: {lacks}; {advice}")
