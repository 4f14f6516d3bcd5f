package glslinfer.tasks;

import java.util.Collections;
import java.util.Map;

/** Points of a thing. */
public final class Landmarks {
    /** x and y of each point in pixels of the picture, and what more the network says of it. */
    public final double[][] points;

    /** How sure the network is that there is one, 0 to 1. */
    public final double score;

    /** Other numbers of the network, by the task's names. */
    public final Map<String, Double> attributes;

    /** What the network read. */
    public final Cut cut;

    Landmarks(double[][] points, double score, Map<String, Double> attributes, Cut cut) {
        this.points = points;
        this.score = score;
        this.attributes = Collections.unmodifiableMap(attributes);
        this.cut = cut;
    }
}
