package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** Whether the passes of a manifest fit what they name, and read what is there when they come. */
final class PassCheck {
    private final Manifest manifest;
    private final Map<String, byte[]> members;
    private final Map<String, Program.Texture> textures;
    private final Map<String, Program.ShaderProgram> programs;

    PassCheck(
            Manifest manifest,
            Map<String, byte[]> members,
            Map<String, Program.Texture> textures,
            Map<String, Program.ShaderProgram> programs) {
        this.manifest = manifest;
        this.members = members;
        this.textures = textures;
        this.programs = programs;
    }

    /**
     * Refuses passes that do not fit textures, programs and members, and returns the targets that they draw into.
     *
     * @throws BundleError naming the first pass that does not fit
     */
    Set<String> check() {
        if (manifest.passes.isEmpty()) {
            throw new BundleError("there is no pass");
        }
        Set<String> written = new HashSet<String>();
        Set<String> drawn = new HashSet<String>();
        String previous = null;
        for (int i = 0; i < manifest.passes.size(); i++) {
            Program.Pass pass = manifest.passes.get(i);
            String where = "pass " + i + " (layer '" + pass.layer + "')";
            if (manifest.layer(pass.layer) == null) {
                throw new BundleError(where + ": no such layer");
            }
            onePass(pass, where);
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
        return written;
    }

    private void onePass(Program.Pass pass, String where) {
        Program.ShaderProgram program = programs.get(pass.program);
        if (program == null) {
            throw new BundleError(where + ": no program is called '" + pass.program + "'");
        }
        Set<String> named = new LinkedHashSet<String>(pass.textures);
        named.add(pass.target);
        for (String name : named) {
            if (!textures.containsKey(name)) {
                throw new BundleError(where + ": no texture is called '" + name + "'");
            }
        }
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
        if (pass.quads.isEmpty()) {
            throw new BundleError(where + ": draws nothing");
        }
        for (Program.Quad quad : pass.quads) {
            boolean inside = quad.x + quad.width <= target.width && quad.y + quad.height <= target.height;
            if (quad.width < 1 || quad.height < 1 || !inside) {
                throw new BundleError(where + ": a quad lies outside the target");
            }
        }
        if (!pass.uniforms.keySet().equals(program.uniforms.keySet())) {
            throw new BundleError(where + ": its uniforms are not those of program '" + program.name + "'");
        }
        for (Map.Entry<String, Program.Uniform> one : pass.uniforms.entrySet()) {
            uniform(one.getValue(), program.uniforms.get(one.getKey()), where + ": uniform '" + one.getKey() + "'");
        }
    }

    private void uniform(Program.Uniform value, int wanted, String where) {
        if (value.count != wanted) {
            throw new BundleError(where + " has " + value.count + " numbers, not " + wanted);
        }
        if (value.member != null) {
            int size = ManifestCheck.size(members, value.member);
            if (!value.member.endsWith(".f32") || size % 4 != 0) {
                throw new BundleError(where + ": member '" + value.member + "' holds no 32-bit floats");
            }
            if (4L * (value.offset + value.count) > size) {
                throw new BundleError(where + " ends beyond its member");
            }
        }
    }

    /** Refuses a texture that holds something else when it is read: layers may share one, each in its time. */
    void checkSharing() {
        Set<String> drawn = new HashSet<String>();
        for (Program.Pass pass : manifest.passes) {
            drawn.add(pass.layer);
        }
        // Whose passes draw a layer's output: its own, or where it has none those of its inputs.
        Map<String, Set<String>> behind = new LinkedHashMap<String, Set<String>>();
        Map<String, Set<String>> readable = new LinkedHashMap<String, Set<String>>();
        for (Manifest.Layer layer : manifest.layers) {
            Set<String> sources = new HashSet<String>();
            for (String input : layer.inputs) {
                sources.addAll(behind.get(input));
            }
            readable.put(layer.name, sources);
            behind.put(layer.name, drawn.contains(layer.name) ? Collections.singleton(layer.name) : sources);
        }
        Map<String, String> holds = new LinkedHashMap<String, String>();
        for (int i = 0; i < manifest.passes.size(); i++) {
            Program.Pass pass = manifest.passes.get(i);
            for (String name : pass.textures) {
                String held = holds.get(name);
                if (held != null && !held.equals(pass.layer) && !readable.get(pass.layer).contains(held)) {
                    throw new BundleError(
                            "pass "
                                    + i
                                    + " (layer '"
                                    + pass.layer
                                    + "'): reads texture '"
                                    + name
                                    + "', which by then holds layer '"
                                    + held
                                    + "', none of its inputs");
                }
            }
            holds.put(pass.target, pass.layer);
        }
        for (String name : manifest.output.textures()) {
            if (!behind.get(manifest.outputLayer).contains(holds.get(name))) {
                throw new BundleError("output: texture '" + name + "' holds layer '" + holds.get(name)
                        + "' at the end");
            }
        }
    }
}
