package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** manifest.json as data, strictly: unknown keys, missing ones, wrong types and numbers out of range are refused. */
final class ManifestReader {
    private static final int MAX_SIDE = 8192;
    private static final int MAX_COUNT = 1 << 20;

    private ManifestReader() {}

    /**
     * Reads a manifest.
     *
     * @param data parsed JSON
     * @throws BundleError naming the key that is wrong
     */
    static Manifest read(Object data) {
        Fields fields = checkVersion(data);
        Fields model = new Fields(fields.any("model"), "model");
        String name = model.text("name");
        String outputLayer = model.text("output");
        List<Manifest.Layer> layers = new ArrayList<Manifest.Layer>();
        for (Object one : model.items("layers")) {
            layers.add(layer(one, "model.layers[" + layers.size() + "]"));
        }
        model.done();
        Manifest.Input input = input(fields.any("input"));
        Manifest.Limits limits = limits(fields.any("limits"));
        List<Program.Texture> textures = new ArrayList<Program.Texture>();
        for (Object one : fields.items("textures")) {
            textures.add(texture(one, "textures[" + textures.size() + "]"));
        }
        List<Program.ShaderProgram> programs = new ArrayList<Program.ShaderProgram>();
        for (Object one : fields.items("programs")) {
            programs.add(program(one, "programs[" + programs.size() + "]"));
        }
        List<Program.Pass> passes = new ArrayList<Program.Pass>();
        for (Object one : fields.items("passes")) {
            passes.add(pass(one, "passes[" + passes.size() + "]"));
        }
        List<Object> outputs = fields.items("outputs");
        if (outputs.size() != 1) {
            throw new BundleError(outputs.size() + " outputs; this version has exactly one");
        }
        Fields output = new Fields(outputs.get(0), "outputs[0]");
        String outputName = output.text("name", "logits", "image");
        Value value = value(output);
        output.done();
        boolean vector = value instanceof FixedPoint && ((FixedPoint) value).columns == 0;
        if (outputName.equals("logits") ? !vector : !(value instanceof FeatureMap)) {
            throw new BundleError(
                    "outputs[0]: '" + outputName
                            + "' must be a vector in fixed point if 'logits', an 8-bit map if 'image'");
        }
        Probe.Expected probe = probe(fields.any("probe"));
        Map<String, String> members = new LinkedHashMap<String, String>();
        for (Map.Entry<String, Object> one : fields.mapping("members").entrySet()) {
            members.put(one.getKey(), Fields.text(one.getValue(), "members['" + Fields.shown(one.getKey()) + "']"));
        }
        fields.done();
        return new Manifest(
                name, outputLayer, layers, input, limits, textures, programs, passes, outputName, value, probe,
                members);
    }

    /**
     * Looks at the two keys that every version has, and returns the others.
     *
     * @throws BundleError another format, or a newer version
     */
    static Fields checkVersion(Object data) {
        Fields fields = new Fields(data, "manifest");
        if (!Manifest.FORMAT.equals(fields.optional("format"))) {
            throw new BundleError(
                    "manifest: 'format' is not 'glslnn': this is no glsl-infer model; give a *.glslnn file");
        }
        int version = fields.integer("version", 1, 1 << 30);
        if (version > Manifest.VERSION) {
            throw new BundleError(
                    "the model has format version "
                            + version
                            + ", this program reads up to "
                            + Manifest.VERSION
                            + "; update this program");
        }
        return fields;
    }

    private static Manifest.Layer layer(Object data, String where) {
        Fields fields = new Fields(data, where);
        String name = fields.text("name");
        String op = fields.text("op");
        List<String> inputs = fields.texts("inputs");
        Map<String, Object> attrs = new LinkedHashMap<String, Object>();
        for (Map.Entry<String, Object> one : fields.mapping("attrs").entrySet()) {
            attrs.put(one.getKey(), attribute(one.getValue(), where + ".attrs['" + Fields.shown(one.getKey()) + "']"));
        }
        List<int[]> weights = new ArrayList<int[]>();
        for (Map.Entry<String, Object> one : fields.mapping("weights").entrySet()) {
            String place = where + ".weights['" + Fields.shown(one.getKey()) + "']";
            weights.add(integers(Fields.items(one.getValue(), place), place, 1, MAX_COUNT));
        }
        List<String> members = fields.texts("members");
        Fields output = new Fields(fields.any("output"), where + ".output");
        Value value = value(output);
        output.done();
        fields.done();
        return new Manifest.Layer(name, op, inputs, attrs, weights, members, value);
    }

    private static Object attribute(Object value, String where) {
        if (value instanceof List) {
            for (Object one : Fields.items(value, where)) {
                scalar(one, where);
            }
        } else {
            scalar(value, where);
        }
        return value;
    }

    private static void scalar(Object value, String where) {
        if (value instanceof String) {
            Fields.text(value, where);
        } else if (value != null && !(value instanceof Boolean)) {
            Fields.number(value, where, -Fields.MAX_NUMBER);
        }
    }

    private static int[] integers(List<Object> items, String where, int low, int high) {
        int[] out = new int[items.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = Fields.integer(items.get(i), where, low, high);
        }
        return out;
    }

    private static Value value(Fields fields) {
        if (!fields.has("views")) {
            String texture = fields.text("texture");
            int columns = fields.integer("columns", 0, MAX_SIDE);
            return new FixedPoint(texture, columns, fields.integer("length", 1, MAX_COUNT), scale(fields));
        }
        int height = fields.integer("height", 1, MAX_SIDE);
        int width = fields.integer("width", 1, MAX_SIDE);
        int channels = fields.integer("channels", 1, MAX_COUNT);
        List<View> views = new ArrayList<View>();
        for (Object one : fields.items("views")) {
            String where = fields.where + ".views[" + views.size() + "]";
            List<Object> entries = Fields.items(one, where);
            if (entries.size() != 3) {
                throw new BundleError(where + ": expected [texture, x, y]");
            }
            int[] place = integers(entries.subList(1, 3), where, 0, MAX_SIDE);
            views.add(new View(Fields.text(entries.get(0), where), place[0], place[1]));
        }
        if (fields.has("scale")) {
            return new FixedMap(height, width, channels, scale(fields), views);
        }
        int gutter = fields.integer("gutter", 0, 64);
        double[] scales = fields.numbers("scales");
        return new FeatureMap(height, width, channels, gutter, views, scales, fields.numbers("zeros"));
    }

    private static double scale(Fields fields) {
        double scale = fields.number("scale", 0.0);
        if (scale == 0) {
            throw new BundleError(fields.where + ": 'scale' is 0, not positive");
        }
        return scale;
    }

    private static Manifest.Input input(Object data) {
        Fields fields = new Fields(data, "input");
        String texture = fields.text("texture");
        int size = fields.integer("size", 1, MAX_SIDE);
        int x = fields.integer("x", 0, MAX_SIDE);
        int y = fields.integer("y", 0, MAX_SIDE);
        fields.text("preprocessing", Manifest.PREPROCESSING);
        fields.done();
        return new Manifest.Input(texture, size, x, y);
    }

    private static Manifest.Limits limits(Object data) {
        Fields fields = new Fields(data, "limits");
        int[] low = {1, 1, 0, 1, 1};
        int[] high = {32, MAX_SIDE, 4096, 32, 32};
        int[] values = new int[low.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = fields.integer(Manifest.Limits.KEYS[i], low[i], high[i]);
        }
        fields.done();
        return new Manifest.Limits(values);
    }

    private static Program.Texture texture(Object data, String where) {
        Fields fields = new Fields(data, where);
        String name = fields.text("name");
        String kind = fields.text("kind", "input", "target", "constant");
        int width = fields.integer("width", 1, MAX_SIDE);
        int height = fields.integer("height", 1, MAX_SIDE);
        int[] clear = {0, 0, 0, 0};
        if (kind.equals("target")) {
            clear = integers(fields.items("clear"), where + ": 'clear'", 0, 255);
            if (clear.length != 4) {
                throw new BundleError(where + ": 'clear' has " + clear.length + " bytes, not 4");
            }
        }
        String member = fields.has("member") ? fields.text("member") : null;
        fields.done();
        return new Program.Texture(name, width, height, kind, member, clear);
    }

    private static Program.ShaderProgram program(Object data, String where) {
        Fields fields = new Fields(data, where);
        String name = fields.text("name");
        String vertex = fields.text("vertex");
        String fragment = fields.text("fragment");
        List<String> samplers = fields.texts("samplers");
        for (String sampler : samplers) {
            identifier(sampler, where + ": 'samplers'");
        }
        int varyings = fields.integer("varyings", 1, 7);
        Map<String, Integer> uniforms = new LinkedHashMap<String, Integer>();
        for (Map.Entry<String, Object> one : fields.mapping("uniforms").entrySet()) {
            identifier(one.getKey(), where + ": 'uniforms'");
            uniforms.put(
                    one.getKey(),
                    Fields.integer(one.getValue(), where + ".uniforms['" + one.getKey() + "']", 1, 1 << 14));
        }
        fields.done();
        return new Program.ShaderProgram(name, vertex, fragment, samplers, varyings, uniforms);
    }

    private static void identifier(String name, String where) {
        if (!name.matches("[A-Za-z_][A-Za-z0-9_]*")) {
            throw new BundleError(where + ": '" + Fields.shown(name) + "' is not a name that GLSL allows");
        }
    }

    private static Program.Pass pass(Object data, String where) {
        Fields fields = new Fields(data, where);
        String layer = fields.text("layer");
        String program = fields.text("program");
        String target = fields.text("target");
        boolean clear = fields.flag("clear");
        List<String> textures = fields.texts("textures");
        List<Program.Source> sources = new ArrayList<Program.Source>();
        for (Object one : fields.items("sources")) {
            String place = where + ".sources[" + sources.size() + "]";
            List<Object> entries = Fields.items(one, place);
            if (entries.size() != 3) {
                throw new BundleError(place + ": expected [unit, stride x, stride y]");
            }
            sources.add(
                    new Program.Source(
                            Fields.integer(entries.get(0), place, 0, 31),
                            Fields.number(entries.get(1), place, -Fields.MAX_NUMBER),
                            Fields.number(entries.get(2), place, -Fields.MAX_NUMBER)));
        }
        List<Program.Quad> quads = new ArrayList<Program.Quad>();
        for (Object one : fields.items("quads")) {
            quads.add(quad(one, sources.size(), where + ".quads[" + quads.size() + "]"));
        }
        Map<String, Program.Uniform> uniforms = new LinkedHashMap<String, Program.Uniform>();
        for (Map.Entry<String, Object> one : fields.mapping("uniforms").entrySet()) {
            identifier(one.getKey(), where + ": 'uniforms'");
            uniforms.put(one.getKey(), uniform(one.getValue(), where + ".uniforms['" + one.getKey() + "']"));
        }
        fields.done();
        return new Program.Pass(layer, program, target, clear, textures, sources, quads, uniforms);
    }

    private static Program.Quad quad(Object data, int sources, String where) {
        List<Object> entries = Fields.items(data, where);
        if (entries.size() != 4 + 2 * sources) {
            throw new BundleError(
                    where
                            + ": "
                            + entries.size()
                            + " numbers; x, y, width, height and 2 for each source are "
                            + (4 + 2 * sources));
        }
        int[] place = integers(entries.subList(0, 4), where, 0, MAX_SIDE);
        // An origin may lie before the texture: where windows begin in the padding.
        int[] origins = integers(entries.subList(4, entries.size()), where, -MAX_SIDE, MAX_SIDE);
        return new Program.Quad(place[0], place[1], place[2], place[3], origins);
    }

    private static Program.Uniform uniform(Object data, String where) {
        List<Object> entries = Fields.items(data, where);
        if (!entries.isEmpty() && entries.get(0) instanceof String) {
            if (entries.size() != 3) {
                throw new BundleError(where + ": expected [member, offset, count]");
            }
            int offset = Fields.integer(entries.get(1), where, 0, 1 << 28);
            int count = Fields.integer(entries.get(2), where, 4, 1 << 14);
            if (count % 4 != 0) {
                throw new BundleError(where + ": " + count + " numbers are no whole vec4s");
            }
            return new Program.Uniform((String) entries.get(0), offset, count);
        }
        if (entries.isEmpty() || entries.size() > 4) {
            throw new BundleError(where + ": " + entries.size() + " numbers; 1 to 4 can stand in a pass");
        }
        double[] numbers = new double[entries.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = Fields.number(entries.get(i), where, -Fields.MAX_NUMBER);
        }
        return new Program.Uniform(numbers);
    }

    private static Probe.Expected probe(Object data) {
        Fields fields = new Fields(data, "probe");
        fields.text("formula", Manifest.PROBE_FORMULA);
        String member = fields.text("member");
        List<Probe.Entry> layers = new ArrayList<Probe.Entry>();
        for (Object one : fields.items("layers")) {
            Fields entry = new Fields(one, "probe.layers[" + layers.size() + "]");
            String layer = entry.text("layer");
            int offset = entry.integer("offset", 0, 1 << 28);
            int count = entry.integer("count", 1, MAX_COUNT);
            double maxError = entry.number("max_error", 0.0);
            layers.add(new Probe.Entry(layer, offset, count, maxError, entry.number("mean_error", 0.0)));
            entry.done();
        }
        double[] logits = fields.numbers("logits");
        double maxError = fields.number("max_error", 0.0);
        fields.done();
        return new Probe.Expected(member, layers, logits, maxError);
    }
}
