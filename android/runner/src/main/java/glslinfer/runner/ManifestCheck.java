package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Whether the parts of a bundle fit together: what a runner may rely on without looking. */
final class ManifestCheck {
    static final String LABELS = "labels.txt";

    /** What a runner never opens: the network, for the reference and for tools. */
    static final String GRAPH = "graph.json";

    private final Manifest manifest;
    private final Map<String, byte[]> members;
    private final Map<String, Program.Texture> textures = new LinkedHashMap<String, Program.Texture>();
    private final Map<String, Program.ShaderProgram> programs = new LinkedHashMap<String, Program.ShaderProgram>();
    private final Set<String> written = new HashSet<String>();
    private List<Program.Pass> passes;

    private ManifestCheck(Manifest manifest, Map<String, byte[]> members) {
        this.manifest = manifest;
        this.members = members;
    }

    /**
     * Refuses a manifest whose parts contradict one another, or its members, and returns the passes of passes.bin.
     *
     * @throws BundleError naming the first part that does not fit
     */
    static List<Program.Pass> check(Manifest manifest, Map<String, byte[]> members) {
        Caps.check(manifest, members);
        ManifestCheck check = new ManifestCheck(manifest, members);
        check.names();
        check.members();
        check.passes = PassReader.read(manifest, members);
        Caps.check(check.passes);
        check.written.addAll(new PassCheck(check.textures, check.programs).check(check.passes));
        check.ends();
        check.probe();
        check.limits();
        return check.passes;
    }

    private void names() {
        for (Program.Texture texture : manifest.textures) {
            unique(textures.put(texture.name, texture), "texture", texture.name);
        }
        for (Program.ShaderProgram program : manifest.programs) {
            unique(programs.put(program.name, program), "program", program.name);
        }
        Set<String> layers = new HashSet<String>();
        for (String layer : manifest.layers) {
            unique(layers.add(layer) ? null : layer, "layer", layer);
        }
        Set<String> floats = new HashSet<String>();
        for (String name : manifest.floats) {
            if (!floats.add(name)) {
                throw new BundleError("floats: '" + Fields.shown(name) + "' twice");
            }
        }
        some(textures.keySet(), "texture");
        some(programs.keySet(), "program");
        some(layers, "layer");
    }

    private void members() {
        for (String name : new String[] {Program.PRELUDE, LABELS, PassReader.MEMBER, manifest.probe.member}) {
            member(name);
        }
        if (member(GRAPH) > FormatConstants.MAX_GRAPH_BYTES) {
            throw new BundleError(GRAPH + " unpacks to more than 16 MiB");
        }
        for (String name : manifest.floats) {
            if (!name.startsWith("weights/") || !name.endsWith(".f32") || member(name) % 4 != 0) {
                throw new BundleError("floats: member '" + Fields.shown(name) + "' holds no 32-bit floats");
            }
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
            VertexShader.check(program, members);
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

    /** Returns how many bytes a member has, which must be there. */
    private int member(String name) {
        if (!members.containsKey(name)) {
            throw new BundleError("member '" + name + "' is missing");
        }
        return members.get(name).length;
    }

    private void value(Value value, String where) {
        if (value instanceof FixedPoint) {
            FixedPoint point = (FixedPoint) value;
            Program.Texture texture = textures.get(point.texture);
            if (texture == null || point.width() > texture.width || point.height() > texture.height) {
                throw new BundleError(where + ": it does not fit its texture");
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
        String where = "input '" + input.name + "'";
        value(input.value, where);
        if (!textures.get(input.texture).kind.equals("input")) {
            throw new BundleError(where + ": '" + input.texture + "' is no input texture");
        }
        where = "output '" + manifest.output.name + "'";
        value(manifest.output.value, where);
        for (String name : manifest.output.value.textures()) {
            if (!written.contains(name)) {
                throw new BundleError(where + ": nothing is drawn into texture '" + name + "'");
            }
        }
    }

    private void probe() {
        if (manifest.probe.logits.length != manifest.classes()) {
            throw new BundleError("probe: its logits do not fit the output");
        }
        Set<String> drawn = new LinkedHashSet<String>();
        for (Program.Pass pass : passes) {
            drawn.add(pass.layer);
        }
        for (String layer : manifest.layers) {
            if (!drawn.contains(layer)) {
                throw new BundleError("layer '" + layer + "' has no pass");
            }
        }
        for (Probe.Entry entry : manifest.probe.layers) {
            String where = "layer '" + entry.layer + "'";
            if (!drawn.remove(entry.layer)) {
                throw new BundleError("probe: " + where + " is not drawn, or has not exactly one entry");
            }
            value(entry.value, where);
            for (String name : entry.value.textures()) {
                boolean view = entry.value instanceof Tiles && textures.get(name).kind.equals("input");
                if (!written.contains(name) && !view) {
                    throw new BundleError(
                            where + ": nothing is drawn into texture '" + name + "', where its output should be");
                }
            }
            if (8L * (entry.offset + entry.count) > member(manifest.probe.member)) {
                throw new BundleError("probe: the texels of " + where + " end beyond the member");
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
