"""The bundle that a session draws: the file's, or one converted to compile faster or to need fewer GL calls.

The conversion is for llvmpipe (faster compilation) or VideoCore IV (fewer calls). It takes place when a session starts.
It changes neither the number of draws nor the bytes that they store.

If the session has read the file itself, a texture's bytes are released as soon as GL has them (``bundle.streamed``).
"""

from __future__ import annotations

from collections import ChainMap, Counter
from typing import cast

from glsl_infer.bundle import Bundle
from glsl_infer.bundle.streamed import release
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.program import Texture
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.support.memory import trim_heap
from glsl_infer.support.records import replace

EXTENSION = "GL_OES_texture_float"

AT_ONCE = 4 << 20
"""Number of freed bytes that triggers a return of memory to the system, which takes milliseconds."""


class Drawn:
    """A bundle converted for the driver of a context, which must be current.

    Args:
        bundle: the bundle from the file.
        context: the context to draw in. ``DriverFacts.fetches_uniforms`` selects the conversion for llvmpipe, and
            ``ordered_fetches`` the one for VideoCore IV.
        objects: owns the additional texture, and deletes it.

    Attributes:
        bundle: the bundle to draw.
        samplers: texture units of samplers in the shaders but not in the programs of ``bundle``.
    """

    def __init__(self, bundle: Bundle, context: Context, objects: Objects) -> None:
        self.bundle = self._original = bundle
        self.samplers: dict[str, int] = {}
        self._gl, self._objects = context.gl, objects
        self._row_texture: int | None = None
        self._float_textures: frozenset[str] = frozenset()
        self._new_members: dict[str, bytes] = {}
        self._freed_bytes = 0
        if driver_of(context).fetches_uniforms:
            self._convert(bundle)
        elif driver_of(context).ordered_fetches:
            from glsl_infer.runtime.drivers import joined_uniforms  # other drivers start sooner without it

            self.bundle = joined_uniforms.joined(bundle)
        # Textures still to be created from each member
        self._pending = Counter(texture.member for texture in self.bundle.manifest.textures)

    def _convert(self, bundle: Bundle) -> None:
        """Convert the bundle for llvmpipe."""
        # Imported here because other drivers start sooner without these modules.
        from glsl_infer.runtime.drivers import shared_constants
        from glsl_infer.runtime.drivers.llvmpipe import fetch_loops, own_coordinates, uniform_rows, weight_halves

        bundle = shared_constants.merged(own_coordinates.merged(bundle), uniform_rows.MOST_VECTORS)
        limit = self._gl.integer(GL.GL_MAX_FRAGMENT_UNIFORM_VECTORS)
        bundle = fetch_loops.looped(bundle, uniform_rows.MOST_VECTORS, limit)
        largest = self._gl.integer(GL.GL_MAX_TEXTURE_SIZE)
        self.bundle = weight_halves.with_spare_rows(bundle, largest)
        self._share_members()
        has_float_textures = EXTENSION in self._gl.text(GL.GL_EXTENSIONS).split()
        if not has_float_textures:
            return
        self._float_textures = weight_halves.few_read(bundle)
        # The last unit stays bound, because passes use the first ones.
        unit = self._gl.integer(GL.GL_MAX_TEXTURE_IMAGE_UNITS) - 1
        units_of_passes = max(len(program.samplers) for program in bundle.manifest.programs)
        if units_of_passes > unit:
            return
        rows = uniform_rows.with_rows(self.bundle, largest)
        if rows.values is not None:
            height, width, _ = rows.values.shape
            self._row_texture = self._objects.float_texture(width, height, rows.values.tobytes())
            self.bundle, self.samplers = rows.bundle, {uniform_rows.SAMPLER: unit}
            self._share_members()

    def _share_members(self) -> None:
        """Store only new members; take the others from the original bundle, which can then release them."""
        original = self._original.members
        self._new_members = {name: data for name, data in self.bundle.members.items() if original.get(name) is not data}
        # The cast is for the type of ChainMap, which does not express that only its first mapping is written to.
        members = ChainMap(self._new_members, cast("dict[str, bytes]", original))
        self.bundle = replace(self.bundle, members=members)

    def bind(self) -> None:
        """Bind the additional texture for all passes, if it exists. Unit 0 is active afterwards."""
        if self._row_texture is not None:
            (unit,) = self.samplers.values()
            self._gl.ActiveTexture(GL.GL_TEXTURE0 + unit)
            self._gl.BindTexture(GL.GL_TEXTURE_2D, self._row_texture)
            self._gl.ActiveTexture(GL.GL_TEXTURE0)

    def texture(self, texture: Texture) -> int:
        """Create one of the textures of ``bundle``, release its bytes after their last use, and return its GL name."""
        if texture.member is None:
            texels = bytes(texture.clear) * (texture.width * texture.height)
            return self._objects.texture(texture.width, texture.height, texels)
        name = self._filled_texture(texture, self.bundle.members[texture.member])
        self._pending[texture.member] -= 1
        if not self._pending[texture.member]:
            self._release(texture.member)
        return name

    def _filled_texture(self, texture: Texture, texels: bytes) -> int:
        if texture.name in self._float_textures:
            from glsl_infer.runtime.drivers.llvmpipe import weight_halves

            return self._objects.float_texture(texture.width, texture.height, weight_halves.floats(texels))
        return self._objects.texture(texture.width, texture.height, texels)

    def _release(self, member: str) -> None:
        """Free the bytes of a member, and return memory to the system from time to time."""
        self._new_members.pop(member, None)
        original_name = member.removesuffix("+")  # weight_halves.with_spare_rows appends it
        self._freed_bytes += release(self._original, original_name)
        if self._freed_bytes >= AT_ONCE:
            self._freed_bytes = 0
            trim_heap()
