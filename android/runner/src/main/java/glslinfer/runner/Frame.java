package glslinfer.runner;

import glslinfer.runner.Program.Pass;
import glslinfer.runner.Program.Quad;
import glslinfer.runner.Program.Source;
import glslinfer.runner.Program.Texture;
import glslinfer.runner.Program.Uniform;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** A frame as a list of GL calls, created once and replayed for each image without allocation. */
final class Frame {
    /** Two triangles of a quad, as x, y of each corner. */
    private static final int[][] CORNERS = {{0, 0}, {1, 0}, {0, 1}, {0, 1}, {1, 0}, {1, 1}};

    private Frame() {}

    /** A linked program: its GL name and the locations of its uniforms. */
    static final class Linked {
        final int name;
        /** In the order of the program's uniforms; -1 for those removed by the compiler. */
        final int[] locations;

        Linked(int name, int[] locations) {
            this.name = name;
            this.locations = locations;
        }
    }

    /**
     * GL names of all objects referenced by passes, by their names in the manifest, and the first vertex of each pass.
     */
    static final class Handles {
        final Map<String, Linked> programs = new HashMap<String, Linked>();
        final Map<String, Integer> textures = new HashMap<String, Integer>();
        final Map<String, Integer> framebuffers = new HashMap<String, Integer>();
        final Map<Pass, Integer> firstVertex = new IdentityHashMap<Pass, Integer>();
    }

    /** Converts passes to GL calls, without those that have no effect on the current state. */
    static final class Recorder {
        private final Bundle bundle;
        private final Handles handles;
        private final Map<String, Texture> sizes;
        private final int viewport;
        private final Map<String, Uniform> constant = new HashMap<String, Uniform>();
        private final Map<String, ByteBuffer> members = new HashMap<String, ByteBuffer>();
        private final Map<Uniform, FloatBuffer> values = new HashMap<Uniform, FloatBuffer>();

        Recorder(Bundle bundle, Handles handles, Map<String, Texture> sizes, int viewport) {
            this.bundle = bundle;
            this.handles = handles;
            this.sizes = sizes;
            this.viewport = viewport;
        }

        /** Returns the calls that set the constant uniforms of a frame; {@link #record} omits them. */
        Calls constantUniforms(List<Pass> passes) {
            Map<String, Boolean> varies = new HashMap<String, Boolean>();
            Map<String, Uniform> first = new HashMap<String, Uniform>();
            for (Pass pass : passes) {
                for (int i = 0; i < pass.uniforms.length; i++) {
                    String key = key(pass.program, i);
                    Uniform before = first.containsKey(key) ? first.get(key) : pass.uniforms[i];
                    first.put(key, before);
                    varies.put(key, Boolean.TRUE.equals(varies.get(key)) || !before.equals(pass.uniforms[i]));
                }
            }
            Calls calls = new Calls();
            for (Pass pass : passes) {
                for (int i = 0; i < pass.uniforms.length; i++) {
                    String key = key(pass.program, i);
                    if (!varies.get(key) && constant.put(key, pass.uniforms[i]) == null) {
                        calls.add(Calls.USE_PROGRAM, handles.programs.get(pass.program).name, 0, 0, 0);
                        uniform(calls, pass.program, i, pass.uniforms[i]);
                    }
                }
            }
            return calls;
        }

        /** Returns the calls that draw passes from any GL state. */
        Calls record(List<Pass> passes) {
            Calls calls = new Calls();
            calls.add(Calls.VIEWPORT, viewport, viewport, 0, 0);
            String program = null;
            String target = null;
            Map<Integer, String> bound = new HashMap<Integer, String>();
            int active = -1;
            int[] colour = null;
            Map<String, Uniform> uniforms = new HashMap<String, Uniform>();
            for (Pass pass : passes) {
                Texture size = sizes.get(pass.target);
                if (!pass.target.equals(target)) {
                    target = pass.target;
                    calls.add(Calls.BIND_FRAMEBUFFER, handles.framebuffers.get(target), 0, 0, 0);
                }
                if (pass.clear) {
                    if (!Arrays.equals(size.clear, colour)) {
                        colour = size.clear;
                        calls.add(Calls.CLEAR_COLOR, colour[0], colour[1], colour[2], colour[3]);
                    }
                    calls.add(Calls.CLEAR, 0, 0, 0, 0);
                }
                if (!pass.program.equals(program)) {
                    program = pass.program;
                    calls.add(Calls.USE_PROGRAM, handles.programs.get(program).name, 0, 0, 0);
                }
                // The active unit first, because it needs no glActiveTexture.
                int first = active;
                for (int step = first < pass.textures.size() ? -1 : 0; step < pass.textures.size(); step++) {
                    int unit = step < 0 ? first : step;
                    if (unit < 0) {
                        continue;
                    }
                    String texture = pass.textures.get(unit);
                    if (!texture.equals(bound.put(unit, texture))) {
                        if (active != unit) {
                            active = unit;
                            calls.add(Calls.ACTIVE_TEXTURE, Gl.GL_TEXTURE0 + unit, 0, 0, 0);
                        }
                        calls.add(Calls.BIND_TEXTURE, handles.textures.get(texture), 0, 0, 0);
                    }
                }
                for (int i = 0; i < pass.uniforms.length; i++) {
                    String key = key(program, i);
                    if (!constant.containsKey(key) && !pass.uniforms[i].equals(uniforms.put(key, pass.uniforms[i]))) {
                        uniform(calls, program, i, pass.uniforms[i]);
                    }
                }
                calls.add(Calls.DRAW, handles.firstVertex.get(pass), CORNERS.length * pass.quads.size(), 0, 0);
            }
            return calls;
        }

        private static String key(String program, int uniform) {
            return uniform + " " + program; // a number has no space, so keys of different pairs differ
        }

        private void uniform(Calls calls, String program, int index, Uniform value) {
            int location = handles.programs.get(program).locations[index];
            if (location < 0) {
                return; // the compiler removed it
            }
            FloatBuffer floats = values.get(value);
            if (floats == null) {
                floats = value.member == null ? numbers(value.numbers) : slice(value);
                values.put(value, floats);
            }
            int width = Math.min(value.count, 4); // more floats are an array of vec4
            calls.addUniform(location, value.count / width, width, floats);
        }

        private static FloatBuffer numbers(float[] numbers) {
            FloatBuffer floats = GlObjects.direct(4 * numbers.length).asFloatBuffer();
            for (int i = 0; i < numbers.length; i++) {
                floats.put(i, numbers[i]);
            }
            return floats;
        }

        private FloatBuffer slice(Uniform value) {
            ByteBuffer all = members.get(value.member);
            if (all == null) {
                byte[] bytes = bundle.member(value.member);
                all = GlObjects.direct(bytes.length);
                ByteBuffer little = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
                for (int offset = 0; offset < bytes.length; offset += 4) {
                    all.putInt(offset, little.getInt(offset)); // copied as bits, because a float copy can change a NaN
                }
                members.put(value.member, all);
            }
            ByteBuffer part = all.duplicate();
            Buffer range = part; // old Androids lack ByteBuffer's own methods, which later Javas have
            range.limit(4 * (value.offset + value.count));
            range.position(4 * value.offset);
            return part.slice().order(ByteOrder.nativeOrder()).asFloatBuffer();
        }
    }

    /**
     * Returns the side of the viewport of all jobs, from (0, 0), so that no call sets it for a target.
     *
     * <p>It is a power of two, like drivers' limits, with which corners of quads are exact in floats.
     *
     * @param largest GL_MAX_TEXTURE_SIZE, which every driver allows for a viewport. It is halved while all textures fit
     */
    static int viewport(Collection<Texture> textures, int largest) {
        int longest = 1;
        for (Texture texture : textures) {
            longest = Math.max(longest, Math.max(texture.width, texture.height));
        }
        int side = largest;
        while (2 * longest <= side) {
            side /= 2;
        }
        return side;
    }

    /**
     * Returns the vertices of all passes, and stores the first one of each pass in {@code handles}.
     *
     * <p>A vertex is its position in clip space for a square viewport, then the texture coordinates of all sources, two
     * in each vec4.
     */
    static ByteBuffer vertices(
            List<Pass> passes, Map<String, Texture> textures, int varyings, int viewport, Handles handles) {
        int floats = 2 + 4 * varyings;
        int count = 0;
        for (Pass pass : passes) {
            handles.firstVertex.put(pass, count);
            count += CORNERS.length * pass.quads.size();
        }
        ByteBuffer out = GlObjects.direct(4 * floats * count);
        int offset = 0;
        for (Pass pass : passes) {
            for (Quad quad : pass.quads) {
                for (int[] corner : CORNERS) {
                    out.putFloat(offset, (float) (2.0 * (quad.x + corner[0] * quad.width) / viewport - 1.0));
                    out.putFloat(offset + 4, (float) (2.0 * (quad.y + corner[1] * quad.height) / viewport - 1.0));
                    for (int k = 0; k < pass.sources.size(); k++) {
                        Source source = pass.sources.get(k);
                        Texture size = textures.get(pass.textures.get(source.unit));
                        double u = quad.origins[2 * k] + 0.5 + source.strideX * (corner[0] * quad.width - 0.5);
                        double v = quad.origins[2 * k + 1] + 0.5 + source.strideY * (corner[1] * quad.height - 0.5);
                        out.putFloat(offset + 8 + 8 * k, (float) (u / size.width));
                        out.putFloat(offset + 12 + 8 * k, (float) (v / size.height));
                    }
                    offset += 4 * floats;
                }
            }
        }
        return out;
    }
}
