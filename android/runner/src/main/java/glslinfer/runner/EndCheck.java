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
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Checks that inputs, outputs and the probe of a manifest agree with its textures and with each other. */
final class EndCheck {
    private final Manifest manifest;
    private final Map<String, Program.Texture> textures;
    private final Set<String> written;

    /** @param written the target textures of passes */
    EndCheck(Manifest manifest, Map<String, Program.Texture> textures, Set<String> written) {
        this.manifest = manifest;
        this.textures = textures;
        this.written = written;
    }

    /** Refuses inputs that do not fit their textures, and textures of kind {@code input} with no input or with two. */
    void inputs() {
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
                        + "' is of kind 'input', but no input lies in it; leave it out");
            }
        }
    }

    /** Refuses outputs that do not fit their textures or that no pass draws, and a second output for classes. */
    void outputs() {
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
    void probe(byte[] member) {
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
                throw new BundleError(where + ": a view lies outside its texture");
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
}
