package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** manifest.json as data, strictly: unknown keys, missing ones, wrong types and numbers out of range are refused. */
final class ManifestReader {
    private static final int MAX_SIDE = FormatConstants.SIDE_RANGE[1];
    private static final int MAX_COUNT = FormatConstants.COUNT_RANGE[1];
    private static final int MAX_PASSES = 1 << 30; // Caps has the real ones, and says so in words

    private ManifestReader() {}

    /**
     * Reads a manifest.
     *
     * @param data parsed JSON
     * @throws BundleError naming the key that is wrong
     */
    static Manifest read(Object data) {
        Fields fields = checkVersion(data);
        String name = fields.text("name");
        Manifest.Input input = input(new Fields(only(fields, "inputs"), "inputs[0]"));
        Manifest.Limits limits = limits(fields.any("limits"));
        List<Program.Texture> textures = new ArrayList<Program.Texture>();
        for (Object entry : fields.items("textures")) {
            textures.add(texture(entry, "textures[" + textures.size() + "]"));
        }
        List<Program.ShaderProgram> programs = new ArrayList<Program.ShaderProgram>();
        for (Object entry : fields.items("programs")) {
            programs.add(program(entry, "programs[" + programs.size() + "]"));
        }
        List<String> layers = fields.texts("layers");
        List<String> floats = fields.texts("floats");
        Fields passes = new Fields(fields.any("passes"), "passes");
        int passCount = passes.integer("count", 1, MAX_PASSES);
        int quadCount = passes.integer("quads", 1, MAX_PASSES);
        passes.done();
        Manifest.Output output = output(new Fields(only(fields, "outputs"), "outputs[0]"));
        Probe.Expected probe = probe(fields.any("probe"));
        Map<String, String> members = new LinkedHashMap<String, String>();
        for (Map.Entry<String, Object> entry : fields.mapping("members").entrySet()) {
            members.put(
                    entry.getKey(), Fields.text(entry.getValue(), "members['" + Fields.shown(entry.getKey()) + "']"));
        }
        fields.done();
        return new Manifest(
                name, input, limits, textures, programs, layers, floats, passCount, quadCount, output, probe, members);
    }

    /**
     * Looks at the keys that say what kind of file it is, and returns the others.
     *
     * @throws BundleError another format, another version, or a profile that this runner does not have
     */
    static Fields checkVersion(Object data) {
        Fields fields = new Fields(data, "manifest");
        if (!Manifest.FORMAT.equals(fields.optional("format"))) {
            throw new BundleError(
                    "manifest: 'format' is not 'glslnn': this is no glsl-infer model; give a *.glslnn file");
        }
        int version = fields.integer("version", 1, 1 << 30);
        if (version < Manifest.VERSION) {
            throw new BundleError("the model has format version " + version + "; export it again");
        }
        if (version > Manifest.VERSION) {
            throw new BundleError(
                    "the model has format version "
                            + version
                            + ", this program reads up to "
                            + Manifest.VERSION
                            + "; update this program");
        }
        String profile = fields.text("profile");
        if (!profile.equals(Manifest.PROFILE)) {
            throw new BundleError("the model needs profile '" + Fields.shown(profile) + "'; this runner has "
                    + Manifest.PROFILE + "; update the runner");
        }
        return fields;
    }

    private static Object only(Fields fields, String key) {
        List<Object> items = fields.items(key);
        if (items.size() != 1) {
            throw new BundleError(key + ": " + items.size() + " entries; this version has exactly one");
        }
        return items.get(0);
    }

    private static int[] integers(List<Object> items, String where, int low, int high) {
        int[] out = new int[items.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = Fields.integer(items.get(i), where, low, high);
        }
        return out;
    }

    private static Value value(Fields parent) {
        Fields fields = new Fields(parent.any("value"), parent.where + ".value");
        Value value = valueOf(fields);
        fields.done();
        return value;
    }

    private static Value valueOf(Fields fields) {
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

    private static Manifest.Input input(Fields fields) {
        String name = fields.text("name");
        fields.text("kind", "picture");
        fields.text("fit", Manifest.FIT);
        Value value = value(fields);
        fields.done();
        FeatureMap map = value instanceof FeatureMap ? (FeatureMap) value : null;
        if (map == null || map.views.size() != 1 || map.height != map.width || map.channels != 3) {
            throw new BundleError(
                    fields.where + ": a picture is a square feature map of 3 channels, which has one view");
        }
        return new Manifest.Input(name, map);
    }

    private static Manifest.Output output(Fields fields) {
        String name = fields.text("name");
        String purpose = fields.text("purpose", "classes", "image");
        Value value = value(fields);
        fields.done();
        boolean vector = value instanceof FixedPoint && ((FixedPoint) value).columns == 0;
        if (purpose.equals("classes") ? !vector : !(value instanceof FeatureMap)) {
            throw new BundleError(
                    fields.where + ": 'classes' are a vector in fixed point (columns 0), an 'image' is a feature map;"
                            + " this is neither");
        }
        return new Manifest.Output(name, purpose, value);
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
        List<Program.Slot> uniforms = new ArrayList<Program.Slot>();
        Set<String> names = new HashSet<String>();
        for (Object entry : fields.items("uniforms")) {
            String place = where + ".uniforms[" + uniforms.size() + "]";
            List<Object> pair = Fields.items(entry, place);
            if (pair.size() != 2) {
                throw new BundleError(place + ": expected [name, number of floats]");
            }
            String uniform = Fields.text(pair.get(0), place);
            identifier(uniform, place);
            if (!names.add(uniform)) {
                throw new BundleError(place + ": '" + uniform + "' twice");
            }
            uniforms.add(new Program.Slot(uniform, Fields.integer(pair.get(1), place, 1, 1 << 14)));
        }
        if (uniforms.size() > FormatConstants.MAX_UNIFORMS) {
            throw new BundleError(
                    where + ": " + uniforms.size() + " uniforms; a program has at most "
                            + FormatConstants.MAX_UNIFORMS);
        }
        fields.done();
        return new Program.ShaderProgram(name, vertex, fragment, samplers, varyings, uniforms);
    }

    private static void identifier(String name, String where) {
        if (!name.matches("[A-Za-z_][A-Za-z0-9_]*")) {
            throw new BundleError(where + ": '" + Fields.shown(name) + "' is not a name that GLSL allows");
        }
    }

    private static Probe.Expected probe(Object probe) {
        Fields fields = new Fields(probe, "probe");
        fields.text("formula", Manifest.PROBE_FORMULA);
        String member = fields.text("member");
        List<Probe.Entry> layers = new ArrayList<Probe.Entry>();
        for (Object data : fields.items("layers")) {
            Fields entry = new Fields(data, "probe.layers[" + layers.size() + "]");
            String layer = entry.text("layer");
            int offset = entry.integer("offset", 0, 1 << 28);
            int count = entry.integer("count", 1, MAX_COUNT);
            double maxError = entry.number("max_error", 0.0);
            double meanError = entry.number("mean_error", 0.0);
            layers.add(new Probe.Entry(layer, offset, count, maxError, meanError, value(entry)));
            entry.done();
        }
        double[] logits = fields.numbers("logits");
        double maxError = fields.number("max_error", 0.0);
        fields.done();
        return new Probe.Expected(member, layers, logits, maxError);
    }
}
