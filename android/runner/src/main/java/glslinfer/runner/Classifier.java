package glslinfer.runner;

import java.util.ArrayList;
import java.util.List;

/** Labels, softmax and top-k. */
public final class Classifier {
    private Classifier() {}

    /** A class with its probability and index. */
    public static final class Prediction {
        public final String label;
        public final double probability;
        public final int index;

        Prediction(String label, double probability, int index) {
            this.label = label;
            this.probability = probability;
            this.index = index;
        }
    }

    /**
     * Returns the {@code top} most probable classes, best first; equal ones keep the order of the labels.
     *
     * @param bundle has an output for classes
     * @param numbers values of that output, one for each label: probabilities if it ends in softmax or sigmoid,
     *     otherwise logits
     * @param top number of classes, at least 1; limited to all
     */
    public static List<Prediction> rank(Bundle bundle, float[] numbers, int top) {
        if (top < 1) {
            throw new Errors.InputError("top=" + top + "; at least 1 is possible");
        }
        int[] indices = new int[Math.min(top, numbers.length)];
        double[] probabilities = new double[indices.length];
        Output classes = bundle.manifest.classesOutput();
        rank(numbers, classes != null && classes.isProbable(), indices, probabilities);
        List<Prediction> out = new ArrayList<Prediction>();
        for (int i = 0; i < indices.length; i++) {
            out.add(new Prediction(bundle.labels.get(indices[i]), probabilities[i], indices[i]));
        }
        return out;
    }

    /**
     * The same without allocation, for camera frames.
     *
     * @param probable whether the values are probabilities; otherwise softmax is applied
     * @param indices receives the classes, best first; its length is their number, limited to all
     * @param probabilities receives their probabilities
     */
    public static void rank(float[] numbers, boolean probable, int[] indices, double[] probabilities) {
        double largest = Double.NEGATIVE_INFINITY;
        for (float number : numbers) {
            largest = Math.max(largest, number);
        }
        double sum = 0;
        for (float number : numbers) {
            sum += Math.exp(number - largest);
        }
        for (int place = 0; place < indices.length; place++) {
            int best = -1;
            for (int i = 0; i < numbers.length; i++) {
                boolean taken = false;
                for (int before = 0; before < place; before++) {
                    taken |= indices[before] == i;
                }
                if (!taken && (best < 0 || numbers[i] > numbers[best])) {
                    best = i;
                }
            }
            indices[place] = best;
            probabilities[place] = probable ? numbers[best] : Math.exp(numbers[best] - largest) / sum;
        }
    }
}
