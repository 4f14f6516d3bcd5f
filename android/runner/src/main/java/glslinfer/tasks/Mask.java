package glslinfer.tasks;

import glslinfer.runner.Fit;
import glslinfer.runner.Input;
import glslinfer.runner.Result;
import glslinfer.tasks.Description.SegmentationRules;

/** The share of each pixel that belongs to the object, computed for any size. */
public final class Mask {
    /** Columns and rows of the network's output. */
    public final int columns;

    public final int rows;

    /** Values between which the edge is smooth: nothing below the first, everything above the second. */
    public final double low;

    public final double high;

    /** The region of the image read by the network, and the corresponding region of the network's input. */
    public final Fit.Place place;

    private final float[] shares;
    private final Input input;

    /**
     * @param output (height, width, classes), or the classes' indices (height, width)
     * @param width width of the image
     * @param height height of the image
     */
    Mask(Result output, SegmentationRules rules, Input input, int width, int height) {
        int[] shape = output.shape();
        rows = shape[0];
        columns = shape[1];
        low = rules.edge[0];
        high = rules.edge[1];
        this.input = input;
        place = input.fit.place(width, height, input.width(), input.height());
        shares = new float[rows * columns];
        int classes = shape.length == 3 ? shape[2] : 1;
        double[] row = new double[classes];
        for (int i = 0; i < shares.length; i++) {
            double share;
            if (shape.length == 2) {
                share = output.data[i] == rules.channel ? 1 : 0;
            } else {
                Boxes.activate(rules.activation, output.data, i * classes, row);
                share = row[rules.channel];
            }
            shares[i] = Double.isNaN(share) ? 0 : (float) Math.max(0, Math.min(1, share));
        }
    }

    /** Returns the network's own values in 255ths, in row-major order: {@code rows} x {@code columns}. */
    public byte[] bytes() {
        byte[] out = new byte[shares.length];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) (shares[i] * 255 + 0.5);
        }
        return out;
    }

    /** Returns the number of output values for each pixel of the network's input, horizontally and vertically. */
    public double[] density() {
        return new double[] {(double) columns / input.width(), (double) rows / input.height()};
    }

    /** Returns the opacity of each pixel of the image, 0 to 255: the mask with a smooth edge. */
    public byte[] alpha(int width, int height) {
        byte[] out = new byte[width * height];
        Fit.Place target = input.fit.place(width, height, input.width(), input.height());
        double[] density = density();
        Axis across = new Axis(target.toLeft * density[0], target.toWidth * density[0], target.width, columns);
        Axis down = new Axis(target.toTop * density[1], target.toHeight * density[1], target.height, rows);
        double[] row = new double[columns];
        for (int y = 0; y < target.height; y++) {
            for (int x = 0; x < columns; x++) {
                row[x] = 0;
                for (int k = 0; k < down.count[y]; k++) {
                    row[x] += down.weights[y][k] * shares[(down.first[y] + k) * columns + x];
                }
            }
            for (int x = 0; x < target.width; x++) {
                double value = 0;
                for (int k = 0; k < across.count[x]; k++) {
                    value += across.weights[x][k] * row[across.first[x] + k];
                }
                double share = Math.max(0, Math.min(1, (value - low) / (high - low)));
                out[(target.top + y) * width + target.left + x] = (byte) (share * share * (3 - 2 * share) * 255 + 0.5);
            }
        }
        return out;
    }

    /** Returns the covered share of an image, 0 to 1. */
    public double share(int width, int height) {
        long sum = 0;
        for (byte value : alpha(width, height)) {
            sum += value & 255;
        }
        return sum / 255.0 / width / height;
    }

    /** Indices and weights of the values for each pixel along an axis, as in Pillow's bilinear resize. */
    private static final class Axis {
        final int[] first;
        final int[] count;
        final double[][] weights;

        Axis(double begin, double length, int pixels, int numbers) {
            first = new int[pixels];
            count = new int[pixels];
            weights = new double[pixels][];
            double scale = length / pixels;
            double reach = Math.max(scale, 1);
            for (int i = 0; i < pixels; i++) {
                double middle = begin + (i + 0.5) * scale;
                first[i] = (int) Math.max(0, Math.floor(middle - reach + 0.5));
                count[i] = (int) Math.min(numbers, Math.floor(middle + reach + 0.5)) - first[i];
                weights[i] = new double[Math.max(1, count[i])];
                double sum = 0;
                for (int k = 0; k < count[i]; k++) {
                    weights[i][k] = Math.max(0, 1 - Math.abs((first[i] + k + 0.5 - middle) / reach));
                    sum += weights[i][k];
                }
                for (int k = 0; k < count[i]; k++) {
                    weights[i][k] /= sum;
                }
            }
        }
    }
}
