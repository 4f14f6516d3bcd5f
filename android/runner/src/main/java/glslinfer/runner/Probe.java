package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The probe: inputs computed by a formula, and the expected results of all layers. */
public final class Probe {
    private static final int RECORD_BYTES = 8;

    private Probe() {}

    /** The probe's part of the manifest. */
    static final class Expected {
        final String member;
        final List<Entry> layers;
        final List<Numbers> outputs;

        /** @param outputs one for each output of the manifest, in the same order */
        Expected(String member, List<Entry> layers, List<Numbers> outputs) {
            this.member = member;
            this.layers = layers;
            this.outputs = outputs;
        }

        Entry of(String layer) {
            for (Entry entry : layers) {
                if (entry.layer.equals(layer)) {
                    return entry;
                }
            }
            return null;
        }
    }

    /** Expected elements of an output, before its host steps. */
    static final class Numbers {
        /** Elements of a vector; empty for other values. */
        final double[] numbers;

        /** Tolerance of an element; for other values, that between a complete frame and its layers drawn one by one. */
        final double maxError;

        Numbers(double[] numbers, double maxError) {
            this.numbers = numbers;
            this.maxError = maxError;
        }
    }

    /** The records of a layer and its tolerance, in stored integers. */
    static final class Entry {
        final String layer;
        final int offset;
        final int count;
        final double maxError;
        final double meanError;
        /** Layout of the layer's output, valid directly after its last pass. */
        final Value value;

        Entry(String layer, int offset, int count, double maxError, double meanError, Value value) {
            this.layer = layer;
            this.offset = offset;
            this.count = count;
            this.maxError = maxError;
            this.meanError = meanError;
            this.value = value;
        }
    }

    /** Error of a layer, in stored integers. */
    public static final class LayerError {
        public final String layer;
        public final double maxError;
        public final double mean;

        /** Tolerances of {@link #maxError} and of {@link #mean}. */
        public final double allowedMax;
        public final double allowedMean;

        /** Number of compared texels. */
        public final int texels;

        LayerError(double maxError, double mean, Entry entry) {
            this.layer = entry.layer;
            this.maxError = maxError;
            this.mean = mean;
            allowedMax = entry.maxError;
            allowedMean = entry.meanError;
            texels = entry.count;
        }

        /** Returns whether both errors are within the tolerance. */
        public boolean passed() {
            return maxError <= allowedMax && mean <= allowedMean;
        }
    }

    /**
     * Returns the probe's bytes of an image input: the channels of each pixel, top row first.
     *
     * @param index of the input in the manifest
     */
    public static byte[] picture(Input input, int index) {
        int channels = input.channels();
        byte[] bytes = new byte[input.height() * input.width() * channels];
        for (int i = 0; i < bytes.length; i++) {
            int pixel = i / channels;
            bytes[i] = (byte) byteAt(pixel % input.width(), pixel / input.width(), i % channels, index);
        }
        return bytes;
    }

    /** Returns the stored integers of the probe for all inputs. */
    static List<Stored> stored(Manifest manifest) {
        List<Stored> stored = new ArrayList<Stored>();
        for (Input input : manifest.inputs) {
            stored.add(stored(input, stored.size()));
        }
        return stored;
    }

    private static Stored stored(Input input, final int index) {
        final boolean bytes = input.value instanceof FeatureMap;
        return new Stored() {
            @Override
            int at(int x, int y, int channel) {
                int stored = byteAt(x, y, channel, index);
                return bytes ? stored : 256 * (stored - 128);
            }
        };
    }

    private static int byteAt(long x, long y, int channel, int input) {
        return (int) ((3 * x * x + 5 * y * y + 7 * x * y) / 8 + 89 * channel + 37 * input) & 255;
    }

    /** Refuses records outside of their layer's output. */
    static void check(Manifest manifest, byte[] member) {
        if (member.length % RECORD_BYTES != 0) {
            throw new BundleError("probe: member '" + manifest.probe.member + "' is not a sequence of 8-byte records");
        }
        for (Entry entry : manifest.probe.layers) {
            Value value = entry.value;
            for (int k = 0; k < entry.count; k++) {
                int offset = RECORD_BYTES * (entry.offset + k);
                int x = word(member, offset);
                int y = word(member, offset + 2);
                boolean inside;
                if (value instanceof FixedPoint) {
                    inside = x < ((FixedPoint) value).width() && y < ((FixedPoint) value).height();
                } else {
                    Tiles tiles = (Tiles) value;
                    View view = tiles.views.get(k % tiles.views.size());
                    inside = x >= view.x && y >= view.y && x < view.x + tiles.width && y < view.y + tiles.height;
                }
                if (!inside) {
                    throw new BundleError("probe: a texel of layer '" + entry.layer + "' is outside its output");
                }
            }
        }
    }

    /**
     * Compares a layer's textures with its records.
     *
     * @param textures complete textures by name, read directly after the layer's last pass
     * @param widths widths of the textures in texels
     */
    static LayerError compare(
            Entry entry, byte[] member, Map<String, ByteBuffer> textures, Map<String, Integer> widths) {
        Value value = entry.value;
        double maxError = 0;
        double sum = 0;
        int count = 0;
        for (int k = 0; k < entry.count; k++) {
            int offset = RECORD_BYTES * (entry.offset + k);
            int x = word(member, offset);
            int y = word(member, offset + 2);
            String name =
                    value instanceof FixedPoint
                            ? ((FixedPoint) value).texture
                            : ((Tiles) value).views.get(k % ((Tiles) value).views.size()).texture;
            int texel = 4 * (y * widths.get(name) + x);
            ByteBuffer drawn = textures.get(name);
            int lanes = value instanceof FeatureMap ? 4 : 2;
            for (int lane = 0; lane < lanes; lane++) {
                if (value instanceof FixedPoint) {
                    FixedPoint point = (FixedPoint) value;
                    if (2 * (point.columns > 0 ? y : x) + lane >= point.length) {
                        continue; // with an odd length, the last value is padding
                    }
                }
                int difference;
                if (lanes == 4) {
                    difference = (drawn.get(texel + lane) & 255) - (member[offset + 4 + lane] & 255);
                } else {
                    int pair = 2 * lane;
                    difference =
                            Texels.fixed16(drawn.get(texel + pair) & 255, drawn.get(texel + pair + 1) & 255)
                                    - Texels.fixed16(member[offset + 4 + pair] & 255, member[offset + 5 + pair] & 255);
                }
                maxError = Math.max(maxError, Math.abs(difference));
                sum += Math.abs(difference);
                count++;
            }
        }
        return new LayerError(maxError, sum / Math.max(count, 1), entry);
    }

    private static int word(byte[] bytes, int offset) {
        return (bytes[offset] & 255) + 256 * (bytes[offset + 1] & 255);
    }
}
