package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FineMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Strict reader of manifest.json: refuses violations of its description, and of rules between the fields of an object.
 */
final class ManifestReader extends Described {
    private static final int[] VERSIONS = {1, 1 << 30};
    private static final int MOST_NAMED = 20;

    private ManifestReader(Rule.Cursor at) {
        super(at);
    }

    /**
     * Checks the keys that determine the kind of file.
     *
     * @param data parsed JSON
     * @throws BundleError the format or version is another, or the profile is unsupported
     */
    static void checkVersion(Object data, Rule.Cursor at) {
        at.rule = Rule.KEYS;
        Fields fields = new Fields(data, "manifest");
        at.rule = Rule.VERSION;
        if (!FormatConstants.FORMAT.equals(fields.optional("format"))) {
            throw new BundleError(
                    "manifest: 'format' is not 'glslnn': this is no glsl-infer model; give a *.glslnn file");
        }
        int version = fields.integer("version", VERSIONS);
        if (version < FormatConstants.VERSION) {
            throw new BundleError("the model has format version " + version + "; export it again");
        }
        if (version > FormatConstants.VERSION) {
            throw new BundleError(
                    "the model has format version "
                            + version
                            + ", this program reads up to "
                            + FormatConstants.VERSION
                            + "; update this program");
        }
        String profile = fields.text("profile");
        if (profile.equals(FormatConstants.CPU_PROFILE)) {
            at.rule = Rule.PARTS;
            throw new BundleError("the model has layers for the CPU (" + operators(fields.optional("parts"))
                    + "), which this runner cannot compute; run it with glsl-infer for Python, or export it with"
                    + " --no-delegate");
        }
        if (!profile.equals(FormatConstants.PROFILE)) {
            throw new BundleError("the model needs profile '" + Fields.shown(profile) + "'; this runner has "
                    + FormatConstants.PROFILE + "; update the runner");
        }
    }

    /** Returns the names of the operators of CPU parts, without duplicates. */
    private static String operators(Object parts) {
        Set<String> names = new LinkedHashSet<String>();
        for (Object part : listed(parts)) {
            Object operators = part instanceof Map ? ((Map<?, ?>) part).get("operators") : null;
            for (Object operator : listed(operators)) {
                Object op = operator instanceof Map ? ((Map<?, ?>) operator).get("op") : null;
                if (op instanceof String && names.size() < MOST_NAMED) {
                    names.add(Fields.shown((String) op));
                }
            }
        }
        StringBuilder text = new StringBuilder();
        for (String name : names) {
            text.append(text.length() == 0 ? "" : ", ").append(name);
        }
        return text.toString();
    }

    private static List<?> listed(Object value) {
        return value instanceof List ? (List<?>) value : Collections.emptyList();
    }

    /**
     * Reads a manifest, whose version was looked at.
     *
     * @param data parsed JSON
     * @param at is moved to the rule of each part
     * @throws BundleError naming the key that is wrong
     */
    static Manifest read(Object data, Rule.Cursor at) {
        at.rule = Rule.KEYS;
        return (Manifest) new ManifestReader(at).read("manifest", data, "manifest");
    }

    @Override
    Object make(String name, Object given, String where) {
        switch (name) {
            case "manifest":
                return manifest(given);
            case "input":
                return input(given, where);
            case "limits":
                return new Manifest.Limits(((Map<?, ?>) given).values());
            case "texture":
                return texture(given);
            case "program":
                return program(given, where);
            case "output":
                return output(given, where);
            case "host_step":
                Integer columns = get(given, "columns");
                return new HostStep(get(given, "step"), columns == null ? 0 : columns);
            case "probe":
                return new Probe.Expected(get(given, "member"), get(given, "layers"), get(given, "outputs"));
            case "probe_layer":
                return new Probe.Entry(
                        get(given, "layer"), get(given, "offset"), get(given, "count"), get(given, "max_error"),
                        get(given, "mean_error"), get(given, "value"));
            case "probe_output":
                return new Probe.Numbers(numbers(given, "numbers"), get(given, "max_error"));
            case "whole_value":
                if (given instanceof FixedPoint && !((FixedPoint) given).isVector()) {
                    throw new BundleError(where + ": partial sums; give a vector ('columns' 0) or a map");
                }
                return given;
            case "view":
                List<?> view = (List<?>) given;
                return new View((String) view.get(0), (Integer) view.get(1), (Integer) view.get(2));
            case "fixed_point":
                return new FixedPoint(
                        get(given, "texture"), get(given, "columns"), get(given, "length"), get(given, "scale"));
            case "fixed_map":
                return new FixedMap(
                        get(given, "height"), get(given, "width"), get(given, "channels"), get(given, "scale"),
                        get(given, "views"));
            case "feature_map":
                return new FeatureMap(
                        get(given, "height"), get(given, "width"), get(given, "channels"), get(given, "gutter"),
                        get(given, "views"), numbers(given, "scales"), numbers(given, "zeros"));
            case "fine_map":
                return new FineMap(
                        get(given, "height"), get(given, "width"), get(given, "channels"), get(given, "views"),
                        numbers(given, "scales"), numbers(given, "zeros"));
            default:
                return given;
        }
    }

    private static Manifest manifest(Object given) {
        Object passes = get(given, "passes");
        return new Manifest(
                get(given, "name"), get(given, "inputs"), get(given, "limits"), get(given, "textures"),
                get(given, "programs"), get(given, "layers"), get(given, "floats"), get(passes, "count"),
                get(passes, "quads"), get(given, "outputs"), get(given, "probe"), get(given, "members"));
    }

    private static Input input(Object given, String where) {
        String fit = get(given, "fit");
        Value value = get(given, "value");
        ManifestCheck.checkNumbers(value.count(), "an input");
        if (fit != null) {
            FeatureMap map = value instanceof FeatureMap ? (FeatureMap) value : null;
            boolean colours = map != null && (map.channels == 1 || map.channels == 3 || map.channels == 4);
            if (!colours || map.views.size() != 1) {
                throw new BundleError(where + ": a picture is a feature map of 1, 3 or 4 channels with 1 view");
            }
            if (map.channels != 4 && map.gutter != 0) {
                throw new BundleError(where + ": a picture of " + map.channels + " channels has a gutter of "
                        + map.gutter + ", not 0");
            }
        }
        return new Input(get(given, "name"), fit == null ? null : Fit.of(fit), value);
    }

    private static Program.Texture texture(Object given) {
        List<Integer> bytes = get(given, "clear");
        int[] clear = new int[4];
        for (int i = 0; bytes != null && i < clear.length; i++) {
            clear[i] = bytes.get(i);
        }
        return new Program.Texture(
                get(given, "name"), get(given, "width"), get(given, "height"), get(given, "kind"),
                get(given, "member"), clear);
    }

    private static Program.ShaderProgram program(Object given, String where) {
        List<Program.Slot> uniforms = new ArrayList<Program.Slot>();
        Set<String> names = new HashSet<String>();
        List<List<Object>> pairs = get(given, "uniforms");
        for (List<Object> pair : pairs) {
            String place = where + ".uniforms[" + uniforms.size() + "]: '";
            Program.Slot uniform = new Program.Slot((String) pair.get(0), (Integer) pair.get(1));
            if (!names.add(uniform.name)) {
                throw new BundleError(place + Fields.shown(uniform.name) + "' is there twice");
            }
            if (uniform.floats > 4 && uniform.floats % 4 != 0) {
                throw new BundleError(place + Fields.shown(uniform.name) + "' has " + uniform.floats
                        + " numbers; give 1 to 4, or whole vec4s");
            }
            uniforms.add(uniform);
        }
        return new Program.ShaderProgram(
                get(given, "name"), get(given, "vertex"), get(given, "fragment"), get(given, "samplers"),
                get(given, "varyings"), uniforms);
    }

    private static Output output(Object given, String where) {
        List<Value> values = get(given, "values");
        List<HostStep> steps = get(given, "steps");
        List<int[]> shapes = new ArrayList<int[]>();
        long numbers = 0;
        for (Value value : values) {
            shapes.add(value.shape());
            numbers += value.count();
        }
        ManifestCheck.checkNumbers(numbers, "an output");
        int[] shape;
        try {
            shape = HostStep.shapeOf(steps, shapes);
        } catch (IllegalArgumentException error) {
            throw new BundleError(where + ": " + error.getMessage());
        }
        Output output = new Output(get(given, "name"), get(given, "purpose"), values, steps, shape);
        checkPurpose(output, where);
        return output;
    }

    private static void checkPurpose(Output output, String where) {
        int[] shape = output.shape();
        if (output.purpose.equals(Output.CLASSES) && shape.length != 1) {
            throw new BundleError(
                    where + ": the result has shape " + Arrays.toString(shape) + "; 'classes' need a vector");
        }
        if (output.purpose.equals(Output.MASK) && shape.length != 2 && shape.length != 3) {
            throw new BundleError(where + ": the result has shape " + Arrays.toString(shape)
                    + "; a 'mask' is (height, width) or (height, width, channels)");
        }
        boolean image = output.values.size() == 1 && output.values.get(0) instanceof FeatureMap;
        if (output.purpose.equals(Output.IMAGE) && !(image && output.steps.isEmpty())) {
            throw new BundleError(where + ": an 'image' is one 8-bit feature map without steps");
        }
    }

    private static double[] numbers(Object given, String key) {
        List<Double> numbers = get(given, key);
        double[] out = new double[numbers.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = numbers.get(i);
        }
        return out;
    }

    /** Returns the value of a key; null if the object does not have it. */
    @SuppressWarnings("unchecked")
    private static <T> T get(Object given, String key) {
        return (T) ((Map<String, Object>) given).get(key);
    }
}
