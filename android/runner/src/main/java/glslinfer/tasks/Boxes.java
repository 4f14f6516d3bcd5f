package glslinfer.tasks;

import glslinfer.tasks.Description.DetectionRules;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Decoding of a detector's outputs: boxes with a sufficient score, and non-maximum suppression. */
final class Boxes {
    private static final double LARGEST_EXPONENT = 20;

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
        private boolean overlaps(Box other, double part) {
            double across = Math.min(numbers[2], other.numbers[2]) - Math.max(numbers[0], other.numbers[0]);
            double down = Math.min(numbers[3], other.numbers[3]) - Math.max(numbers[1], other.numbers[1]);
            double shared = Math.max(across, 0) * Math.max(down, 0);
            return shared * (1 + part) > part * (area() + other.area());
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
        boolean early = sigmoid && rules.threshold > 0 && rules.threshold < 1;
        double least = early ? Math.log(rules.threshold / (1 - rules.threshold)) : 0;
        List<Box> out = new ArrayList<Box>();
        double[] row = new double[classes];
        for (int i = 0; i < anchors.length / 4; i++) {
            if (!early) {
                activate(rules.activation, scores, i * classes, row);
            }
            for (int k = first; k < classes; k++) {
                double number = scores[i * classes + k];
                if (early ? number >= least : row[k] >= rules.threshold) {
                    double[] box = box(rules, raw, i * columns, columns, anchors, 4 * i);
                    if (rules.body != null) {
                        aroundCircle(box, rules.body, pixels);
                    }
                    out.add(new Box(box, early ? sigmoid(number) : row[k], k - first));
                }
            }
        }
        return out;
    }

    /** Converts outputs to scores. */
    static void activate(String activation, float[] from, int at, double[] to) {
        double largest = Double.NEGATIVE_INFINITY;
        for (int k = 0; k < to.length; k++) {
            to[k] = from[at + k];
            largest = Math.max(largest, to[k]);
        }
        if (activation.equals("none")) {
            return;
        }
        double sum = 0;
        boolean softmax = activation.equals("softmax");
        for (int k = 0; k < to.length; k++) {
            to[k] = softmax ? Math.exp(to[k] - largest) : sigmoid(to[k]);
            sum += to[k];
        }
        for (int k = 0; softmax && k < to.length; k++) {
            to[k] /= sum;
        }
    }

    private static double[] box(DetectionRules rules, float[] raw, int at, int columns, float[] anchors, int anchor) {
        double[] out = new double[columns];
        int x = rules.rowsFirst ? 1 : 0;
        for (int axis = 0; axis < 2; axis++) {
            int from = at + (axis == 0 ? x : 1 - x);
            double middle = anchors[anchor + axis];
            double size = anchors[anchor + 2 + axis];
            double grown = raw[from + 2] / rules.units[2 + axis];
            if (rules.exponential) {
                grown = Math.exp(Math.min(grown, LARGEST_EXPONENT));
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
    static List<Box> suppress(List<Box> boxes, double overlap, int most, boolean weighted) {
        List<Box> left = new ArrayList<Box>();
        for (Box box : boxes) {
            if (box.usable()) {
                left.add(box);
            }
        }
        sort(left);
        List<Box> merged = new ArrayList<Box>();
        while (!left.isEmpty() && merged.size() < most) {
            Box best = left.get(0);
            List<Box> same = new ArrayList<Box>();
            List<Box> others = new ArrayList<Box>();
            for (Box box : left) {
                (box == best || best.overlaps(box, overlap) ? same : others).add(box);
            }
            merged.add(weighted && same.size() > 1 ? mean(best, same) : best);
            left = others;
        }
        return merged;
    }

    /** Returns the mean of boxes weighted by scores, with the score of the best one. */
    private static Box mean(Box best, List<Box> same) {
        double total = 0;
        double[] sum = new double[best.numbers.length];
        for (Box box : same) {
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
        int at = 0;
        for (float[] part : parts) {
            System.arraycopy(part, 0, out, at, part.length);
            at += part.length;
        }
        return out;
    }
}
