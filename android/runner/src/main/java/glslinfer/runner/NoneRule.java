package glslinfer.runner;

/** The logit of "none of these" for the logits of a picture: {@code runtime/none_of_these.py} describes the rule. */
final class NoneRule {
    private final double least;
    private final double logit;
    private final double scale;
    private final double mean;
    private final double step;
    private final String[] directions;

    /**
     * @param least smallest logit of this answer
     * @param logit for a picture at distance 0, if that is more
     * @param scale added for each unit of the distance
     * @param mean of all logits of known pictures
     * @param step unit of the directions
     * @param directions a character for each class, its number of steps more than {@code FormatConstants.NONE_ZERO}
     */
    NoneRule(double least, double logit, double scale, double mean, double step, String... directions) {
        this.least = least;
        this.logit = logit;
        this.scale = scale;
        this.mean = mean;
        this.step = step;
        this.directions = directions;
    }

    /** Returns the logit of "none of these" for one logit of each class. */
    double logit(float[] logits) {
        double square = 0;
        for (float value : logits) {
            square += (value - mean) * (value - mean);
        }
        for (String direction : directions) {
            double along = 0;
            for (int i = 0; i < logits.length; i++) {
                along += step * (direction.charAt(i) - FormatConstants.NONE_ZERO) * (logits[i] - mean);
            }
            square -= along * along;
        }
        return Math.max(least, logit + scale * Math.sqrt(Math.max(square, 0)));
    }
}
