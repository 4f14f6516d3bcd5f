"""Runs a bundle on the GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer import frame, ops, probe
from glsl_infer.bundle import Bundle
from glsl_infer.closing import Closing
from glsl_infer.errors import ImageError, InputError, RunError, SelfCheckError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.limits import require
from glsl_infer.gl.objects import FRAMEBUFFER, RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.layout import FixedPoint, Value, textures_of
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program import PRELUDE, Pass, ShaderProgram
from glsl_infer.texels import pack_fixed, pack_tiles, shape_of, unpack_fixed, unpack_tiles

_FLOAT, _ARRAY_BUFFER = GL.GL_FLOAT, GL.GL_ARRAY_BUFFER


@dataclass(frozen=True)
class Statistics:
    """What one frame takes: exact counts, apart from the upload of the picture and the read-back.

    Attributes:
        passes: draws.
        jobs: changes of render target.
        programs: shader programs in the bundle.
        gl_calls: GL calls between upload and read-back.
        texture_bytes: bytes of all textures, constant ones included, 4 a texel.
    """

    passes: int
    jobs: int
    programs: int
    gl_calls: int
    texture_bytes: int


class Session(Closing):
    """A bundle, compiled and ready on an OpenGL ES 2.0 context. Use it as a context manager, or ``close`` it.

    A session belongs to the thread that uses it; another thread needs its own.

    Args:
        model: path of a ``.glslnn`` file, or a bundle that was read already.
        context: ``auto``, ``surfaceless``, ``device``, ``glfw``, or a ``Context`` that stays the caller's to close.
        selfcheck: run the probe through every layer first.

    Raises:
        BundleError, ContextError, LimitError: the file or this machine will not do.
        ShaderError: the driver refuses a shader; names the layer and quotes the driver.
        SelfCheckError: with ``selfcheck``, a layer that computes something else than the reference.
    """

    def __init__(
        self, model: Union[str, Path, Bundle], *, context: Union[str, Context] = "auto", selfcheck: bool = False
    ) -> None:
        self.bundle = model if isinstance(model, Bundle) else bundles.read(model)
        self._own_context = not isinstance(context, Context)
        self.context = context if isinstance(context, Context) else Context(context)
        self._closed = self._checked = False
        self._gl = self.context.gl
        self._objects = Objects(self._gl)
        try:
            self.context.make_current()
            require(self.bundle.manifest.limits, self._gl)
            self._prepare()
            self._gl.check("after preparing the model")
            if selfcheck:
                self.selfcheck()
        except BaseException:
            self.close()
            raise

    # Running ---------------------------------------------------------------------------------------

    def run(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the output for a picture uint8 (size, size, 3) at the model's size.

        That is float32: logits (classes,), or a feature map (height, width, channels) where the model ends in one.

        Raises:
            ImageError: another shape or type; ``preprocess.load`` makes the right one of any picture.
            GlError: the driver reports an error on the first run.
        """
        self._enter()
        self._upload_picture(image)
        for function, arguments in self._frame:
            function(*arguments)
        value = self.bundle.manifest.outputs[0].value
        if isinstance(value, FixedPoint):
            self._gl.BindFramebuffer(FRAMEBUFFER, self._framebuffers[value.texture])
            output = unpack_fixed(self._objects.read(*value.size), value)
        else:
            output = self._read_value(value)
        if not self._checked:
            self._gl.check("in the first frame")
            self._checked = True
        return output

    def layers(self, image: NDArray[np.uint8]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield (layer name, output as numbers) of every layer but the picture itself, in order.

        Each is drawn when it is asked for: finish the loop before you run this session on something else.
        """
        self._enter()
        self._upload_picture(image)
        for layer in self.bundle.manifest.model.layers:
            if layer.op == "input":
                continue
            self._draw(layer.name)
            yield layer.name, self._read_value(layer.output)
            self._enter()

    def run_layer(self, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
        """Run one layer alone, on given inputs, and return its output.

        Args:
            name: the layer's name.
            inputs: one array for each of its inputs: (height, width, channels) of a feature map, (length,)
                of a vector. They are rounded to what their textures hold, within the ranges of these.

        Raises:
            InputError: no such layer, or inputs that do not fit it.
        """
        self._enter()
        layers = {layer.name: layer for layer in self.bundle.manifest.model.layers}
        if name not in layers or layers[name].op == "input":
            raise InputError(f"no layer '{name}'; there are: {', '.join(list(layers)[1:])}")
        wanted = layers[name].inputs
        if len(inputs) != len(wanted):
            raise InputError(f"layer '{name}' has {len(wanted)} inputs ({', '.join(wanted)}), {len(inputs)} were given")
        self._clear({texture for source in wanted for texture in textures_of(layers[source].output)})
        for source, array in zip(wanted, inputs):
            self._upload_value(source, layers[source].output, array)
        self._draw(name)
        return self._read_value(layers[name].output)

    def read_texture(self, name: str) -> NDArray[np.uint8]:
        """Return a texture that passes render into, as it is now: uint8 (height, width, 4).

        Layers may share it: after a whole frame it holds the output of the last one that did.
        """
        self._enter()
        if name not in self._framebuffers:
            raise InputError(f"no texture '{name}' is rendered into")
        self._gl.BindFramebuffer(FRAMEBUFFER, self._framebuffers[name])
        texture = self._textures[name]
        return self._objects.read(texture.width, texture.height)

    def selfcheck(self) -> tuple[probe.LayerError, ...]:
        """Run the probe through all layers and return every layer's error.

        Raises:
            SelfCheckError: naming the first layer that is further off than its tolerance.
        """
        manifest = self.bundle.manifest
        self._enter()
        self._upload_picture(probe.picture(manifest.input.size))
        errors = tuple(
            probe.compare(
                manifest.probe, self.bundle.members[manifest.probe.member], self._probe_layers(), self.bundle.values
            )
        )
        for error in errors:
            if not error.passed:
                renderer = self._gl.text(GL.GL_RENDERER)
                raise SelfCheckError(
                    f"layer '{error.layer}' comes out wrong on this driver ({renderer}): off by up to {error.worst:g} "
                    f"({error.mean:.2f} in the mean), where {error.allowed.max_error:g} "
                    f"({error.allowed.mean_error:.2f} in the mean) is tolerated; please report it with the output of "
                    "'glsl-infer info'"
                )
        self._check_whole_frame()
        return errors

    def _check_whole_frame(self) -> None:
        """Run the probe as one frame, which replays other calls than layer by layer, and check the result."""
        manifest = self.bundle.manifest
        layer = manifest.model.output
        before = self._read_value(self.bundle.values[layer])
        output = self.run(probe.picture(manifest.input.size))
        logits = np.asarray(manifest.probe.logits, np.float32)
        off = float(np.abs(output - (logits if logits.size else before)).max())
        if not off <= manifest.probe.max_error:
            raise SelfCheckError(
                f"every layer comes out right, but the output of a whole frame is off by {off:g}, where "
                f"{manifest.probe.max_error:g} is tolerated; please report it with the output of 'glsl-infer info'"
            )

    def statistics(self) -> Statistics:
        """Return what one frame takes."""
        manifest = self.bundle.manifest
        return Statistics(
            passes=len(manifest.passes),
            jobs=manifest.jobs,
            programs=len(manifest.programs),
            gl_calls=len(self._frame),
            texture_bytes=sum(4 * texture.width * texture.height for texture in manifest.textures),
        )

    def close(self) -> None:
        """Delete every GL object, and the context if the session made it; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.context.make_current()
            self._objects.close()
        finally:
            if self.context.owner is self:
                self.context.owner = None
            if self._own_context:
                self.context.close()

    # Preparing -------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        manifest, members = self.bundle.manifest, self.bundle.members
        self._input_layer = next(layer.name for layer in manifest.model.layers if layer.op == "input")
        self._textures = {texture.name: texture for texture in manifest.textures}
        self._varyings = max(program.varyings for program in manifest.programs)
        programs = self._compile(manifest.programs)
        names = {
            texture.name: self._objects.texture(
                texture.width,
                texture.height,
                bytes(texture.clear) * (texture.width * texture.height)
                if texture.member is None
                else members[texture.member],
            )
            for texture in manifest.textures
        }
        self._texture_names = names
        self._framebuffers = {
            texture.name: self._objects.framebuffer(names[texture.name])
            for texture in manifest.textures
            if texture.kind == "target"
        }
        vertices, first = frame.vertices(manifest.passes, self._textures, self._varyings)
        self._vertex_buffer = self._objects.buffer(vertices.tobytes())
        handles = frame.Handles(programs, names, self._framebuffers)
        recorder = frame.Recorder(self._gl, handles, self._textures, members, first)
        calls, constant = recorder.constant_uniforms(manifest.passes)
        for function, arguments in calls:
            function(*arguments)
        self._frame = recorder.record(manifest.passes, constant)
        by_layer: dict[str, list[Pass]] = {}
        for one in manifest.passes:
            by_layer.setdefault(one.layer, []).append(one)
        self._layer_calls = {name: recorder.record(passes, constant) for name, passes in by_layer.items()}
        size = manifest.input.size
        self._picture = np.full((size, size, 4), 255, np.uint8)

    def _compile(self, entries: Sequence[ShaderProgram]) -> dict[str, frame.Linked]:
        members, objects = self.bundle.members, self._objects
        prelude = members[PRELUDE] + self.context.device_lines.encode()
        sources = {entry.name: (members[entry.vertex], prelude + members[entry.fragment]) for entry in entries}
        attributes = ["position", *(f"corner{index}" for index in range(self._varyings))]
        started = {entry.name: objects.start_program(*sources[entry.name], attributes) for entry in entries}
        users: dict[str, str] = {}
        for one in self.bundle.manifest.passes:
            users.setdefault(one.program, one.layer)
        linked = {}
        for entry in entries:
            where = f"layer '{users.get(entry.name, entry.name)}' on {self._gl.text(GL.GL_RENDERER)}"
            name = started[entry.name]
            objects.check_program(name, *sources[entry.name], where)
            self._gl.UseProgram(name)
            for unit, sampler in enumerate(entry.samplers):
                self._gl.Uniform1i(self._gl.GetUniformLocation(name, sampler.encode()), unit)
            locations = {key: self._gl.GetUniformLocation(name, key.encode()) for key in entry.uniforms}
            linked[entry.name] = frame.Linked(name, locations)
        objects.drop_shaders()
        return linked

    # The state of the context ------------------------------------------------------------------------

    def _enter(self) -> None:
        """Make the context current, and its vertex arrays and fixed state this session's."""
        if self._closed:
            raise RunError("the session is closed")
        self.context.make_current()
        if self.context.owner is self:
            return
        self.context.owner = self
        gl = self._gl
        self._objects.fixed_state()
        gl.BindBuffer(_ARRAY_BUFFER, self._vertex_buffer)
        stride = 4 * (2 + 4 * self._varyings)
        gl.VertexAttribPointer(0, 2, _FLOAT, 0, stride, None)
        gl.EnableVertexAttribArray(0)
        for index in range(self._varyings):
            gl.VertexAttribPointer(1 + index, 4, _FLOAT, 0, stride, ctypes.c_void_p(4 * (2 + 4 * index)))
            gl.EnableVertexAttribArray(1 + index)

    def _draw(self, layer: str) -> None:
        for function, arguments in self._layer_calls.get(layer, ()):
            function(*arguments)

    # Textures ----------------------------------------------------------------------------------------

    def _upload_picture(self, image: NDArray[np.uint8]) -> None:
        size = self.bundle.manifest.input.size
        if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.shape != (size, size, 3):
            given = f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
            raise ImageError(
                f"the model reads uint8 ({size}, {size}, 3), {given} was given; "
                "glsl_infer.preprocess.load makes it of any picture"
            )
        self._picture[..., :3] = image
        entry = self.bundle.manifest.input
        self._upload(entry.texture, entry.x, entry.y, self._picture)

    def _clear(self, textures: Iterable[str]) -> None:
        """Clear the targets among some textures, in whose gutters a layer that shares them may have drawn."""
        for name in textures:
            if name in self._framebuffers:
                self._gl.BindFramebuffer(FRAMEBUFFER, self._framebuffers[name])
                self._gl.ClearColor(*(byte / 255.0 for byte in self._textures[name].clear))
                self._gl.Clear(GL.GL_COLOR_BUFFER_BIT)

    def _upload_value(self, name: str, value: Value, array: NDArray[np.floating]) -> None:
        array = np.asarray(array)
        shape = shape_of(value)
        if array.shape != shape:
            raise InputError(f"input '{name}' has shape {array.shape}; the layer reads {shape}")
        if isinstance(value, FixedPoint):
            self._upload(value.texture, 0, 0, pack_fixed(array, value))
            return
        tiles = pack_tiles(array, value)
        if name == self._input_layer:
            tiles[..., value.channels :] = 255  # the picture's alpha, which carries what a padded offset needs
        for view, tile in zip(value.views, tiles):
            self._upload(view.texture, view.x, view.y, tile)

    def _upload(self, texture: str, x: int, y: int, texels: NDArray[np.uint8]) -> None:
        data = np.ascontiguousarray(texels)
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        self._gl.BindTexture(TEXTURE_2D, self._texture_names[texture])
        height, width = data.shape[:2]
        self._gl.TexSubImage2D(TEXTURE_2D, 0, x, y, width, height, RGBA, UNSIGNED_BYTE, data.ctypes.data)

    def _read_value(self, value: Value) -> NDArray[np.float32]:
        if isinstance(value, FixedPoint):
            width, height = value.size
            return unpack_fixed(self.read_texture(value.texture)[:height, :width], value)
        textures = {name: self._texels(name) for name in textures_of(value)}
        tiles = [textures[v.texture][v.y : v.y + value.height, v.x : v.x + value.width] for v in value.views]
        return unpack_tiles(np.stack(tiles), value)

    def _texels(self, name: str) -> NDArray[np.uint8]:
        """Return a texture's texels; those of the picture's, which nothing renders into, as they were uploaded."""
        if name in self._framebuffers:
            return self.read_texture(name)
        entry, texture = self.bundle.manifest.input, self._textures[name]
        texels = np.zeros((texture.height, texture.width, 4), np.uint8)
        texels[entry.y : entry.y + entry.size, entry.x : entry.x + entry.size] = self._picture
        return texels

    def _probe_layers(self) -> Iterator[tuple[str, dict[str, NDArray[np.uint8]]]]:
        """Draw layer by layer and yield each one's textures by name."""
        for layer in self.bundle.manifest.model.layers:
            if layer.op != "input" and not isinstance(ops.get(layer.op), ViewOperator):
                self._draw(layer.name)
                yield layer.name, {name: self.read_texture(name) for name in textures_of(layer.output)}
