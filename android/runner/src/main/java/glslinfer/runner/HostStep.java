package glslinfer.runner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A computation on the CPU with an output after the last pass; docs/reference/bundle-format.md defines all of them.
 *
 * <p>An output starts as a list of arrays, and each step converts them to other arrays. The steps {@code rows},
 * {@code sigmoid}, {@code softmax} and {@code l2-normalize} work in place.
 */
public final class HostStep {
    static final String ROWS = "rows";
    static final String CONCATENATE = "concatenate";
    static final String SOFTMAX = "softmax";
    static final String SIGMOID = "sigmoid";
    static final String ARGMAX = "argmax";
    static final String NORMALIZE = "l2-normalize";

    private static final double MIN_SQUARED_NORM = 1e-12;

    /** Name of the step. */
    public final String step;

    /** Length of a row of {@code rows}; 0 in all other steps. */
    public final int columns;

    HostStep(String step, int columns) {
        this.step = step;
        this.columns = columns;
    }

    boolean givesProbabilities() {
        return step.equals(SOFTMAX) || step.equals(SIGMOID);
    }

    /** Values and their shape. */
    static final class Array {
        final int[] shape;
        final double[] data;

        Array(int[] shape, double[] data) {
            this.shape = shape;
            this.data = data;
        }
    }

    /**
     * Returns the shape of the result of steps.
     *
     * @param shapes shapes of the initial arrays
     * @throws IllegalArgumentException a step does not fit its arrays, or more than one array is left
     */
    static int[] shapeOf(List<HostStep> steps, List<int[]> shapes) {
        List<int[]> current = shapes;
        for (HostStep step : steps) {
            current = step.shapesAfter(current);
        }
        if (current.size() != 1) {
            throw new IllegalArgumentException(
                    current.size() + " arrays are left after the last step; add '" + CONCATENATE + "'");
        }
        return current.get(0);
    }

    /** Returns the result of valid steps; the arrays' values are changed. */
    static Array apply(List<HostStep> steps, List<Array> arrays) {
        List<Array> current = arrays;
        for (HostStep step : steps) {
            current = step.apply(current);
        }
        return current.get(0);
    }

    private List<int[]> shapesAfter(List<int[]> shapes) {
        List<int[]> out = new ArrayList<int[]>();
        for (int[] shape : shapes) {
            if (step.equals(ROWS)) {
                out.add(new int[] {rows(shape), columns});
                continue;
            }
            if (shape.length == 0 && !step.equals(SIGMOID)) {
                throw new IllegalArgumentException("step '" + step + "' needs an array, and gets a single number");
            }
            out.add(step.equals(ARGMAX) ? Arrays.copyOf(shape, shape.length - 1) : shape);
        }
        return step.equals(CONCATENATE) ? new ArrayList<int[]>(Arrays.asList(concatenated(out))) : out;
    }

    private int rows(int[] shape) {
        long size = size(shape);
        if (size % columns != 0) {
            throw new IllegalArgumentException(
                    "step 'rows' cannot cut " + size + " numbers into rows of " + columns);
        }
        return (int) (size / columns);
    }

    private static int[] concatenated(List<int[]> shapes) {
        int[] out = shapes.get(0).clone();
        for (int[] shape : shapes.subList(1, shapes.size())) {
            boolean fits = shape.length == out.length;
            for (int axis = 1; fits && axis < out.length; axis++) {
                fits = shape[axis] == out[axis];
            }
            if (!fits) {
                throw new IllegalArgumentException("step 'concatenate' joins arrays that differ in the first axis"
                        + " only, not " + Arrays.toString(out) + " and " + Arrays.toString(shape));
            }
            out[0] += shape[0];
        }
        return out;
    }

    private List<Array> apply(List<Array> arrays) {
        List<Array> out = new ArrayList<Array>();
        if (step.equals(CONCATENATE)) {
            out.add(concatenatedArrays(arrays));
            return out;
        }
        for (Array array : arrays) {
            int[] shape = shapesAfter(Collections.singletonList(array.shape)).get(0);
            out.add(new Array(shape, computed(array)));
        }
        return out;
    }

    private static Array concatenatedArrays(List<Array> arrays) {
        List<int[]> shapes = new ArrayList<int[]>();
        int length = 0;
        for (Array array : arrays) {
            shapes.add(array.shape);
            length += array.data.length;
        }
        double[] data = new double[length];
        int at = 0;
        for (Array array : arrays) {
            System.arraycopy(array.data, 0, data, at, array.data.length);
            at += array.data.length;
        }
        return new Array(concatenated(shapes), data);
    }

    private double[] computed(Array array) {
        switch (step) {
            case ROWS:
                return array.data;
            case SIGMOID:
                sigmoid(array.data);
                return array.data;
            default:
                return computedRows(array.data, array.shape[array.shape.length - 1]);
        }
    }

    /** Computes a step along the last axis, of {@code length} values. */
    private double[] computedRows(double[] data, int length) {
        double[] indices = new double[data.length / length];
        for (int row = 0; row < indices.length; row++) {
            int start = row * length;
            switch (step) {
                case SOFTMAX:
                    softmax(data, start, length);
                    break;
                case NORMALIZE:
                    normalize(data, start, length);
                    break;
                default:
                    indices[row] = argmax(data, start, length);
            }
        }
        return step.equals(ARGMAX) ? indices : data;
    }

    private static void sigmoid(double[] data) {
        for (int i = 0; i < data.length; i++) {
            data[i] = 1 / (1 + Math.exp(-data[i]));
        }
    }

    /** Returns the index of the first of the largest values, relative to the start. */
    private static int argmax(double[] data, int start, int length) {
        int best = 0;
        for (int i = 1; i < length; i++) {
            best = data[start + i] > data[start + best] ? i : best;
        }
        return best;
    }

    private static void softmax(double[] data, int start, int length) {
        double largest = data[start + argmax(data, start, length)];
        double sum = 0;
        for (int i = start; i < start + length; i++) {
            data[i] = Math.exp(data[i] - largest);
            sum += data[i];
        }
        for (int i = start; i < start + length; i++) {
            data[i] /= sum;
        }
    }

    private static void normalize(double[] data, int start, int length) {
        double sum = 0;
        for (int i = start; i < start + length; i++) {
            sum += data[i] * data[i];
        }
        double root = Math.sqrt(Math.max(sum, MIN_SQUARED_NORM));
        for (int i = start; i < start + length; i++) {
            data[i] /= root;
        }
    }

    private static long size(int[] shape) {
        long size = 1;
        for (int length : shape) {
            size *= length;
        }
        return size;
    }
}
