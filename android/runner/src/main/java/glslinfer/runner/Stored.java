package glslinfer.runner;

import glslinfer.runner.Layout.FineMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Ranged;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** The integers in an input's texels: bytes of an image or feature map, 16 bits of a vector or 16-bit map. */
abstract class Stored {
    /** Returns the integer of a column, row and channel; for a vector, the column is the index. */
    abstract int at(int x, int y, int channel);

    /**
     * Returns the stored integers for the inputs given by a program, in the order of the manifest.
     *
     * @param given by name: for an image its bytes, or a {@link Picture} of any size; for values {@code float[]},
     *     {@code double[]} or {@code int[]}
     * @throws Errors.InputError an input is missing, unknown, of another type or size, or not a number
     */
    static List<Stored> all(Manifest manifest, Map<String, ?> inputs) {
        List<Stored> stored = new ArrayList<Stored>();
        for (Input input : manifest.inputs) {
            if (!inputs.containsKey(input.name)) {
                throw new Errors.InputError(
                        "input '" + input.name + "' is missing; the model reads " + manifest.inputNames());
            }
            stored.add(of(input, inputs.get(input.name)));
        }
        if (inputs.size() > stored.size()) {
            throw new Errors.InputError(
                    inputs.keySet() + " were given, but the model reads " + manifest.inputNames() + " alone");
        }
        return stored;
    }

    /** The same for one input. */
    static Stored of(Input input, Object value) {
        if (!input.isPicture()) {
            return new Numbers(input.value, numbers(input, value));
        }
        byte[] bytes = null;
        if (value instanceof Picture) {
            bytes = Preprocess.fit((Picture) value, input);
        } else if (value instanceof byte[]) {
            bytes = (byte[]) value;
        }
        int size = input.width() * input.height() * input.channels();
        if (bytes == null || bytes.length != size) {
            throw new Errors.ImageError("input '" + input.name + "' reads " + input.width() + " x " + input.height()
                    + " pixels of " + input.channels() + " bytes, " + described(value)
                    + " were given; give a Picture of any size, or as many bytes");
        }
        return new Bytes(bytes, input.width(), input.channels());
    }

    private static String described(Object value) {
        return value instanceof byte[]
                ? ((byte[]) value).length + " bytes"
                : value == null ? "no pixels" : value.getClass().getSimpleName();
    }

    private static double[] numbers(Input input, Object value) {
        double[] numbers = null;
        if (value instanceof double[]) {
            numbers = (double[]) value;
        } else if (value instanceof float[]) {
            float[] floats = (float[]) value;
            numbers = new double[floats.length];
            for (int i = 0; i < floats.length; i++) {
                numbers[i] = floats[i];
            }
        } else if (value instanceof int[]) {
            int[] integers = (int[]) value;
            numbers = new double[integers.length];
            for (int i = 0; i < integers.length; i++) {
                numbers[i] = integers[i];
            }
        }
        String expected = "input '" + input.name + "' takes " + input.value.count() + " numbers (its shape is "
                + Arrays.toString(input.shape()) + ")";
        if (numbers == null) {
            throw new Errors.InputError(expected + ", " + (value == null ? "nothing" : value.getClass().getSimpleName())
                    + " was given; give float[], double[] or int[]");
        }
        if (numbers.length != input.value.count()) {
            throw new Errors.InputError(expected + ", " + numbers.length + " were given");
        }
        for (int i = 0; i < numbers.length; i++) {
            if (Double.isNaN(numbers[i])) {
                throw new Errors.InputError(expected + ", but what was given at " + i + " is not a number");
            }
        }
        return numbers;
    }

    /**
     * Writes the texels of a vector, or of a view of an image or map, in row-major order.
     *
     * @param view index of the view; 0 for a vector
     * @param out receives 4 bytes for each texel
     */
    final void write(Input input, int view, ByteBuffer out) {
        if (input.value instanceof FixedPoint) {
            writeVector((FixedPoint) input.value, out);
            return;
        }
        Tiles tiles = (Tiles) input.value;
        int each = tiles.channelsOfView();
        int bytes = 4 / each;
        // Without an alpha channel, alpha is 255, by which shaders detect pixels of the image.
        byte padding = (byte) (input.isPicture() && tiles.channels < 4 ? 255 : 0);
        for (int y = 0; y < tiles.height; y++) {
            for (int x = 0; x < tiles.width; x++) {
                int to = 4 * (y * tiles.width + x);
                for (int lane = 0; lane < each; lane++) {
                    int channel = view * each + lane;
                    if (channel >= tiles.channels) {
                        out.put(to + lane, lane == 3 ? padding : 0);
                    } else if (bytes == 1) {
                        out.put(to + lane, (byte) at(x, y, channel));
                    } else {
                        pair(at(x, y, channel), out, to + 2 * lane);
                    }
                }
            }
        }
    }

    private void writeVector(FixedPoint vector, ByteBuffer out) {
        for (int i = 0; i < 2 * vector.width(); i++) {
            pair(i < vector.length ? at(i, 0, 0) : 0, out, 2 * i);
        }
    }

    private static void pair(int n, ByteBuffer out, int to) {
        out.put(to, (byte) ((n >> 8) + 128));
        out.put(to + 1, (byte) n);
    }

    /** The bytes of an image. */
    private static final class Bytes extends Stored {
        private final byte[] bytes;
        private final int width;
        private final int channels;

        Bytes(byte[] bytes, int width, int channels) {
            this.bytes = bytes;
            this.width = width;
            this.channels = channels;
        }

        @Override
        int at(int x, int y, int channel) {
            return bytes[(y * width + x) * channels + channel] & 255;
        }
    }

    /** Values, rounded to the nearest stored ones. */
    private static final class Numbers extends Stored {
        private final Value value;
        private final double[] numbers;
        private final int width;
        private final int channels;

        Numbers(Value value, double[] numbers) {
            this.value = value;
            this.numbers = numbers;
            width = value instanceof Tiles ? ((Tiles) value).width : 1;
            channels = value instanceof Tiles ? ((Tiles) value).channels : 1;
        }

        @Override
        int at(int x, int y, int channel) {
            double number = numbers[(y * width + x) * channels + channel];
            if (value instanceof Ranged) {
                Ranged map = (Ranged) value;
                double steps = number / map.scale(channel) * 255 + map.zero(channel);
                boolean fine = value instanceof FineMap;
                double stored = Math.floor(fine ? 256 * steps + 0.5 : steps + 0.5);
                return (int) Math.max(0, Math.min(fine ? 65280 : 255, stored)) + (fine ? FineMap.FIRST : 0);
            }
            double scale = value instanceof FixedMap ? ((FixedMap) value).scale : ((FixedPoint) value).scale;
            return (int) Math.max(-32768, Math.min(32767, Math.floor(number / scale * 256 + 0.5)));
        }
    }
}
