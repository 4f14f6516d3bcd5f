package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Strict reader of manifest.json: refuses unknown and missing keys, wrong types and values out of range. */
final class ManifestReader {
    private static final int[] MANY = {1, 1 << 30}; // the limits are checked later in Caps, with better messages
    private static final int MOST_NAMED = 20;

    private ManifestReader() {}

    /**
     * Checks the keys that determine the kind of file, and returns the others.
     *
     * @param data parsed JSON
     * @throws BundleError the format or version is another, or the profile is unsupported
     */
    static Fields checkVersion(Object data, Rule.Cursor at) {
        at.rule = Rule.KEYS;
        Fields fields = new Fields(data, "manifest");
        at.rule = Rule.VERSION;
        if (!FormatConstants.FORMAT.equals(fields.optional("format"))) {
            throw new BundleError(
                    "manifest: 'format' is not 'glslnn': this is no glsl-infer model; give a *.glslnn file");
        }
        int version = fields.integer("version", MANY);
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
        return fields;
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
     * Reads a manifest.
     *
     * @param fields result of {@link #checkVersion}
     * @param at set to the rule of each part
     * @throws BundleError with the wrong key
     */
    static Manifest read(Fields fields, Rule.Cursor at) {
        at.rule = Rule.KEYS;
        String name = fields.text("name");
        List<Input> inputs = new ArrayList<Input>();
        for (Object entry : part(fields, "inputs", Rule.INPUTS, FormatConstants.MAX_INPUTS, at)) {
            inputs.add(EndReader.input(entry, "inputs[" + inputs.size() + "]"));
        }
        Object needed = any(fields, "limits", Rule.LIMITS, at);
        Manifest.Limits limits = PartReader.limits(needed);
        List<Program.Texture> textures = new ArrayList<Program.Texture>();
        for (Object entry : part(fields, "textures", Rule.TEXTURES, 0, at)) {
            textures.add(PartReader.texture(entry, "textures[" + textures.size() + "]"));
        }
        List<Program.ShaderProgram> programs = new ArrayList<Program.ShaderProgram>();
        for (Object entry : part(fields, "programs", Rule.PROGRAMS, 0, at)) {
            programs.add(PartReader.program(entry, "programs[" + programs.size() + "]"));
        }
        at.rule = Rule.KEYS;
        List<String> layers = fields.texts("layers");
        List<String> floats = fields.texts("floats");
        Fields passes = new Fields(fields.any("passes"), "passes");
        int passCount = passes.integer("count", MANY);
        int quadCount = passes.integer("quads", MANY);
        passes.done();
        List<Output> outputs = new ArrayList<Output>();
        for (Object entry : part(fields, "outputs", Rule.OUTPUTS, FormatConstants.MAX_OUTPUTS, at)) {
            outputs.add(EndReader.output(entry, "outputs[" + outputs.size() + "]"));
        }
        Object expected = any(fields, "probe", Rule.PROBE, at);
        Probe.Expected probe = PartReader.probe(expected);
        at.rule = Rule.KEYS;
        Map<String, String> members = new LinkedHashMap<String, String>();
        for (Map.Entry<String, Object> entry : fields.mapping("members").entrySet()) {
            members.put(
                    entry.getKey(), Fields.text(entry.getValue(), "members['" + Fields.shown(entry.getKey()) + "']"));
        }
        fields.done();
        return new Manifest(
                name, inputs, limits, textures, programs, layers, floats, passCount, quadCount, outputs, probe,
                members);
    }

    /** Returns the value of a key. Its absence violates the rule for keys, its content the given rule. */
    private static Object any(Fields fields, String key, Rule rule, Rule.Cursor at) {
        at.rule = Rule.KEYS;
        Object value = fields.any(key);
        at.rule = rule;
        return value;
    }

    /** Returns the entries of a non-empty list; at most {@code most}, unless that is 0. */
    private static List<Object> part(Fields fields, String key, Rule rule, int most, Rule.Cursor at) {
        List<Object> entries = Fields.items(any(fields, key, rule, at), "manifest: '" + key + "'");
        if (entries.isEmpty() || (most > 0 && entries.size() > most)) {
            throw new BundleError(
                    entries.size() + " " + key + "; a model has 1 or more" + (most > 0 ? ", at most " + most : ""));
        }
        return entries;
    }
}
