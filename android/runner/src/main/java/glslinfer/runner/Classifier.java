package glslinfer.runner;

import java.util.ArrayList;
import java.util.List;

/** Labels, softmax and top-k. */
public final class Classifier {
    private Classifier() {}

    /** One class, how probable it is, and its index. */
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
     * @param labels of a bundle
     * @param logits one for each label
     * @param top how many, at least 1; all of them where there are fewer
     */
    public static List<Prediction> rank(List<String> labels, float[] logits, int top) {
        if (top < 1) {
            throw new Errors.InputError("top=" + top + "; at least 1 is possible");
        }
        int[] indices = new int[Math.min(top, logits.length)];
        double[] probabilities = new double[indices.length];
        rank(logits, indices, probabilities);
        List<Prediction> out = new ArrayList<Prediction>();
        for (int i = 0; i < indices.length; i++) {
            out.add(new Prediction(labels.get(indices[i]), probabilities[i], indices[i]));
        }
        return out;
    }

    /**
     * The same without allocating, for every frame of a camera.
     *
     * @param indices takes the classes, best first: as many as the array is long, at most as there are logits
     * @param probabilities takes theirs
     */
    public static void rank(float[] logits, int[] indices, double[] probabilities) {
        double largest = Double.NEGATIVE_INFINITY;
        for (float logit : logits) {
            largest = Math.max(largest, logit);
        }
        double sum = 0;
        for (float logit : logits) {
            sum += Math.exp(logit - largest);
        }
        for (int place = 0; place < indices.length; place++) {
            int best = -1;
            for (int i = 0; i < logits.length; i++) {
                boolean taken = false;
                for (int before = 0; before < place; before++) {
                    taken |= indices[before] == i;
                }
                if (!taken && (best < 0 || logits[i] > logits[best])) {
                    best = i;
                }
            }
            indices[place] = best;
            probabilities[place] = Math.exp(logits[best] - largest) / sum;
        }
    }
}
