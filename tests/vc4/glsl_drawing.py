"""Draw small fragment shaders in a process on the virtual VideoCore IV (tests/vc4/on_executor.py starts it).

Standard input has a list of cases as JSON, and standard output gets the pixels of each. The tests check them. The keys
of a case are:

- ``size``: width and height of the target, in pixels;
- ``fragment``: the fragment shader's declarations and ``main``, with the varying ``at`` from 0 to 1;
- ``textures``: descriptions for the samplers ``t0``, ``t1`` and so on, with base64 texels; default: none;
- ``uniforms``: values of arrays of vec4 by name; default: none;
- ``corners``: x and y of each vertex, from -1 to 1; default: a rectangle over the target;
- ``indices``: bytes that order the corners; default: their own order;
- ``mode``: GL primitive; default: a triangle strip, and needed with indices;
- ``switches``: settings of the virtual GPU by name; default: those of the hardware.
"""

from __future__ import annotations

import base64
import json
import sys
from ctypes import CDLL, c_char_p, c_float, c_int, c_uint, create_string_buffer
from typing import Any

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.tools.videocore.executor import Controls

gles = CDLL("libGLESv2.so.2")
TEXTURE_CUBE_MAP = 0x8513
CUBE_MAP_FACES = range(0x8515, 0x851B)
TRIANGLE_STRIP = 5
VERTEX = b"""attribute vec2 position;
varying vec2 at; // 0 to 1 across the target
void main() { at = position * 0.5 + 0.5; gl_Position = vec4(position, 0.0, 1.0); }
"""


def shader(kind: int, source: bytes) -> int:
    """Compile a shader, and return its name."""
    name = gles.glCreateShader(kind)
    gles.glShaderSource(name, 1, (c_char_p * 1)(source), None)
    gles.glCompileShader(name)
    log = create_string_buffer(2000)
    gles.glGetShaderInfoLog(name, 2000, None, log)
    if log.value.strip():
        raise SystemExit(f"{log.value.decode()} in {source.decode()}")
    return int(name)


def program(fragment: str) -> int:
    """Link a fragment shader with a vertex shader for a rectangle, and return its name."""
    name = gles.glCreateProgram()
    gles.glAttachShader(name, shader(GL.GL_VERTEX_SHADER, VERTEX))
    gles.glAttachShader(
        name, shader(GL.GL_FRAGMENT_SHADER, f"precision highp float; varying vec2 at; {fragment}".encode())
    )
    gles.glBindAttribLocation(name, 0, b"position")
    gles.glLinkProgram(name)
    return int(name)


def texture(description: dict[str, Any]) -> int:
    """Upload a texture or cube map as it is described, and return its name."""
    names = (c_uint * 1)()
    gles.glGenTextures(1, names)
    target = description.get("target", GL.GL_TEXTURE_2D)
    gles.glBindTexture(target, names[0])
    gles.glPixelStorei(GL.GL_UNPACK_ALIGNMENT, 1)
    faces = CUBE_MAP_FACES if target == TEXTURE_CUBE_MAP else [GL.GL_TEXTURE_2D]
    for face in faces:
        gles.glTexImage2D(
            face, 0, description["format"], description["width"], description["height"], 0,
            description["format"], description["type"],
            base64.b64decode(description["texels"]),
        )  # fmt: skip
    if description.get("mipmaps"):
        gles.glGenerateMipmap(target)
    for parameter, value in (
        (GL.GL_TEXTURE_MIN_FILTER, description["minify"]),
        (GL.GL_TEXTURE_MAG_FILTER, description["magnify"]),
    ):
        gles.glTexParameteri(target, parameter, value)
    for parameter in (GL.GL_TEXTURE_WRAP_S, GL.GL_TEXTURE_WRAP_T):
        gles.glTexParameteri(target, parameter, description["wrap"])
    return int(names[0])


def make_target(width: int, height: int) -> None:
    """Bind a framebuffer with a cleared texture of this size."""
    names = (c_uint * 1)()
    gles.glGenTextures(1, names)
    gles.glBindTexture(GL.GL_TEXTURE_2D, names[0])
    gles.glTexImage2D(GL.GL_TEXTURE_2D, 0, GL.GL_RGBA, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, None)
    gles.glTexParameteri(GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MIN_FILTER, GL.GL_NEAREST)
    framebuffer = (c_uint * 1)()
    gles.glGenFramebuffers(1, framebuffer)
    gles.glBindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer[0])
    gles.glFramebufferTexture2D(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_TEXTURE_2D, names[0], 0)
    gles.glViewport(0, 0, width, height)
    gles.glDisable(GL.GL_DITHER)
    gles.glClearColor(c_float(0.2), c_float(0.4), c_float(0.6), c_float(0.8))
    gles.glClear(GL.GL_COLOR_BUFFER_BIT)


def bind_inputs(case: dict[str, Any]) -> None:
    """Use the case's program, textures and uniforms."""
    linked = program(case["fragment"])
    gles.glUseProgram(linked)
    for unit, description in enumerate(case.get("textures", ())):
        gles.glActiveTexture(GL.GL_TEXTURE0 + unit)
        texture(description)
        gles.glUniform1i(gles.glGetUniformLocation(linked, f"t{unit}".encode()), unit)
    for name, values in case.get("uniforms", {}).items():
        array = (c_float * len(values))(*values)
        gles.glUniform4fv(gles.glGetUniformLocation(linked, name.encode()), len(values) // 4, array)


def draw(case: dict[str, Any]) -> bytes:
    """Draw a case, and return the bytes of its pixels."""
    width, height = case["size"]
    make_target(width, height)
    bind_inputs(case)
    corners = case.get("corners", [-1, -1, 1, -1, -1, 1, 1, 1])
    vertices = (c_float * len(corners))(*corners)
    gles.glBindBuffer(GL.GL_ARRAY_BUFFER, 0)
    gles.glEnableVertexAttribArray(0)
    gles.glVertexAttribPointer(c_uint(0), 2, GL.GL_FLOAT, 0, 0, vertices)
    indices = case.get("indices")
    if indices:
        gles.glDrawElements(case["mode"], len(indices), GL.GL_UNSIGNED_BYTE, bytes(indices))
    else:
        gles.glDrawArrays(case.get("mode", TRIANGLE_STRIP), 0, len(corners) // 2)
    pixels = (c_uint * (width * height))()
    gles.glReadPixels(c_int(0), 0, width, height, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, pixels)
    error = gles.glGetError()
    if error:
        raise SystemExit(f"GL error {error:#x} in {case['fragment']}")
    return bytes(pixels)


def main() -> None:
    """Draw the cases of the standard input, and print their pixels."""
    controls = Controls() if "--elsewhere" not in sys.argv else None  # on another driver, for comparison
    drawn = []
    with Context("surfaceless"):
        for case in json.load(sys.stdin):
            for name, setting in {"ROUND": "hardware", "PACK": "round", **case.get("switches", {})}.items():
                if controls is not None:
                    controls.switch(name, setting)
            drawn.append(base64.b64encode(draw(case)).decode())
    print(json.dumps(drawn))


if __name__ == "__main__":
    main()
