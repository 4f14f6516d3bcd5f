package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Checks that the parts of a bundle agree, so that the runner can rely on them. */
final class ManifestCheck {
    static final String LABELS = "labels.txt";

    /** The network's graph, unused by runners; for the reference and for tools. */
    static final String GRAPH = "graph.json";

    private final Manifest manifest;
    private final Map<String, byte[]> members;
    private final Rule.Cursor at;
    private final Map<String, Program.Texture> textures = new LinkedHashMap<String, Program.Texture>();
    private final Map<String, Program.ShaderProgram> programs = new LinkedHashMap<String, Program.ShaderProgram>();

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
        Caps.check(manifest, members);
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
            VertexShader.check(program, members);
        }
        at.rule = Rule.UNIFORMS;
        for (String name : manifest.floats) {
            if (!name.startsWith("weights/") || !name.endsWith(".f32") || member(name) % 4 != 0) {
                throw new BundleError("floats: member '" + Fields.shown(name) + "' holds no 32-bit floats");
            }
        }
        Map<String, ShaderCheck> shaders = UniformCheck.check(manifest.programs, members, at);
        at.rule = Rule.PASSES_BIN;
        List<Program.Pass> passes = PassReader.read(manifest, members);
        at.rule = Rule.CAPS;
        Caps.check(passes);
        at.rule = Rule.PASSES;
        Set<String> written = new PassCheck(textures, programs).check(passes);
        drawn(passes);
        at.rule = Rule.UNIFORMS;
        UniformCheck.checkValues(manifest, passes, members, shaders, at);
        EndCheck ends = new EndCheck(manifest, textures, written);
        at.rule = Rule.INPUTS;
        ends.inputs();
        at.rule = Rule.OUTPUTS;
        ends.outputs();
        at.rule = Rule.PROBE;
        ends.probe(members.get(manifest.probe.member));
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
                    "a second " + kind + " is called '" + Fields.shown(name) + "'; give each its own name");
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
}
