package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Strict reader of passes.bin, specified by bundle-format.md. Its indices refer to lists in the manifest. */
final class PassReader {
    static final String MEMBER = "passes.bin";

    private static final int MAX_SIDE = FormatConstants.SIDE_RANGE[1];
    private static final int MAX_SOURCES = FormatConstants.SOURCES_RANGE[1];
    private static final int MAX_UNITS = FormatConstants.UNIT_RANGE[1] + 1;

    private final Manifest manifest;
    private final Map<String, byte[]> members;
    private final ByteBuffer bytes;

    /** Start of messages: the current pass. */
    private String where = "";

    /** Remaining number of quads. */
    private int quadsLeft;

    private PassReader(Manifest manifest, Map<String, byte[]> members) {
        this.manifest = manifest;
        this.members = members;
        this.bytes = ByteBuffer.wrap(members.get(MEMBER)).order(ByteOrder.LITTLE_ENDIAN);
        this.quadsLeft = manifest.quadCount;
    }

    /**
     * Reads all passes.
     *
     * @param manifest with counts within the limits of {@link ManifestCheck}
     * @param members has passes.bin and all of {@code manifest.floats}
     * @throws BundleError with the pass that violates the format
     */
    static List<Program.Pass> read(Manifest manifest, Map<String, byte[]> members) {
        PassReader reader = new PassReader(manifest, members);
        List<Program.Pass> passes = new ArrayList<Program.Pass>();
        try {
            while (passes.size() < manifest.passCount) {
                reader.where = "pass " + passes.size();
                passes.add(reader.pass());
            }
        } catch (BufferUnderflowException error) {
            throw new BundleError(reader.where + ": " + MEMBER + " ends within it");
        }
        if (reader.quadsLeft > 0) {
            throw new BundleError(MEMBER + ": " + (manifest.quadCount - reader.quadsLeft) + " quads, but "
                    + manifest.quadCount + " in the manifest");
        }
        if (reader.bytes.hasRemaining()) {
            throw new BundleError(
                    MEMBER + ": " + reader.bytes.remaining() + " bytes behind the last pass of " + passes.size());
        }
        return passes;
    }

    private Program.Pass pass() {
        String layer = manifest.layers.get(index("layer", manifest.layers.size()));
        Program.ShaderProgram program = manifest.programs.get(index("program", manifest.programs.size()));
        String target = texture();
        int clear = u8();
        if (clear > 1) {
            throw wrong("'clear' is " + clear + ", not 0 or 1");
        }
        String[] textures = new String[u8()];
        for (int i = 0; i < textures.length; i++) {
            textures[i] = texture();
        }
        Program.Source[] sources = sources();
        Program.Quad[] quads = quads(sources.length);
        Program.Uniform[] uniforms = new Program.Uniform[program.uniforms.size()];
        for (int i = 0; i < uniforms.length; i++) {
            uniforms[i] = uniform(program.uniforms.get(i));
        }
        return new Program.Pass(
                layer,
                program.name,
                target,
                clear == 1,
                Arrays.asList(textures),
                Arrays.asList(sources),
                Arrays.asList(quads),
                uniforms);
    }

    private String texture() {
        return manifest.textures.get(index("texture", manifest.textures.size())).name;
    }

    private Program.Source[] sources() {
        int count = u8();
        if (count < 1 || count > MAX_SOURCES) {
            throw wrong(count + " sources; a pass has 1 to " + MAX_SOURCES);
        }
        Program.Source[] sources = new Program.Source[count];
        for (int i = 0; i < count; i++) {
            int unit = u8();
            if (unit >= MAX_UNITS) {
                throw wrong("source " + i + " reads texture unit " + unit + ", not one from 0 to " + (MAX_UNITS - 1));
            }
            sources[i] = new Program.Source(unit, number(MAX_SIDE), number(MAX_SIDE));
        }
        return sources;
    }

    private Program.Quad[] quads(int sources) {
        long count = bytes.getInt() & 0xffffffffL;
        if (count < 1 || count > quadsLeft) {
            throw wrong(count + " quads; it must have one or more, and the manifest leaves it " + quadsLeft);
        }
        // Checked before an allocation, because the manifest's number can exceed the file's size.
        if (count * (8 + 4 * sources) > bytes.remaining()) {
            throw new BufferUnderflowException();
        }
        Program.Quad[] quads = new Program.Quad[(int) count];
        for (int i = 0; i < quads.length; i++) {
            int[] rectangle = new int[4];
            for (int k = 0; k < rectangle.length; k++) {
                rectangle[k] = within(u16(), 0);
            }
            int[] origins = new int[2 * sources];
            for (int k = 0; k < origins.length; k++) {
                // An origin is before the texture if windows start in the padding.
                origins[k] = within(bytes.getShort(), -MAX_SIDE);
            }
            quads[i] = new Program.Quad(rectangle[0], rectangle[1], rectangle[2], rectangle[3], origins);
        }
        quadsLeft -= quads.length;
        return quads;
    }

    private int within(int texels, int low) {
        if (texels < low || texels > MAX_SIDE) {
            throw wrong("a quad has the number " + texels + ", not one from " + low + " to " + MAX_SIDE);
        }
        return texels;
    }

    private Program.Uniform uniform(Program.Slot slot) {
        String label = "uniform '" + slot.name + "'";
        int kind = u8();
        if (kind == 0) {
            if (4 * slot.floats > bytes.remaining()) {
                throw new BufferUnderflowException();
            }
            float[] numbers = new float[slot.floats];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = number(FormatConstants.GLSL_MOST_UNIFORM);
            }
            return new Program.Uniform(numbers);
        }
        if (kind != 1) {
            throw wrong(label + " is of kind " + kind + ", not 0 or 1");
        }
        String member = manifest.floats.get(index("member with floats", manifest.floats.size()));
        long offset = bytes.getInt() & 0xffffffffL;
        if (4 * (offset + slot.floats) > members.get(member).length) {
            throw new BundleError(Rule.UNIFORMS, where + ": " + label + " ends beyond its member '" + member + "'");
        }
        return new Program.Uniform(member, (int) offset, slot.floats);
    }

    private int u8() {
        return bytes.get() & 255;
    }

    private int u16() {
        return bytes.getShort() & 0xffff;
    }

    private int index(String kind, int count) {
        int index = u16();
        if (index >= count) {
            throw wrong("there is no " + kind + " " + index + "; the manifest has " + count);
        }
        return index;
    }

    private float number(double most) {
        float number = bytes.getFloat();
        if (!(Math.abs(number) <= most)) { // NaN is not
            throw wrong("a number that is not finite, or too large");
        }
        return number;
    }

    private BundleError wrong(String message) {
        return new BundleError(where + ": " + message);
    }
}
