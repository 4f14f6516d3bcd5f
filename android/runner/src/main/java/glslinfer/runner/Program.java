package glslinfer.runner;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/** Data of a frame: textures, shader programs and passes; bundle-format.md explains them. */
public final class Program {
    /** Member at the start of every fragment shader. */
    static final String PRELUDE = "shaders/prelude.glsl";

    private Program() {}

    /** An RGBA8 texture. Its kind is {@code input}, {@code target} or {@code constant}. */
    public static final class Texture {
        static final String INPUT = "input";
        static final String TARGET = "target";
        static final String CONSTANT = "constant"; // filled from its member

        public final String name;
        public final int width;
        public final int height;
        public final String kind;
        /** Member with the texels of a constant texture; otherwise null. */
        public final String member;
        /** Red, green, blue, alpha of texels that are neither drawn nor uploaded. */
        final int[] clear;

        Texture(String name, int width, int height, String kind, String member, int[] clear) {
            this.name = name;
            this.width = width;
            this.height = height;
            this.kind = kind;
            this.member = member;
            this.clear = clear;
        }

        boolean isTarget() {
            return kind.equals(TARGET);
        }

        boolean isInput() {
            return kind.equals(INPUT);
        }

        /**
         * Returns the initial texels.
         *
         * @param bytes bytes of its member for a constant texture; otherwise it has its clear colour
         */
        ByteBuffer texels(byte[] bytes) {
            ByteBuffer texels = GlObjects.direct(4 * width * height); // all zeros
            if (bytes != null) {
                texels.duplicate().put(bytes);
            } else if (!Arrays.equals(clear, new int[4])) {
                for (int i = 0; i < texels.capacity(); i++) {
                    texels.put(i, (byte) clear[i % 4]);
                }
            }
            return texels;
        }
    }

    /**
     * A pair of shaders: the k-th sampler reads unit k; {@code uniforms} are all others, in the order of their values.
     */
    public static final class ShaderProgram {
        public final String name;
        public final String vertex;
        public final String fragment;
        public final List<String> samplers;
        public final int varyings;
        final List<Slot> uniforms;

        ShaderProgram(
                String name,
                String vertex,
                String fragment,
                List<String> samplers,
                int varyings,
                List<Slot> uniforms) {
            this.name = name;
            this.vertex = vertex;
            this.fragment = fragment;
            this.samplers = samplers;
            this.varyings = varyings;
            this.uniforms = uniforms;
        }
    }

    /** A uniform of a program: its name in GLSL, and its number of floats. */
    static final class Slot {
        final String name;
        final int floats;

        Slot(String name, int floats) {
            this.name = name;
            this.floats = floats;
        }
    }

    /** The value of a uniform: numbers, or floats of a member, starting at index {@code offset}. */
    static final class Uniform {
        /** Null if the value is {@link #numbers}. */
        final String member;

        final int offset;
        final int count;
        final float[] numbers;

        Uniform(String member, int offset, int count) {
            this.member = member;
            this.offset = offset;
            this.count = count;
            this.numbers = null;
        }

        Uniform(float[] numbers) {
            this.member = null;
            this.offset = 0;
            this.count = numbers.length;
            this.numbers = numbers;
        }

        @Override
        public boolean equals(Object other) {
            if (!(other instanceof Uniform)) {
                return false;
            }
            Uniform that = (Uniform) other;
            return (member == null ? that.member == null : member.equals(that.member))
                    && offset == that.offset
                    && count == that.count
                    && Arrays.equals(numbers, that.numbers);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(numbers) + 31 * offset + (member == null ? 0 : member.hashCode());
        }
    }

    /** Source of a pass: a texture unit, and the stride in texels between pixels. */
    static final class Source {
        final int unit;
        final float strideX;
        final float strideY;

        Source(int unit, float strideX, float strideY) {
            this.unit = unit;
            this.strideX = strideX;
            this.strideY = strideY;
        }
    }

    /** A rectangle of the target; origins are x, y of the texel of each source that its first pixel reads. */
    static final class Quad {
        final int x;
        final int y;
        final int width;
        final int height;
        final int[] origins;

        Quad(int x, int y, int width, int height, int[] origins) {
            this.x = x;
            this.y = y;
            this.width = width;
            this.height = height;
            this.origins = origins;
        }
    }

    /** A draw of one or more quads. */
    public static final class Pass {
        public final String layer;
        public final String program;
        public final String target;
        /** True if the target is cleared first, at the start of a job. */
        public final boolean clear;
        public final List<String> textures;
        final List<Source> sources;
        final List<Quad> quads;
        /** A value for each uniform of the program, in their order. */
        final Uniform[] uniforms;

        Pass(
                String layer,
                String program,
                String target,
                boolean clear,
                List<String> textures,
                List<Source> sources,
                List<Quad> quads,
                Uniform[] uniforms) {
            this.layer = layer;
            this.program = program;
            this.target = target;
            this.clear = clear;
            this.textures = textures;
            this.sources = sources;
            this.quads = quads;
            this.uniforms = uniforms;
        }
    }
}
