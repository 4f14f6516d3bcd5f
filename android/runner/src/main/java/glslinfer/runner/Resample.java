package glslinfer.runner;

/** Scales pictures: an axis that shrinks is averaged by area, exactly; one that grows is bilinear. */
final class Resample {
    private static final int BITS = 22; // of the weights of the bilinear filter

    private Resample() {}

    /**
     * Scales a picture.
     *
     * @param pixels (height, width, channels), 0 to 255
     * @return (toHeight, toWidth, channels), 0 to 255; {@code pixels} itself where nothing changes
     */
    static long[] scale(long[] pixels, int width, int height, int toWidth, int toHeight, int channels) {
        long[] out = pixels;
        long area = 1;
        int wide = width;
        int high = height;
        if (height > toHeight) {
            out = sums(out, 1, height, channels * width, toHeight);
            area = height;
            high = toHeight;
        }
        if (width > toWidth) {
            out = sums(out, high, width, channels, toWidth);
            area *= width;
            wide = toWidth;
        }
        if (out != pixels) {
            for (int i = 0; i < out.length; i++) {
                out[i] = (2 * out[i] + area) / (2 * area); // both axes are rounded at once
            }
        }
        if (wide < toWidth) {
            out = enlarged(out, high, wide, channels, toWidth);
        }
        return high < toHeight ? enlarged(out, 1, high, channels * toWidth, toHeight) : out;
    }

    /**
     * Sums one axis into fewer, equal windows, each value times its overlap in 1 / size of a step.
     *
     * @param values (blocks, side, step)
     * @return (blocks, size, step)
     */
    private static long[] sums(long[] values, int blocks, int side, int step, int size) {
        long[] out = new long[blocks * size * step];
        for (int block = 0; block < blocks; block++) {
            for (int i = 0; i < size; i++) {
                int to = (block * size + i) * step;
                int first = (int) ((long) i * side / size);
                for (int p = first; p < side && (long) p * size < (long) (i + 1) * side; p++) {
                    long weight = overlap(i, p, side, size);
                    int from = (block * side + p) * step;
                    for (int k = 0; k < step; k++) {
                        out[to + k] += weight * values[from + k];
                    }
                }
            }
        }
        return out;
    }

    /** How much of source pixel {@code p} output pixel {@code i} covers, in 1 / size of a source pixel. */
    private static long overlap(int i, int p, int side, int size) {
        return Math.max(
                0, Math.min((i + 1L) * side, (p + 1L) * size) - Math.max((long) i * side, (long) p * size));
    }

    /** Enlarges one axis by the bilinear filter, and rounds; shapes as in {@link #sums}. */
    private static long[] enlarged(long[] values, int blocks, int side, int step, int size) {
        long[] out = new long[blocks * size * step];
        for (int i = 0; i < size; i++) {
            double centre = (i + 0.5) * side / size;
            int low = (int) Math.max(0, Math.floor(centre - 0.5));
            long[] weights = weights(centre, low, side);
            for (int block = 0; block < blocks; block++) {
                int to = (block * size + i) * step;
                for (int k = 0; k < step; k++) {
                    long sum = 1 << (BITS - 1);
                    for (int p = 0; p < weights.length; p++) {
                        sum += weights[p] * values[(block * side + low + p) * step + k];
                    }
                    out[to + k] = Math.max(0, Math.min(255, sum >> BITS));
                }
            }
        }
        return out;
    }

    private static long[] weights(double centre, int low, int side) {
        double[] exact = new double[(int) Math.min(side, Math.floor(centre + 1.5)) - low];
        double sum = 0;
        for (int k = 0; k < exact.length; k++) {
            exact[k] = Math.max(0, 1 - Math.abs(low + k + 0.5 - centre));
            sum += exact[k];
        }
        long[] fixed = new long[exact.length];
        for (int k = 0; k < fixed.length; k++) {
            fixed[k] = (long) Math.floor(exact[k] / sum * (1 << BITS) + 0.5);
        }
        return fixed;
    }
}
