package glslinfer.runner;

import java.util.ArrayList;
import java.util.List;

/** Labels, softmax, top-k, and the answer "none of these". */
public final class Classifier {
    /** First label for a picture that belongs to none of the classes. */
    public static final String NONE = "none of these";

    private Classifier() {}

    /** A class with its probability and index; -1 for {@link #NONE} without a class. */
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
     * Returns the {@code top} most probable classes, best first; equal ones keep the order of the labels. {@link #NONE}
     * is the first if a class with the logit of the model's {@link NoneRule} is more probable than all others together.
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
        rank(bundle, numbers, indices, probabilities);
        List<Prediction> out = new ArrayList<Prediction>();
        for (int i = 0; i < indices.length; i++) {
            out.add(new Prediction(label(bundle.labels, indices[i]), probabilities[i], indices[i]));
        }
        return out;
    }

    /**
     * The same without allocation, for camera frames.
     *
     * @param indices receives the classes, best first, and -1 for {@link #NONE}; its length is their number, limited
     *     to all
     * @param probabilities receives their probabilities
     */
    public static void rank(Bundle bundle, float[] numbers, int[] indices, double[] probabilities) {
        Output classes = bundle.manifest.classesOutput();
        boolean probable = classes != null && classes.isProbable();
        double noneLogit =
                probable || bundle.noneRule == null ? Double.NEGATIVE_INFINITY : bundle.noneRule.logit(numbers);
        double largest = noneLogit;
        for (float number : numbers) {
            largest = Math.max(largest, number);
        }
        double sum = 0;
        for (float number : numbers) {
            sum += Math.exp(number - largest);
        }
        double none = Math.exp(noneLogit - largest);
        boolean refused = none > sum;
        if (refused) {
            sum += none;
            indices[0] = -1;
            probabilities[0] = none / sum;
        }
        for (int rank = refused ? 1 : 0; rank < indices.length; rank++) {
            int best = -1;
            for (int i = 0; i < numbers.length; i++) {
                boolean isChosen = false;
                for (int before = 0; before < rank; before++) {
                    isChosen |= indices[before] == i;
                }
                if (!isChosen && (best < 0 || numbers[i] > numbers[best])) {
                    best = i;
                }
            }
            indices[rank] = best;
            probabilities[rank] = probable ? numbers[best] : Math.exp(numbers[best] - largest) / sum;
        }
    }

    /** Returns the label of a class, or {@link #NONE} for the index -1. */
    public static String label(List<String> labels, int index) {
        return index < 0 ? NONE : labels.get(index);
    }
}
