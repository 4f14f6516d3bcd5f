package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Strict reader of limits, textures, programs and the probe in manifest.json. */
final class PartReader {
    private PartReader() {}

    /** Reads the bundle's requirements on the driver. */
    static Manifest.Limits limits(Object data) {
        Fields fields = new Fields(data, "limits");
        int[][] ranges = {
            FormatConstants.TEXTURE_UNITS_RANGE,
            FormatConstants.TEXTURE_SIZE_RANGE,
            FormatConstants.FRAGMENT_UNIFORM_VECTORS_RANGE,
            FormatConstants.VARYING_VECTORS_RANGE,
            FormatConstants.VERTEX_ATTRIBUTES_RANGE,
        };
        int[] values = new int[ranges.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = fields.integer(FormatConstants.LIMITS_KEYS[i], ranges[i]);
        }
        fields.done();
        return new Manifest.Limits(values);
    }

    /** Reads a texture; {@code where} is its name in messages. */
    static Program.Texture texture(Object data, String where) {
        Fields fields = new Fields(data, where);
        String name = fields.text("name");
        String kind = fields.text("kind", FormatConstants.TEXTURE_KINDS);
        int width = fields.integer("width", FormatConstants.SIDE_RANGE);
        int height = fields.integer("height", FormatConstants.SIDE_RANGE);
        int[] clear = kind.equals(Program.Texture.CONSTANT) ? new int[4] : clear(fields);
        String member = fields.has("member") ? fields.text("member") : null;
        fields.done();
        return new Program.Texture(name, width, height, kind, member, clear);
    }

    private static int[] clear(Fields fields) {
        List<Object> items = fields.items("clear");
        if (items.size() != 4) {
            throw new BundleError(fields.where + ": 'clear' has " + items.size() + " bytes, not 4");
        }
        int[] clear = new int[4];
        for (int i = 0; i < clear.length; i++) {
            clear[i] = Fields.integer(items.get(i), fields.where + ": 'clear'", FormatConstants.BYTE_RANGE);
        }
        return clear;
    }

    /** Reads a pair of shaders; {@code where} is its name in messages. */
    static Program.ShaderProgram program(Object data, String where) {
        Fields fields = new Fields(data, where);
        String name = fields.text("name");
        String vertex = fields.text("vertex");
        String fragment = fields.text("fragment");
        List<String> samplers = fields.texts("samplers");
        for (String sampler : samplers) {
            identifier(sampler, where + ": 'samplers'");
        }
        int varyings = fields.integer("varyings", FormatConstants.VARYINGS_RANGE);
        List<Program.Slot> uniforms = uniforms(fields.items("uniforms"), where);
        fields.done();
        return new Program.ShaderProgram(name, vertex, fragment, samplers, varyings, uniforms);
    }

    private static List<Program.Slot> uniforms(List<Object> entries, String where) {
        if (entries.size() > FormatConstants.MAX_UNIFORMS) {
            throw new BundleError(where + ": " + entries.size() + " uniforms; a program has at most "
                    + FormatConstants.MAX_UNIFORMS);
        }
        List<Program.Slot> uniforms = new ArrayList<Program.Slot>();
        Set<String> names = new HashSet<String>();
        for (Object entry : entries) {
            String place = where + ".uniforms[" + uniforms.size() + "]";
            List<Object> pair = Fields.items(entry, place);
            if (pair.size() != 2) {
                throw new BundleError(place + ": expected [name, number of floats]");
            }
            String uniform = Fields.text(pair.get(0), place);
            identifier(uniform, place);
            if (!names.add(uniform)) {
                throw new BundleError(place + ": '" + Fields.shown(uniform) + "' is there twice");
            }
            int floats = Fields.integer(pair.get(1), place, FormatConstants.FLOATS_RANGE);
            if (floats > 4 && floats % 4 != 0) {
                throw new BundleError(
                        place + ": '" + uniform + "' has " + floats + " numbers; give 1 to 4, or whole vec4s");
            }
            uniforms.add(new Program.Slot(uniform, floats));
        }
        return uniforms;
    }

    private static void identifier(String name, String where) {
        if (!name.matches(FormatConstants.IDENTIFIER_PATTERN)) {
            throw new BundleError(where + ": '" + Fields.shown(name) + "' is not a name that GLSL allows");
        }
    }

    /** Reads the probe. */
    static Probe.Expected probe(Object data) {
        Fields fields = new Fields(data, "probe");
        fields.text("formula", FormatConstants.PROBE_FORMULA);
        String member = fields.text("member");
        List<Probe.Entry> layers = new ArrayList<Probe.Entry>();
        for (Object entry : fields.items("layers")) {
            layers.add(layer(entry, "probe.layers[" + layers.size() + "]"));
        }
        List<Probe.Numbers> outputs = new ArrayList<Probe.Numbers>();
        for (Object entry : fields.items("outputs")) {
            Fields output = new Fields(entry, "probe.outputs[" + outputs.size() + "]");
            outputs.add(new Probe.Numbers(output.numbers("numbers"), output.number("max_error", 0.0)));
            output.done();
        }
        fields.done();
        return new Probe.Expected(member, layers, outputs);
    }

    private static Probe.Entry layer(Object data, String where) {
        Fields fields = new Fields(data, where);
        String layer = fields.text("layer");
        int offset = fields.integer("offset", FormatConstants.OFFSET_RANGE);
        int count = fields.integer("count", FormatConstants.COUNT_RANGE);
        double maxError = fields.number("max_error", 0.0);
        double meanError = fields.number("mean_error", 0.0);
        Layout.Value value = ValueReader.read(fields.any("value"), where + ".value");
        fields.done();
        return new Probe.Entry(layer, offset, count, maxError, meanError, value);
    }
}
