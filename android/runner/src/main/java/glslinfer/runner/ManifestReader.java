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
        if (!(data instanceof Map)) {
            throw new BundleError("manifest is not an object");
        }
        Map<?, ?> fields = (Map<?, ?>) data;
        at.rule = Rule.VERSION;
        if (!FormatConstants.FORMAT.equals(fields.get("format"))) {
            throw new BundleError(
                    "manifest: 'format' is not 'glslnn': this is not a glsl-infer model; give a *.glslnn file");
        }
        int version = integer(fields.get("version"), "manifest: 'version'", VERSIONS);
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
        String profile = text(fields.get("profile"), "manifest: 'profile'");
        if (profile.equals(FormatConstants.CPU_PROFILE)) {
            at.rule = Rule.PARTS;
            throw new BundleError("the model has layers for the CPU (" + operators(fields.get("parts"))
                    + "), which this runner cannot compute; run it with glsl-infer for Python, or export it with"
                    + " --no-delegate");
        }
        if (!profile.equals(FormatConstants.PROFILE)) {
            throw new BundleError("the model needs profile '" + Json.shown(profile) + "'; this runner has "
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
                    names.add(Json.shown((String) op));
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
    protected Object make(String name, Object fields, String where) {
        switch (name) {
            case "manifest":
                return manifest(fields);
            case "input":
                return input(fields, where);
            case "limits":
                return new Manifest.Limits(((Map<?, ?>) fields).values());
            case "texture":
                return texture(fields);
            case "program":
                return program(fields, where);
            case "output":
                return output(fields, where);
            case "host_step":
                Integer columns = get(fields, "columns");
                return new HostStep(get(fields, "step"), columns == null ? 0 : columns);
            case "probe":
                return new Probe.Expected(get(fields, "member"), get(fields, "layers"), get(fields, "outputs"));
            case "probe_layer":
                return new Probe.Entry(
                        get(fields, "layer"), get(fields, "offset"), get(fields, "count"), get(fields, "max_error"),
                        get(fields, "mean_error"), get(fields, "value"));
            case "probe_output":
                return new Probe.Numbers(numbers(fields, "numbers"), get(fields, "max_error"));
            case "whole_value":
                if (fields instanceof FixedPoint && !((FixedPoint) fields).isVector()) {
                    throw new BundleError(where + ": partial sums; give a vector ('columns' 0) or a map");
                }
                return fields;
            case "view":
                List<?> view = (List<?>) fields;
                return new View((String) view.get(0), (Integer) view.get(1), (Integer) view.get(2));
            case "fixed_point":
                return new FixedPoint(
                        get(fields, "texture"), get(fields, "columns"), get(fields, "length"), get(fields, "scale"));
            case "fixed_map":
                return new FixedMap(
                        get(fields, "height"), get(fields, "width"), get(fields, "channels"), get(fields, "scale"),
                        get(fields, "views"));
            case "feature_map":
                return new FeatureMap(
                        get(fields, "height"), get(fields, "width"), get(fields, "channels"), get(fields, "gutter"),
                        get(fields, "views"), numbers(fields, "scales"), numbers(fields, "zeros"));
            case "fine_map":
                return new FineMap(
                        get(fields, "height"), get(fields, "width"), get(fields, "channels"), get(fields, "views"),
                        numbers(fields, "scales"), numbers(fields, "zeros"));
            default:
                return fields;
        }
    }

    private static Manifest manifest(Object fields) {
        Object passes = get(fields, "passes");
        return new Manifest(
                get(fields, "name"), get(fields, "inputs"), get(fields, "limits"), get(fields, "textures"),
                get(fields, "programs"), get(fields, "layers"), get(fields, "floats"), get(passes, "count"),
                get(passes, "quads"), get(fields, "outputs"), get(fields, "probe"), get(fields, "members"));
    }

    private static Input input(Object fields, String where) {
        String fit = get(fields, "fit");
        Value value = get(fields, "value");
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
        return new Input(get(fields, "name"), fit == null ? null : Fit.of(fit), value);
    }

    private static Program.Texture texture(Object fields) {
        List<Integer> bytes = get(fields, "clear");
        int[] clear = new int[4];
        for (int i = 0; bytes != null && i < clear.length; i++) {
            clear[i] = bytes.get(i);
        }
        return new Program.Texture(
                get(fields, "name"), get(fields, "width"), get(fields, "height"), get(fields, "kind"),
                get(fields, "member"), clear);
    }

    private static Program.ShaderProgram program(Object fields, String where) {
        List<Program.Slot> uniforms = new ArrayList<Program.Slot>();
        Set<String> names = new HashSet<String>();
        List<List<Object>> pairs = get(fields, "uniforms");
        for (List<Object> pair : pairs) {
            String place = where + ".uniforms[" + uniforms.size() + "]: '";
            Program.Slot uniform = new Program.Slot((String) pair.get(0), (Integer) pair.get(1));
            if (!names.add(uniform.name)) {
                throw new BundleError(place + Json.shown(uniform.name) + "' is there twice");
            }
            if (uniform.floats > 4 && uniform.floats % 4 != 0) {
                throw new BundleError(place + Json.shown(uniform.name) + "' has " + uniform.floats
                        + " numbers; give 1 to 4, or whole vec4s");
            }
            uniforms.add(uniform);
        }
        return new Program.ShaderProgram(
                get(fields, "name"), get(fields, "vertex"), get(fields, "fragment"), get(fields, "samplers"),
                get(fields, "varyings"), uniforms);
    }

    private static Output output(Object fields, String where) {
        List<Value> values = get(fields, "values");
        List<HostStep> steps = get(fields, "steps");
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
        Output output = new Output(get(fields, "name"), get(fields, "purpose"), values, steps, shape);
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

    private static double[] numbers(Object fields, String key) {
        List<Double> numbers = get(fields, key);
        double[] out = new double[numbers.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = numbers.get(i);
        }
        return out;
    }

    /** Returns the value of a key; null if the object does not have it. */
    @SuppressWarnings("unchecked")
    private static <T> T get(Object fields, String key) {
        return (T) ((Map<String, Object>) fields).get(key);
    }
}
