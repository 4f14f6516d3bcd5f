package glslinfer.tasks;

import java.util.Collections;
import java.util.Map;

/** Points of an object. */
public final class Landmarks {
    /** x and y of each point in pixels of the image, followed by further coordinates. */
    public final double[][] points;

    /** Confidence that the object is present, 0 to 1. */
    public final double score;

    /** Further outputs of the network, by the task's names. */
    public final Map<String, Double> attributes;

    /** The cut read by the network. */
    public final Cut cut;

    Landmarks(double[][] points, double score, Map<String, Double> attributes, Cut cut) {
        this.points = points;
        this.score = score;
        this.attributes = Collections.unmodifiableMap(attributes);
        this.cut = cut;
    }
}
