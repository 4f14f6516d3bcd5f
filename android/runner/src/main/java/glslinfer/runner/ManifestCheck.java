package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** Whether the parts of a manifest fit together: what a runner may rely on without looking. */
final class ManifestCheck {
    static final String LABELS = "labels.txt";

    private final Manifest manifest;
    private final Map<String, byte[]> members;
    private final Map<String, Program.Texture> textures = new LinkedHashMap<String, Program.Texture>();
    private final Map<String, Program.ShaderProgram> programs = new LinkedHashMap<String, Program.ShaderProgram>();
    private final Set<String> written = new HashSet<String>();

    private ManifestCheck(Manifest manifest, Map<String, byte[]> members) {
        this.manifest = manifest;
        this.members = members;
    }

    /**
     * Refuses a manifest whose parts contradict one another, or its members.
     *
     * @throws BundleError naming the first part that does not fit
     */
    static void check(Manifest manifest, Map<String, byte[]> members) {
        ManifestCheck check = new ManifestCheck(manifest, members);
        check.names();
        check.passes();
        check.layers();
        check.ends();
        check.sharing();
        check.probe();
        check.limits();
    }

    private void names() {
        for (Program.Texture texture : manifest.textures) {
            unique(textures.put(texture.name, texture), "texture", texture.name);
        }
        for (Program.ShaderProgram program : manifest.programs) {
            unique(programs.put(program.name, program), "program", program.name);
        }
        Set<String> layers = new HashSet<String>();
        for (Manifest.Layer layer : manifest.layers) {
            unique(layers.add(layer.name) ? null : layer, "layer", layer.name);
        }
        some(textures.keySet(), "texture");
        some(programs.keySet(), "program");
        some(layers, "layer");
        for (String name : new String[] {Program.PRELUDE, LABELS, manifest.probe.member}) {
            member(name);
        }
        for (Program.Texture texture : manifest.textures) {
            String where = "texture '" + texture.name + "'";
            if (texture.kind.equals("constant") != (texture.member != null)) {
                throw new BundleError(where + ": a member belongs to constant textures, and only to those");
            }
            if (texture.member != null && member(texture.member) != 4L * texture.width * texture.height) {
                throw new BundleError(where + ": its member has not 4 bytes for each of its texels");
            }
        }
        for (Program.ShaderProgram program : manifest.programs) {
            member(program.vertex);
            member(program.fragment);
        }
    }

    private static void some(Set<String> names, String kind) {
        if (names.isEmpty()) {
            throw new BundleError("there is no " + kind);
        }
    }

    private static void unique(Object before, String kind, String name) {
        if (before != null) {
            throw new BundleError("two " + kind + "s are called '" + name + "'");
        }
    }

    private int member(String name) {
        if (!members.containsKey(name)) {
            throw new BundleError("member '" + name + "' is missing");
        }
        return members.get(name).length;
    }

    private void passes() {
        if (manifest.passes.isEmpty()) {
            throw new BundleError("there is no pass");
        }
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
            int size = member(value.member);
            if (!value.member.endsWith(".f32") || size % 4 != 0) {
                throw new BundleError(where + ": member '" + value.member + "' holds no 32-bit floats");
            }
            if (4L * (value.offset + value.count) > size) {
                throw new BundleError(where + " ends beyond its member");
            }
        }
    }

    private void layers() {
        Set<String> before = new HashSet<String>();
        int inputs = 0;
        for (Manifest.Layer layer : manifest.layers) {
            String where = "layer '" + layer.name + "'";
            for (String name : layer.inputs) {
                if (!before.contains(name)) {
                    throw new BundleError(where + ": reads '" + name + "', which is no layer before it");
                }
            }
            before.add(layer.name);
            inputs += layer.isInput() ? 1 : 0;
            value(layer.output, where);
            for (String name : layer.output.textures()) {
                if (!written.contains(name) && !textures.get(name).kind.equals("input")) {
                    throw new BundleError(
                            where + ": nothing is drawn into texture '" + name + "', where its output should be");
                }
            }
        }
        if (inputs != 1) {
            throw new BundleError("model: exactly one layer must be the input");
        }
        if (!before.contains(manifest.outputLayer)) {
            throw new BundleError("model: its output '" + manifest.outputLayer + "' is no layer");
        }
        for (Manifest.Layer layer : manifest.layers) {
            long size = 0;
            for (String name : layer.members) {
                size += member(name);
            }
            Operators.check(layer, size);
        }
    }

    private void value(Value value, String where) {
        if (value instanceof FixedPoint) {
            FixedPoint point = (FixedPoint) value;
            Program.Texture texture = textures.get(point.texture);
            if (texture == null || point.width() > texture.width || point.height() > texture.height) {
                throw new BundleError(where + ": its output does not fit its texture");
            }
            return;
        }
        Tiles tiles = (Tiles) value;
        boolean fits;
        if (value instanceof FixedMap) {
            fits = tiles.channels % 4 == 0 && tiles.views.size() == tiles.channels / 2;
        } else {
            FeatureMap map = (FeatureMap) value;
            fits = tiles.views.size() == Layout.slicesOf(tiles.channels, 4);
            for (double[] numbers : new double[][] {map.scales, map.zeros}) {
                if (numbers.length != 1 && numbers.length != map.channels) {
                    throw new BundleError(
                            where
                                    + ": "
                                    + map.scales.length
                                    + " scales, "
                                    + map.zeros.length
                                    + " zeros; give one, or one a channel");
                }
            }
            for (double scale : map.scales) {
                if (scale == 0) {
                    throw new BundleError(where + ": a scale is 0");
                }
            }
        }
        if (!fits) {
            throw new BundleError(where + ": " + tiles.views.size() + " views for " + tiles.channels + " channels");
        }
        for (View view : tiles.views) {
            Program.Texture texture = textures.get(view.texture);
            if (texture == null || view.x + tiles.width > texture.width || view.y + tiles.height > texture.height) {
                throw new BundleError(where + ": a view lies outside its texture");
            }
        }
    }

    private void ends() {
        Manifest.Input input = manifest.input;
        Program.Texture picture = textures.get(input.texture);
        if (picture == null || !picture.kind.equals("input")) {
            throw new BundleError("input: no input texture is called '" + input.texture + "'");
        }
        if (input.x + input.size > picture.width || input.y + input.size > picture.height) {
            throw new BundleError("input: the picture does not fit its texture");
        }
        for (Manifest.Layer layer : manifest.layers) {
            if (layer.isInput()) {
                FeatureMap map = layer.output instanceof FeatureMap ? (FeatureMap) layer.output : null;
                boolean square = map != null && map.height == input.size && map.width == input.size
                        && map.channels == 3;
                View view = new View(input.texture, input.x, input.y);
                if (!square || !map.views.equals(Collections.singletonList(view))) {
                    throw new BundleError("input: the picture is not what layer '" + layer.name + "' says");
                }
            }
        }
        String where = "output '" + manifest.outputName + "'";
        value(manifest.output, where);
        for (String name : manifest.output.textures()) {
            if (!written.contains(name)) {
                throw new BundleError(where + ": nothing is drawn into texture '" + name + "'");
            }
        }
        if (!manifest.layer(manifest.outputLayer).output.equals(manifest.output)) {
            throw new BundleError(where + " is not that of layer '" + manifest.outputLayer + "'");
        }
    }

    /** Refuses a texture that holds something else when it is read: layers may share one, each in its time. */
    private void sharing() {
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

    private void probe() {
        if (manifest.probe.logits.length != manifest.classes()) {
            throw new BundleError("probe: its logits do not fit the output");
        }
        Set<String> drawn = new LinkedHashSet<String>();
        for (Program.Pass pass : manifest.passes) {
            drawn.add(pass.layer);
        }
        for (Probe.Entry entry : manifest.probe.layers) {
            if (!drawn.remove(entry.layer)) {
                throw new BundleError("probe: layer '" + entry.layer + "' is not drawn, or has not exactly one entry");
            }
            if (8L * (entry.offset + entry.count) > member(manifest.probe.member)) {
                throw new BundleError("probe: the texels of layer '" + entry.layer + "' end beyond the member");
            }
        }
        if (!drawn.isEmpty()) {
            throw new BundleError(
                    "probe: layer '" + drawn.iterator().next() + "' is not drawn, or has not exactly one entry");
        }
        Probe.check(manifest, members.get(manifest.probe.member));
    }

    private void limits() {
        int[] needed = new int[5];
        for (Program.Texture texture : manifest.textures) {
            needed[1] = Math.max(needed[1], Math.max(texture.width, texture.height));
        }
        for (Program.ShaderProgram program : manifest.programs) {
            int vectors = 0;
            for (int floats : program.uniforms.values()) {
                vectors += Layout.slicesOf(floats, 4);
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
