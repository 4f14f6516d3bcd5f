package glslinfer.tasks;

/** An object with its box. */
public final class Detection {
    /** Box in pixels of the image; it can extend beyond it. */
    public final double left;

    public final double top;
    public final double right;
    public final double bottom;

    /** Confidence of the network, 0 to 1. */
    public final double score;

    /** Label of its class; empty with a single class. */
    public final String label;

    /** Index of its class. */
    public final int index;

    /** x and y of each point, in pixels. */
    public final double[][] points;

    /** @param numbers left, top, right, bottom, then x and y of each point, in pixels */
    Detection(double[] numbers, double score, String label, int index) {
        left = numbers[0];
        top = numbers[1];
        right = numbers[2];
        bottom = numbers[3];
        this.score = score;
        this.label = label;
        this.index = index;
        points = new double[(numbers.length - 4) / 2][];
        for (int i = 0; i < points.length; i++) {
            points[i] = new double[] {numbers[4 + 2 * i], numbers[5 + 2 * i]};
        }
    }
}
