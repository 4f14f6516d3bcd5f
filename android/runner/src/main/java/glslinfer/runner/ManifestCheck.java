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
        Caps.check(manifest, members);
        ManifestCheck check = new ManifestCheck(manifest, members);
        check.names();
        PassCheck passes = new PassCheck(manifest, members, check.textures, check.programs);
        check.written.addAll(passes.check());
        check.layers();
        check.ends();
        passes.checkSharing();
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

    private int member(String name) {
        return size(members, name);
    }

    /** Returns how many bytes a member has, which must be there. */
    static int size(Map<String, byte[]> members, String name) {
        if (!members.containsKey(name)) {
            throw new BundleError("member '" + name + "' is missing");
        }
        return members.get(name).length;
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
