package glslinfer.tasks;

import glslinfer.runner.Errors.InputError;
import java.util.List;

/** Anchors: boxes to which a detector's outputs are relative, computed from parameters. */
final class Anchors {
    private static final int MOST = 1 << 18;

    private Anchors() {}

    /** The anchors of a feature map: the same boxes around the centre of each cell. */
    static final class Level {
        private final double[][] sizes;
        private final int stride;
        private final int[] cells;

        /**
         * @param sizes width and height of each box of a cell, relative to the network's input
         * @param stride input pixels for each cell; 0 with {@code cells}
         * @param cells rows and columns; null with {@code stride}
         */
        Level(double[][] sizes, int stride, int[] cells) {
            this.sizes = sizes;
            this.stride = stride;
            this.cells = cells;
        }

        private int rows(int height) {
            return cells != null ? cells[0] : (height + stride - 1) / stride;
        }

        private int columns(int width) {
            return cells != null ? cells[1] : (width + stride - 1) / stride;
        }
    }

    /**
     * Returns all anchors, four numbers each: x and y of the centre, width and height, relative to the network's input.
     *
     * @param height height of the network's input
     * @param width width of the network's input
     */
    static float[] of(List<Level> levels, int height, int width) {
        long number = 0;
        for (Level level : levels) {
            number += (long) level.rows(height) * level.columns(width) * level.sizes.length;
        }
        if (number > MOST) {
            throw new InputError(number + " anchors; at most " + MOST
                    + " are possible: give larger strides or fewer sizes");
        }
        float[] out = new float[4 * (int) number];
        int at = 0;
        for (Level level : levels) {
            int rows = level.rows(height);
            int columns = level.columns(width);
            for (int y = 0; y < rows; y++) {
                for (int x = 0; x < columns; x++) {
                    for (double[] size : level.sizes) {
                        out[at++] = (float) ((x + 0.5) / columns);
                        out[at++] = (float) ((y + 0.5) / rows);
                        out[at++] = (float) size[0];
                        out[at++] = (float) size[1];
                    }
                }
            }
        }
        return out;
    }
}
