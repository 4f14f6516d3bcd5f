package glslinfer.tasks;

import glslinfer.runner.Errors.InputError;
import java.util.List;

/** Anchors: boxes to which a detector's outputs are relative, computed from parameters. */
final class Anchors {
    /** Largest number of anchors of a detector; practical networks have less than a hundredth. */
    private static final int MAX_ANCHORS = 1 << 18;

    private Anchors() {}

    /** The anchors of a feature map: the same boxes around the centre of each cell. */
    static final class Level {
        private final double[][] sizes;
        private final int stride;
        private final int[] cells;

        private Level(double[][] sizes, int stride, int[] cells) {
            this.sizes = sizes;
            this.stride = stride;
            this.cells = cells;
        }

        /**
         * @param sizes width and height of each box of a cell, relative to the network's input
         * @param stride input pixels for each cell
         */
        static Level ofStride(double[][] sizes, int stride) {
            return new Level(sizes, stride, null);
        }

        /**
         * @param sizes width and height of each box of a cell, relative to the network's input
         * @param cells rows and columns
         */
        static Level ofCells(double[][] sizes, int[] cells) {
            return new Level(sizes, 0, cells);
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
        long count = 0;
        for (Level level : levels) {
            count += (long) level.rows(height) * level.columns(width) * level.sizes.length;
        }
        if (count > MAX_ANCHORS) {
            throw new InputError(count + " anchors; at most " + MAX_ANCHORS
                    + " are possible: give larger strides or fewer sizes");
        }
        float[] out = new float[4 * (int) count];
        int next = 0;
        for (Level level : levels) {
            int rows = level.rows(height);
            int columns = level.columns(width);
            for (int y = 0; y < rows; y++) {
                for (int x = 0; x < columns; x++) {
                    for (double[] size : level.sizes) {
                        out[next++] = (float) ((x + 0.5) / columns);
                        out[next++] = (float) ((y + 0.5) / rows);
                        out[next++] = (float) size[0];
                        out[next++] = (float) size[1];
                    }
                }
            }
        }
        return out;
    }
}
