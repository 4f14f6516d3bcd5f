package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Ranged;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Checks that the parts of a bundle agree, so that the runner can rely on them, and are within the limits of resources;
 * glsl_infer/bundle/manifest_check.py has the reasons.
 */
final class ManifestCheck {
    static final String LABELS = "labels.txt";

    /** The network's graph, unused by runners; for the reference and for tools. */
    static final String GRAPH = "graph.json";

    private final Manifest manifest;
    private final Map<String, byte[]> members;
    private final Rule.Cursor at;
    private final Map<String, Program.Texture> textures = new LinkedHashMap<String, Program.Texture>();
    private final Map<String, Program.ShaderProgram> programs = new LinkedHashMap<String, Program.ShaderProgram>();

    /** The target textures of passes. */
    private final Set<String> written = new HashSet<String>();

    /**
     * @param members has passes.bin, graph.json and labels.txt
     * @param at set to the rule being checked
     */
    ManifestCheck(Manifest manifest, Map<String, byte[]> members, Rule.Cursor at) {
        this.manifest = manifest;
        this.members = members;
        this.at = at;
    }

    /**
     * Refuses a manifest whose parts contradict each other or its members, and returns the passes of passes.bin.
     *
     * @throws BundleError with the first inconsistent part
     */
    List<Program.Pass> check() {
        at.rule = Rule.CAPS;
        caps();
        at.rule = Rule.UNIQUE_NAMES;
        names();
        at.rule = Rule.MEMBERS;
        member(Program.PRELUDE);
        member(manifest.probe.member);
        at.rule = Rule.TEXTURES;
        textureMembers();
        at.rule = Rule.VERTEX_SHADERS;
        for (Program.ShaderProgram program : manifest.programs) {
            member(program.vertex);
            member(program.fragment);
            ProgramCheck.checkVertexShader(program, members);
        }
        at.rule = Rule.UNIFORMS;
        for (String name : manifest.floats) {
            if (!name.startsWith("weights/") || !name.endsWith(".f32") || member(name) % 4 != 0) {
                throw new BundleError("floats: member '" + Json.shown(name) + "' holds no 32-bit floats");
            }
        }
        Map<String, ShaderCheck> shaders = ProgramCheck.checkFragmentShaders(manifest.programs, members, at);
        at.rule = Rule.PASSES_BIN;
        List<Program.Pass> passes = PassReader.read(manifest, members);
        at.rule = Rule.CAPS;
        drawnTexels(passes);
        at.rule = Rule.PASSES;
        passes(passes);
        drawn(passes);
        at.rule = Rule.UNIFORMS;
        ProgramCheck.checkValues(manifest, passes, members, shaders, at);
        at.rule = Rule.INPUTS;
        inputs();
        at.rule = Rule.OUTPUTS;
        outputs();
        at.rule = Rule.PROBE;
        probe(members.get(manifest.probe.member));
        at.rule = Rule.LIMITS;
        limits();
        return passes;
    }

    private void names() {
        for (Program.Texture texture : manifest.textures) {
            unique(textures.put(texture.name, texture) == null, "texture", texture.name);
        }
        for (Program.ShaderProgram program : manifest.programs) {
            unique(programs.put(program.name, program) == null, "program", program.name);
        }
        Set<String> inputs = new HashSet<String>();
        for (Input input : manifest.inputs) {
            unique(inputs.add(input.name), "input", input.name);
        }
        Set<String> outputs = new HashSet<String>();
        for (Output output : manifest.outputs) {
            unique(outputs.add(output.name), "output", output.name);
        }
        Set<String> layers = new HashSet<String>();
        for (String layer : manifest.layers) {
            unique(layers.add(layer), "layer", layer);
        }
        Set<String> floats = new HashSet<String>();
        for (String name : manifest.floats) {
            unique(floats.add(name), "entry of 'floats'", name);
        }
    }

    private static void unique(boolean first, String kind, String name) {
        if (!first) {
            throw new BundleError(
                    "a second " + kind + " is called '" + Json.shown(name) + "'; give each its own name");
        }
    }

    private void textureMembers() {
        for (Program.Texture texture : manifest.textures) {
            String where = "texture '" + texture.name + "'";
            if (texture.member != null && member(texture.member) != 4L * texture.width * texture.height) {
                throw new BundleError(where + ": its member has not 4 bytes for each of its texels");
            }
        }
    }

    /** Returns the size of a member in bytes; refuses a missing one. */
    private int member(String name) {
        if (!members.containsKey(name)) {
            throw new BundleError(Rule.MEMBERS, "member '" + name + "' is missing; export the model again");
        }
        return members.get(name).length;
    }

    private void drawn(List<Program.Pass> passes) {
        Set<String> drawn = new HashSet<String>();
        for (Program.Pass pass : passes) {
            drawn.add(pass.layer);
        }
        for (String layer : manifest.layers) {
            if (!drawn.contains(layer)) {
                throw new BundleError("layer '" + layer + "' has no pass; leave it out");
            }
        }
    }

    private void limits() {
        int[] needed = new int[5];
        for (Program.Texture texture : manifest.textures) {
            needed[1] = Math.max(needed[1], Math.max(texture.width, texture.height));
        }
        for (Program.ShaderProgram program : manifest.programs) {
            int vectors = 0;
            for (Program.Slot uniform : program.uniforms) {
                vectors += Layout.slicesOf(uniform.floats, 4);
            }
            needed[0] = Math.max(needed[0], program.samplers.size());
            needed[2] = Math.max(needed[2], vectors);
            needed[3] = Math.max(needed[3], program.varyings);
        }
        needed[4] = needed[3] + 1;
        if (!Arrays.equals(needed, manifest.limits.values)) {
            throw new BundleError(
                    "limits are "
                            + Arrays.toString(manifest.limits.values)
                            + ", but the contents need "
                            + Arrays.toString(needed));
        }
    }

    /**
     * Refuses passes that do not fit textures and programs; stores their targets.
     *
     * @param passes their textures and programs exist
     * @throws BundleError with the first inconsistent pass
     */
    private void passes(List<Program.Pass> passes) {
        Set<String> drawn = new HashSet<String>();
        String previous = null;
        for (int i = 0; i < passes.size(); i++) {
            Program.Pass pass = passes.get(i);
            String where = "pass " + i + " (layer '" + pass.layer + "')";
            pass(pass, where);
            for (String name : pass.textures) {
                if (textures.get(name).isTarget() && !written.contains(name)) {
                    throw new BundleError(where + ": reads texture '" + name + "' before anything is drawn into it");
                }
            }
            if (pass.clear == pass.target.equals(previous)) {
                throw new BundleError(where + ": 'clear' must be true exactly where the target changes");
            }
            boolean again = !drawn.add(pass.layer.length() + ":" + pass.layer + pass.target);
            if (pass.clear && again) {
                throw new BundleError(where + ": clears '" + pass.target + "', into which the layer has drawn before");
            }
            written.add(pass.target);
            previous = pass.target;
        }
    }

    private void pass(Program.Pass pass, String where) {
        Program.ShaderProgram program = programs.get(pass.program);
        Program.Texture target = textures.get(pass.target);
        if (!target.isTarget() || pass.textures.contains(pass.target)) {
            throw new BundleError(where + ": '" + pass.target + "' is read in the same pass, or no target at all");
        }
        boolean units = pass.textures.size() == program.samplers.size();
        for (Program.Source source : pass.sources) {
            units &= source.unit < pass.textures.size();
        }
        if (!units) {
            throw new BundleError(where + ": its textures do not fit the samplers of program '" + program.name + "'");
        }
        if ((pass.sources.size() + 1) / 2 != program.varyings) {
            throw new BundleError(
                    where + ": " + pass.sources.size() + " sources do not fit " + program.varyings + " varyings");
        }
        for (Program.Quad quad : pass.quads) {
            boolean inside = quad.x + quad.width <= target.width && quad.y + quad.height <= target.height;
            if (quad.width < 1 || quad.height < 1 || !inside) {
                throw new BundleError(where + ": a quad is outside its target");
            }
        }
    }

    /** Refuses inputs that do not fit their textures, and textures of kind {@code input} with no input or with two. */
    private void inputs() {
        Map<String, String> owners = new HashMap<String, String>();
        for (Input input : manifest.inputs) {
            String where = "input '" + input.name + "'";
            value(input.value, where);
            for (String name : input.value.textures()) {
                Program.Texture texture = textures.get(name);
                if (!texture.isInput()) {
                    throw new BundleError(where + ": texture '" + name + "' is of kind '" + texture.kind
                            + "', not 'input'");
                }
                String owner = owners.put(name, input.name);
                if (owner != null) {
                    throw new BundleError(
                            where + ": texture '" + name + "' belongs to input '" + owner + "' too; give each its own");
                }
                if (input.isPicture() && input.channels() != 4 && !Arrays.equals(texture.clear, new int[4])) {
                    throw new BundleError(where + ": texture '" + name
                            + "' of a picture without alpha must have 'clear' [0, 0, 0, 0]");
                }
            }
        }
        for (Program.Texture texture : manifest.textures) {
            if (texture.isInput() && !owners.containsKey(texture.name)) {
                throw new BundleError("texture '" + texture.name
                        + "' is of kind 'input', but belongs to no input; leave it out");
            }
        }
    }

    /** Refuses outputs that do not fit their textures or that no pass draws, and a second output for classes. */
    private void outputs() {
        String classes = null;
        for (Output output : manifest.outputs) {
            String where = "output '" + output.name + "'";
            for (Value value : output.values) {
                value(value, where);
                drawn(value.textures(), false, where);
            }
            if (output.purpose.equals(Output.CLASSES)) {
                if (classes != null) {
                    throw new BundleError("outputs '" + classes + "' and '" + output.name
                            + "' are both for 'classes'; at most one may be");
                }
                classes = output.name;
            }
        }
    }

    /** Refuses a probe without one entry for each layer and output, or with missing records. */
    private void probe(byte[] member) {
        Set<String> left = new HashSet<String>(manifest.layers);
        for (Probe.Entry entry : manifest.probe.layers) {
            String where = "probe: layer '" + entry.layer + "'";
            if (!left.remove(entry.layer)) {
                throw new BundleError(where + " is not drawn, or has not exactly one entry");
            }
            value(entry.value, where);
            drawn(entry.value.textures(), entry.value instanceof Tiles, where);
            if (8L * (entry.offset + entry.count) > member.length) {
                throw new BundleError("probe: the texels of layer '" + entry.layer + "' end beyond the member");
            }
        }
        if (!left.isEmpty()) {
            throw new BundleError(
                    "probe: layer '" + left.iterator().next() + "' is not drawn, or has not exactly one entry");
        }
        List<Probe.Numbers> expected = manifest.probe.outputs;
        if (expected.size() != manifest.outputs.size()) {
            throw new BundleError("probe: " + expected.size() + " outputs, where the model has "
                    + manifest.outputs.size() + "; give one each");
        }
        for (int i = 0; i < expected.size(); i++) {
            FixedPoint vector = manifest.outputs.get(i).vector();
            int count = vector == null ? 0 : vector.length;
            if (expected.get(i).numbers.length != count) {
                throw new BundleError("probe: " + expected.get(i).numbers.length + " numbers of output '"
                        + manifest.outputs.get(i).name + "', not " + count);
            }
        }
        Probe.check(manifest, member);
    }

    /** Refuses a value in textures that no pass draws; an alias of an input can be in its textures. */
    private void drawn(Collection<String> names, boolean mayBeInput, String where) {
        for (String name : names) {
            if (!written.contains(name) && !(mayBeInput && textures.get(name).isInput())) {
                throw new BundleError(
                        where + ": nothing is drawn into texture '" + name + "', where its output should be");
            }
        }
    }

    /** Refuses a value that does not fit its textures; {@code where} is its name in messages. */
    private void value(Value value, String where) {
        if (value instanceof FixedPoint) {
            FixedPoint point = (FixedPoint) value;
            Program.Texture texture = textures.get(point.texture);
            if (texture == null || point.width() > texture.width || point.height() > texture.height) {
                throw new BundleError(where + ": its values do not fit texture '" + point.texture + "'");
            }
            return;
        }
        Tiles tiles = (Tiles) value;
        boolean fits = tiles.views.size() == Layout.slicesOf(tiles.channels, tiles.channelsOfView());
        if (value instanceof FixedMap) {
            fits &= tiles.channels % 4 == 0;
        } else {
            checkRanges((Ranged) value, where);
        }
        if (!fits) {
            throw new BundleError(where + ": " + tiles.views.size() + " views for " + tiles.channels + " channels");
        }
        for (View view : tiles.views) {
            Program.Texture texture = textures.get(view.texture);
            if (texture == null || view.x + tiles.width > texture.width || view.y + tiles.height > texture.height) {
                throw new BundleError(where + ": a view is outside its texture");
            }
        }
    }

    private static void checkRanges(Ranged map, String where) {
        for (double[] numbers : new double[][] {map.scales, map.zeros}) {
            if (numbers.length != 1 && numbers.length != map.channels) {
                throw new BundleError(where + ": " + map.scales.length + " scales, " + map.zeros.length
                        + " zeros; give one, or one a channel");
            }
        }
        for (int channel = 0; channel < map.channels; channel++) {
            double most = Math.abs(map.scale(channel)) * (255 + Math.abs(map.zero(channel)));
            if (most > 255 * FormatConstants.MAX_NUMBER) {
                throw new BundleError(where + ": scales and zeros give values beyond 1e+30");
            }
        }
    }

    /**
     * Refuses a manifest with larger resources than any network needs, other than the lengths of its lists.
     *
     * @throws BundleError with the exceeded limit
     */
    private void caps() {
        long bytes = 0;
        for (Program.Texture texture : manifest.textures) {
            bytes += 4L * texture.width * texture.height;
        }
        atMost("bytes of textures", bytes, FormatConstants.MAX_TEXTURE_BYTES);
        for (Map.Entry<String, byte[]> member : members.entrySet()) {
            int size = member.getValue().length;
            if (member.getKey().startsWith("shaders/") && size > FormatConstants.MAX_SHADER_BYTES) {
                throw new BundleError(
                        Rule.CAPS,
                        "member '" + member.getKey() + "' has " + size + " bytes of GLSL; a shader has at most "
                                + FormatConstants.MAX_SHADER_BYTES);
            }
        }
    }

    /**
     * Refuses passes that draw more than any network needs.
     *
     * @throws BundleError with the number of texels
     */
    private static void drawnTexels(List<Program.Pass> passes) {
        long drawn = 0;
        for (Program.Pass pass : passes) {
            for (Program.Quad quad : pass.quads) {
                drawn += (long) quad.width * quad.height;
            }
        }
        atMost("texels drawn in a frame", drawn, FormatConstants.MAX_DRAWN_TEXELS);
    }

    /** Refuses an input or output ({@code what}) with more elements than any network needs. */
    static void checkNumbers(long numbers, String owner) {
        atMost("numbers in " + owner, numbers, FormatConstants.MAX_RESULT);
    }

    private static void atMost(String items, long count, long cap) {
        if (count > cap) {
            throw new BundleError(Rule.CAPS, count + " " + items + "; a model has at most " + cap);
        }
    }
}
