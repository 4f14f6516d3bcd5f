package glslinfer.runner;

/** Scaling of images: exact area average when shrinking, bilinear when enlarging, for each axis. */
final class Resample {
    private static final int BITS = 22; // of the weights of the bilinear filter

    private Resample() {}

    /**
     * Scales an image.
     *
     * @param pixels (height, width, channels)
     * @return (toHeight, toWidth, channels); {@code pixels} itself if the size is unchanged
     */
    static byte[] scale(byte[] pixels, int width, int height, int toWidth, int toHeight, int channels) {
        byte[] out = pixels;
        int shrunkWidth = Math.min(width, toWidth);
        int shrunkHeight = Math.min(height, toHeight);
        if (shrunkWidth < width || shrunkHeight < height) {
            out = averaged(out, width, height, shrunkWidth, shrunkHeight, channels);
        }
        if (shrunkWidth < toWidth) {
            out = enlarged(out, shrunkHeight, shrunkWidth, channels, toWidth);
        }
        return shrunkHeight < toHeight ? enlarged(out, 1, shrunkHeight, channels * toWidth, toHeight) : out;
    }

    /** Averages the shrinking axes, with one rounding; row by row, because photographs are large. */
    private static byte[] averaged(
            byte[] pixels, int width, int height, int shrunkWidth, int shrunkHeight, int channels) {
        byte[] out = new byte[shrunkWidth * shrunkHeight * channels];
        long area = (shrunkWidth < width ? (long) width : 1) * (shrunkHeight < height ? height : 1);
        for (int j = 0; j < shrunkHeight; j++) {
            long[] row = new long[channels * width];
            for (int q = first(j, height, shrunkHeight); inside(q, j, height, shrunkHeight); q++) {
                long weight = shrunkHeight < height ? overlap(j, q, height, shrunkHeight) : 1;
                for (int k = 0; k < row.length; k++) {
                    row[k] += weight * (pixels[q * row.length + k] & 255);
                }
            }
            for (int i = 0; i < shrunkWidth; i++) {
                long[] sum = new long[channels];
                for (int p = first(i, width, shrunkWidth); inside(p, i, width, shrunkWidth); p++) {
                    long weight = shrunkWidth < width ? overlap(i, p, width, shrunkWidth) : 1;
                    for (int c = 0; c < channels; c++) {
                        sum[c] += weight * row[p * channels + c];
                    }
                }
                for (int c = 0; c < channels; c++) {
                    out[(j * shrunkWidth + i) * channels + c] = (byte) ((2 * sum[c] + area) / (2 * area));
                }
            }
        }
        return out;
    }

    /** Returns the first source pixel covered by an output pixel. */
    private static int first(int index, int side, int size) {
        return (int) ((long) index * side / size);
    }

    /** Returns whether a source pixel after the first is covered too. */
    private static boolean inside(int pixel, int index, int side, int size) {
        return pixel < side && (long) pixel * size < (long) (index + 1) * side;
    }

    /** Returns the part of source pixel {@code p} covered by output pixel {@code i}, in 1 / size of a source pixel. */
    private static long overlap(int i, int p, int side, int size) {
        return Math.max(
                0, Math.min((i + 1L) * side, (p + 1L) * size) - Math.max((long) i * side, (long) p * size));
    }

    /**
     * Enlarges an axis with the bilinear filter, and rounds.
     *
     * @param values (blocks, side, step)
     * @return (blocks, size, step)
     */
    private static byte[] enlarged(byte[] values, int blocks, int side, int step, int size) {
        byte[] out = new byte[blocks * size * step];
        for (int i = 0; i < size; i++) {
            double centre = (i + 0.5) * side / size;
            int low = (int) Math.max(0, Math.floor(centre - 0.5));
            long[] weights = weights(centre, low, side);
            for (int block = 0; block < blocks; block++) {
                int to = (block * size + i) * step;
                for (int k = 0; k < step; k++) {
                    long sum = 1 << (BITS - 1);
                    for (int p = 0; p < weights.length; p++) {
                        sum += weights[p] * (values[(block * side + low + p) * step + k] & 255);
                    }
                    out[to + k] = (byte) Math.max(0, Math.min(255, sum >> BITS));
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
