package glslinfer.runner;

/**
 * From a decoded picture to the bytes that a network reads: steps 4, 6 and 7 of docs/bundle-format.md, exactly.
 *
 * <p>Decoding, EXIF orientation and colour profiles are the caller's: on Android, {@code BitmapFactory} and
 * {@code ExifInterface}.
 */
public final class Preprocess {
    private Preprocess() {}

    /**
     * Lays a picture over white, cuts out its centred square and scales that.
     *
     * @param argb a pixel each: alpha (not premultiplied), red, green, blue from the highest byte; top row first
     * @param size of the network's picture
     * @return {@code 3 * size * size} bytes: red, green, blue of each pixel
     * @throws Errors.ImageError there are not width x height pixels, or none
     */
    public static byte[] toSquare(int[] argb, int width, int height, int size) {
        if (width < 1 || height < 1 || argb.length != (long) width * height) {
            throw new Errors.ImageError(argb.length + " pixels are no picture of " + width + " x " + height);
        }
        int side = Math.min(width, height);
        int left = (width - side) / 2;
        int top = (height - side) / 2;
        int[] square = new int[3 * side * side];
        for (int y = 0; y < side; y++) {
            for (int x = 0; x < side; x++) {
                int pixel = argb[(top + y) * width + left + x];
                int alpha = pixel >>> 24;
                for (int c = 0; c < 3; c++) {
                    int value = pixel >> (16 - 8 * c) & 255;
                    square[3 * (y * side + x) + c] = (2 * (value * alpha + 255 * (255 - alpha)) + 255) / 510;
                }
            }
        }
        long[] scaled = side > size ? average(square, side, size) : side < size ? enlarge(square, side, size) : null;
        byte[] out = new byte[3 * size * size];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) (scaled == null ? square[i] : scaled[i]);
        }
        return out;
    }

    /** The exact area average, rounded half up once. */
    private static long[] average(int[] square, int side, int size) {
        long[] rows = new long[3 * side * size];
        for (int j = 0; j < size; j++) {
            for (int q = first(j, side, size); q < side && (long) q * size < (long) (j + 1) * side; q++) {
                long weight = overlap(j, q, side, size);
                for (int x = 0; x < 3 * side; x++) {
                    rows[3 * side * j + x] += weight * square[3 * side * q + x];
                }
            }
        }
        long area = (long) side * side;
        long[] out = new long[3 * size * size];
        for (int i = 0; i < size; i++) {
            for (int p = first(i, side, size); p < side && (long) p * size < (long) (i + 1) * side; p++) {
                long weight = overlap(i, p, side, size);
                for (int j = 0; j < size; j++) {
                    for (int c = 0; c < 3; c++) {
                        out[3 * (j * size + i) + c] += weight * rows[3 * (j * side + p) + c];
                    }
                }
            }
        }
        for (int i = 0; i < out.length; i++) {
            out[i] = (2 * out[i] + area) / (2 * area);
        }
        return out;
    }

    private static int first(int index, int side, int size) {
        return (int) ((long) index * side / size);
    }

    /** How much of source pixel {@code p} output pixel {@code i} covers, in 1 / size of a source pixel. */
    private static long overlap(int i, int p, int side, int size) {
        return Math.max(
                0, Math.min((i + 1L) * side, (p + 1L) * size) - Math.max((long) i * side, (long) p * size));
    }

    /** Bilinear: columns first, then rows, each rounded to bytes. */
    private static long[] enlarge(int[] square, int side, int size) {
        long[] rows = new long[3 * side * size];
        for (int i = 0; i < size; i++) {
            int low = low(i, side, size);
            long[] weights = weights(i, low, side, size);
            for (int y = 0; y < side; y++) {
                for (int c = 0; c < 3; c++) {
                    long sum = 1 << 21;
                    for (int k = 0; k < weights.length; k++) {
                        sum += weights[k] * square[3 * (y * side + low + k) + c];
                    }
                    rows[3 * (y * size + i) + c] = Math.max(0, Math.min(255, sum >> 22));
                }
            }
        }
        long[] out = new long[3 * size * size];
        for (int j = 0; j < size; j++) {
            int low = low(j, side, size);
            long[] weights = weights(j, low, side, size);
            for (int x = 0; x < 3 * size; x++) {
                long sum = 1 << 21;
                for (int k = 0; k < weights.length; k++) {
                    sum += weights[k] * rows[3 * size * (low + k) + x];
                }
                out[3 * size * j + x] = Math.max(0, Math.min(255, sum >> 22));
            }
        }
        return out;
    }

    private static double centre(int index, int side, int size) {
        return (index + 0.5) * side / size;
    }

    private static int low(int index, int side, int size) {
        return (int) Math.max(0, Math.floor(centre(index, side, size) - 0.5));
    }

    private static long[] weights(int index, int low, int side, int size) {
        double centre = centre(index, side, size);
        double[] exact = new double[(int) Math.min(side, Math.floor(centre + 1.5)) - low];
        double sum = 0;
        for (int k = 0; k < exact.length; k++) {
            exact[k] = Math.max(0, 1 - Math.abs(low + k + 0.5 - centre));
            sum += exact[k];
        }
        long[] fixed = new long[exact.length];
        for (int k = 0; k < fixed.length; k++) {
            fixed[k] = (long) Math.floor(exact[k] / sum * (1 << 22) + 0.5);
        }
        return fixed;
    }
}
