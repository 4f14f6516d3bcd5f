"""Draw small fragment shaders in a process on the virtual VideoCore IV (tests/vc4/on_executor.py starts it).

Standard input has a list of cases as JSON, and standard output gets the pixels of each. The tests check them.
"""

from __future__ import annotations

import base64
import json
import sys
from ctypes import CDLL, c_char_p, c_float, c_int, c_uint, create_string_buffer
from typing import Any

from glsl_infer.gl.context import Context
from glsl_infer.tools.videocore.executor import Controls

GL = CDLL("libGLESv2.so.2")
TEXTURE_2D, FRAMEBUFFER, RGBA, UNSIGNED_BYTE, ARRAY_BUFFER = 0x0DE1, 0x8D40, 0x1908, 0x1401, 0x8892
VERTEX = b"""attribute vec2 position;
varying vec2 at; // 0 to 1 across the target
void main() { at = position * 0.5 + 0.5; gl_Position = vec4(position, 0.0, 1.0); }
"""


def shader(kind: int, source: bytes) -> int:
    """Compile a shader, and return its name."""
    name = GL.glCreateShader(kind)
    GL.glShaderSource(name, 1, (c_char_p * 1)(source), None)
    GL.glCompileShader(name)
    log = create_string_buffer(2000)
    GL.glGetShaderInfoLog(name, 2000, None, log)
    if log.value.strip():
        raise SystemExit(f"{log.value.decode()} in {source.decode()}")
    return int(name)


def program(fragment: str) -> int:
    """Link a fragment shader with a vertex shader for a rectangle, and return its name."""
    name = GL.glCreateProgram()
    GL.glAttachShader(name, shader(0x8B31, VERTEX))
    GL.glAttachShader(name, shader(0x8B30, f"precision highp float; varying vec2 at; {fragment}".encode()))
    GL.glBindAttribLocation(name, 0, b"position")
    GL.glLinkProgram(name)
    return int(name)


def texture(description: dict[str, Any]) -> int:
    """Upload a texture or cube map as it is described, and return its name."""
    names = (c_uint * 1)()
    GL.glGenTextures(1, names)
    target = description.get("target", TEXTURE_2D)
    GL.glBindTexture(target, names[0])
    GL.glPixelStorei(0x0CF5, 1)
    faces = range(0x8515, 0x851B) if target == 0x8513 else [TEXTURE_2D]
    for face in faces:
        GL.glTexImage2D(
            face, 0, description["format"], description["width"], description["height"], 0,
            description["format"], description["type"],
            base64.b64decode(description["texels"]),
        )  # fmt: skip
    if description.get("mipmaps"):
        GL.glGenerateMipmap(target)
    for parameter, value in ((0x2801, description["minify"]), (0x2800, description["magnify"])):
        GL.glTexParameteri(target, parameter, value)
    for parameter in (0x2802, 0x2803):
        GL.glTexParameteri(target, parameter, description["wrap"])
    return int(names[0])


def draw(case: dict[str, Any]) -> bytes:
    """Draw a case, and return the bytes of its pixels."""
    width, height = case["size"]
    names = (c_uint * 3)()
    GL.glGenTextures(1, names)
    GL.glBindTexture(TEXTURE_2D, names[0])
    GL.glTexImage2D(TEXTURE_2D, 0, RGBA, width, height, 0, RGBA, UNSIGNED_BYTE, None)
    GL.glTexParameteri(TEXTURE_2D, 0x2801, 0x2600)
    framebuffer = (c_uint * 1)()
    GL.glGenFramebuffers(1, framebuffer)
    GL.glBindFramebuffer(FRAMEBUFFER, framebuffer[0])
    GL.glFramebufferTexture2D(FRAMEBUFFER, 0x8CE0, TEXTURE_2D, names[0], 0)
    GL.glViewport(0, 0, width, height)
    GL.glDisable(0x0BD0)  # dithering
    GL.glClearColor(c_float(0.2), c_float(0.4), c_float(0.6), c_float(0.8))
    GL.glClear(0x4000)
    used = program(case["fragment"])
    GL.glUseProgram(used)
    for unit, description in enumerate(case.get("textures", ())):
        GL.glActiveTexture(0x84C0 + unit)
        texture(description)
        GL.glUniform1i(GL.glGetUniformLocation(used, f"t{unit}".encode()), unit)
    for name, values in case.get("uniforms", {}).items():
        flat = (c_float * len(values))(*values)
        GL.glUniform4fv(GL.glGetUniformLocation(used, name.encode()), len(values) // 4, flat)
    corners = case.get("corners", [-1, -1, 1, -1, -1, 1, 1, 1])
    flat = (c_float * len(corners))(*corners)
    GL.glBindBuffer(ARRAY_BUFFER, 0)
    GL.glEnableVertexAttribArray(0)
    GL.glVertexAttribPointer(c_uint(0), 2, 0x1406, 0, 0, flat)
    indices = case.get("indices")
    if indices:
        GL.glDrawElements(case["mode"], len(indices), UNSIGNED_BYTE, bytes(indices))
    else:
        GL.glDrawArrays(case.get("mode", 5), 0, len(corners) // 2)
    pixels = (c_uint * (width * height))()
    GL.glReadPixels(c_int(0), 0, width, height, RGBA, UNSIGNED_BYTE, pixels)
    error = GL.glGetError()
    if error:
        raise SystemExit(f"GL error {error:#x} in {case['fragment']}")
    return bytes(pixels)


def main() -> None:
    """Draw the cases of the standard input, and print their pixels."""
    controls = Controls() if "--elsewhere" not in sys.argv else None  # on another driver, for comparison
    drawn = []
    with Context("surfaceless"):
        for case in json.load(sys.stdin):
            for name, word in {"ROUND": "hardware", "PACK": "round", **case.get("switches", {})}.items():
                if controls is not None:
                    controls.switch(name, word)
            drawn.append(base64.b64encode(draw(case)).decode())
    print(json.dumps(drawn))


if __name__ == "__main__":
    main()
