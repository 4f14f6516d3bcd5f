package glslinfer.tasks;

import glslinfer.tasks.Description.DetectionRules;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Decoding of a detector's outputs: boxes with a sufficient score, and non-maximum suppression. */
final class Boxes {
    private static final double MAX_EXPONENT = 20;

    private Boxes() {}

    /** A box: left, top, right, bottom, then x, y of each point, relative to the network's input. */
    static final class Box {
        final double[] numbers;
        final double score;
        final int index;

        /** @param index index of its class */
        Box(double[] numbers, double score, int index) {
            this.numbers = numbers;
            this.score = score;
            this.index = index;
        }

        private boolean usable() {
            for (double number : numbers) {
                if (Double.isNaN(number) || Double.isInfinite(number)) {
                    return false;
                }
            }
            return numbers[2] > numbers[0] && numbers[3] > numbers[1];
        }

        private double area() {
            return (numbers[2] - numbers[0]) * (numbers[3] - numbers[1]);
        }

        /** Returns whether the intersection over union of two boxes exceeds a limit. */
        private boolean overlaps(Box other, double limit) {
            double sharedWidth = Math.min(numbers[2], other.numbers[2]) - Math.max(numbers[0], other.numbers[0]);
            double sharedHeight = Math.min(numbers[3], other.numbers[3]) - Math.max(numbers[1], other.numbers[1]);
            double shared = Math.max(sharedWidth, 0) * Math.max(sharedHeight, 0);
            return shared * (1 + limit) > limit * (area() + other.area());
        }
    }

    static double sigmoid(double number) {
        return 1 / (1 + Math.exp(-Math.max(-80, Math.min(80, number))));
    }

    /**
     * Returns the decoded boxes with a sufficient score, in the order of the anchors.
     *
     * @param scores a number for each anchor and class (the background's first, if there is one)
     * @param raw {@code columns} numbers for each anchor
     * @param pixels width and height of the network's input
     */
    static List<Box> decode(
            DetectionRules rules, float[] scores, float[] raw, int columns, float[] anchors, int[] pixels) {
        int first = rules.background ? 1 : 0;
        int classes = rules.labels.size() + first;
        boolean sigmoid = rules.activation.equals("sigmoid");
        boolean comparesLogits = sigmoid && rules.threshold > 0 && rules.threshold < 1;
        double least = comparesLogits ? Math.log(rules.threshold / (1 - rules.threshold)) : 0;
        List<Box> out = new ArrayList<Box>();
        double[] row = new double[classes];
        for (int i = 0; i < anchors.length / 4; i++) {
            if (!comparesLogits) {
                activate(rules.activation, scores, i * classes, row);
            }
            for (int k = first; k < classes; k++) {
                double number = scores[i * classes + k];
                if (comparesLogits ? number >= least : row[k] >= rules.threshold) {
                    double[] box = box(rules, raw, i * columns, columns, anchors, 4 * i);
                    if (rules.body != null) {
                        aroundCircle(box, rules.body, pixels);
                    }
                    out.add(new Box(box, comparesLogits ? sigmoid(number) : row[k], k - first));
                }
            }
        }
        return out;
    }

    /** Converts outputs to scores. */
    static void activate(String activation, float[] values, int offset, double[] to) {
        for (int k = 0; k < to.length; k++) {
            to[k] = values[offset + k];
        }
        switch (activation) {
            case "softmax":
                softmax(to);
                break;
            case "sigmoid":
                for (int k = 0; k < to.length; k++) {
                    to[k] = sigmoid(to[k]);
                }
                break;
            default: // "none"
        }
    }

    private static void softmax(double[] values) {
        double largest = Double.NEGATIVE_INFINITY;
        for (double value : values) {
            largest = Math.max(largest, value);
        }
        double sum = 0;
        for (int k = 0; k < values.length; k++) {
            values[k] = Math.exp(values[k] - largest);
            sum += values[k];
        }
        for (int k = 0; k < values.length; k++) {
            values[k] /= sum;
        }
    }

    private static double[] box(
            DetectionRules rules, float[] raw, int offset, int columns, float[] anchors, int anchor) {
        double[] out = new double[columns];
        int x = rules.rowsFirst ? 1 : 0;
        for (int axis = 0; axis < 2; axis++) {
            int from = offset + (axis == 0 ? x : 1 - x);
            double middle = anchors[anchor + axis];
            double size = anchors[anchor + 2 + axis];
            double grown = raw[from + 2] / rules.units[2 + axis];
            if (rules.exponential) {
                grown = Math.exp(Math.min(grown, MAX_EXPONENT));
            }
            double half = grown * size / 2;
            double centre = raw[from] / rules.units[axis] * size + middle;
            out[axis] = centre - half;
            out[2 + axis] = centre + half;
            for (int point = 4; point < columns; point += 2) {
                out[point + axis] = raw[from + point] / rules.units[axis] * size + middle;
            }
        }
        return out;
    }

    /** Replaces a box by the square around a circle. */
    private static void aroundCircle(double[] box, int[] body, int[] pixels) {
        double[] away = new double[2];
        for (int axis = 0; axis < 2; axis++) {
            away[axis] = (box[4 + 2 * body[1] + axis] - box[4 + 2 * body[0] + axis]) * pixels[axis];
        }
        double radius = Math.sqrt(away[0] * away[0] + away[1] * away[1]);
        for (int axis = 0; axis < 2; axis++) {
            double middle = box[4 + 2 * body[0] + axis];
            box[axis] = middle - radius / pixels[axis];
            box[2 + axis] = middle + radius / pixels[axis];
        }
    }

    /** Non-maximum suppression: returns the boxes, best first, each of which represents all that overlap it. */
    static List<Box> suppress(List<Box> boxes, double overlap, int maxBoxes, boolean weighted) {
        List<Box> remaining = new ArrayList<Box>();
        for (Box box : boxes) {
            if (box.usable()) {
                remaining.add(box);
            }
        }
        sort(remaining);
        List<Box> merged = new ArrayList<Box>();
        while (!remaining.isEmpty() && merged.size() < maxBoxes) {
            Box best = remaining.get(0);
            List<Box> overlapping = new ArrayList<Box>();
            List<Box> others = new ArrayList<Box>();
            for (Box box : remaining) {
                (box == best || best.overlaps(box, overlap) ? overlapping : others).add(box);
            }
            merged.add(weighted && overlapping.size() > 1 ? mean(best, overlapping) : best);
            remaining = others;
        }
        return merged;
    }

    /** Returns the mean of boxes weighted by scores, with the score of the best one. */
    private static Box mean(Box best, List<Box> overlapping) {
        double total = 0;
        double[] sum = new double[best.numbers.length];
        for (Box box : overlapping) {
            total += box.score;
            for (int i = 0; i < sum.length; i++) {
                sum[i] += box.score * box.numbers[i];
            }
        }
        if (total <= 0) {
            return best;
        }
        for (int i = 0; i < sum.length; i++) {
            sum[i] /= total;
        }
        return new Box(sum, best.score, best.index);
    }

    /** Sorts by score, best first; equal ones keep their order. */
    static void sort(List<Box> boxes) {
        Collections.sort(
                boxes,
                new Comparator<Box>() {
                    @Override
                    public int compare(Box left, Box right) {
                        return Double.compare(right.score, left.score);
                    }
                });
    }

    /** Returns concatenated outputs. */
    static float[] concatenated(List<float[]> parts) {
        int length = 0;
        for (float[] part : parts) {
            length += part.length;
        }
        float[] out = new float[length];
        int offset = 0;
        for (float[] part : parts) {
            System.arraycopy(part, 0, out, offset, part.length);
            offset += part.length;
        }
        return out;
    }
}
