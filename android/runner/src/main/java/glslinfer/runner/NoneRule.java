package glslinfer.runner;

/**
 * The logit of "none of these" for the logits of a picture: {@code max(least, logit + scale * distance)}.
 *
 * <p>The squared distance is the sum of (logit - mean)^2, minus the squared product of these differences with each of
 * the directions.
 */
final class NoneRule {
    private final double least;
    private final double logit;
    private final double scale;
    private final double mean;
    private final double unit;
    private final String[] directions;

    /**
     * @param least smallest result
     * @param logit result at distance 0, if it is above {@code least}
     * @param scale increase for each unit of distance
     * @param mean of all logits of known pictures
     * @param unit length of a step of the directions
     * @param directions a character for each class, its number of steps more than {@code FormatConstants.NONE_ZERO}
     */
    NoneRule(double least, double logit, double scale, double mean, double unit, String... directions) {
        this.least = least;
        this.logit = logit;
        this.scale = scale;
        this.mean = mean;
        this.unit = unit;
        this.directions = directions;
    }

    /** Returns the logit of "none of these" for one logit of each class. */
    double logit(float[] logits) {
        double squaredDistance = 0;
        for (float value : logits) {
            squaredDistance += (value - mean) * (value - mean);
        }
        for (String direction : directions) {
            double product = 0;
            for (int i = 0; i < logits.length; i++) {
                product += unit * (direction.charAt(i) - FormatConstants.NONE_ZERO) * (logits[i] - mean);
            }
            squaredDistance -= product * product;
        }
        return Math.max(least, logit + scale * Math.sqrt(Math.max(squaredDistance, 0)));
    }
}
