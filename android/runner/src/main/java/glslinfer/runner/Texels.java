package glslinfer.runner;

import glslinfer.runner.Layout.FineMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Ranged;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.View;
import java.nio.ByteBuffer;

/** Decoding of RGBA8 texels of a layer's output. */
final class Texels {
    private Texels() {}

    /** Returns the integer of two bytes of 16-bit fixed point: (high - 128) * 256 + low. */
    static int fixed16(int high, int low) {
        return (high - 128) * 256 + low;
    }

    /**
     * Decodes a vector or partial sums.
     *
     * @param texels {@code value.width()} x {@code value.height()} texels from (0, 0) of its texture
     * @param out receives (columns, length) or (length) elements
     */
    static void unpack(ByteBuffer texels, FixedPoint value, double[] out) {
        double unit = value.scale / 256.0;
        int width = value.width();
        for (int column = 0; column < Math.max(value.columns, 1); column++) {
            for (int i = 0; i < value.length; i++) {
                int texel = value.columns > 0 ? i / 2 * width + column : i / 2;
                out[column * value.length + i] = pair(texels, 4 * texel + i % 2 * 2) * unit;
            }
        }
    }

    /**
     * Decodes one view of a map.
     *
     * @param texels a complete texture, {@code textureWidth} texels wide
     * @param index index of the view
     * @param out (height, width, channels) elements; those of this view are set
     */
    static void unpack(ByteBuffer texels, int textureWidth, Tiles value, int index, double[] out) {
        View view = value.views.get(index);
        int each = value.channelsOfView();
        int lanes = Math.min(each, value.channels - each * index);
        for (int y = 0; y < value.height; y++) {
            for (int x = 0; x < value.width; x++) {
                int from = 4 * ((view.y + y) * textureWidth + view.x + x);
                int to = (y * value.width + x) * value.channels + each * index;
                for (int lane = 0; lane < lanes; lane++) {
                    out[to + lane] = number(texels, from, value, each * index + lane, lane);
                }
            }
        }
    }

    private static double number(ByteBuffer texels, int from, Tiles value, int channel, int lane) {
        if (value instanceof FixedMap) {
            return pair(texels, from + 2 * lane) * (((FixedMap) value).scale / 256.0);
        }
        Ranged map = (Ranged) value;
        double step = value instanceof FineMap
                ? (pair(texels, from + 2 * lane) - FineMap.FIRST) / 256.0
                : texels.get(from + lane) & 255;
        return map.scale(channel) * (step - map.zero(channel)) / 255.0;
    }

    private static int pair(ByteBuffer texels, int offset) {
        return fixed16(texels.get(offset) & 255, texels.get(offset + 1) & 255);
    }

    /** Returns numbers rounded to 32-bit floats, once, as in Python. */
    static float[] floats(double[] numbers) {
        float[] out = new float[numbers.length];
        for (int i = 0; i < out.length; i++) {
            out[i] = (float) numbers[i];
        }
        return out;
    }
}
