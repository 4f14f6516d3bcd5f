package glslinfer.tasks;

/** A thing with a box around it. */
public final class Detection {
    /** In pixels of the picture; a box may reach beyond it. */
    public final double left;

    public final double top;
    public final double right;
    public final double bottom;

    /** How sure the network is, 0 to 1. */
    public final double score;

    /** Of its class; empty where there is one class only. */
    public final String label;

    /** Of its class. */
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
