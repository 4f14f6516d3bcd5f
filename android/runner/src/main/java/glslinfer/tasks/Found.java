package glslinfer.tasks;

import glslinfer.runner.Classifier;
import java.util.Collections;
import java.util.List;

/** What a task found in a picture: things, best first, or a mask, or labels. The other lists are empty. */
public final class Found {
    /** What the task is, and what is to be drawn. */
    public final Description description;

    /** Of the picture, in pixels. */
    public final int width;

    public final int height;

    public final List<Detection> detections;
    public final List<Landmarks> landmarks;

    /** Of a segmentation, else null. */
    public final Mask mask;

    /** Of a classification. */
    public final List<Classifier.Prediction> labels;

    private Found(
            Description description,
            int[] size,
            List<Detection> detections,
            List<Landmarks> landmarks,
            Mask mask,
            List<Classifier.Prediction> labels) {
        this.description = description;
        width = size[0];
        height = size[1];
        this.detections = Collections.unmodifiableList(detections);
        this.landmarks = Collections.unmodifiableList(landmarks);
        this.mask = mask;
        this.labels = Collections.unmodifiableList(labels);
    }

    static Found ofDetections(Description description, int[] size, List<Detection> things) {
        return new Found(description, size, things, Collections.<Landmarks>emptyList(), null, noLabels());
    }

    static Found ofLandmarks(Description description, int[] size, List<Landmarks> things) {
        return new Found(description, size, Collections.<Detection>emptyList(), things, null, noLabels());
    }

    static Found ofMask(Description description, int[] size, Mask mask) {
        return new Found(description, size, Collections.<Detection>emptyList(), Collections.<Landmarks>emptyList(),
                mask, noLabels());
    }

    static Found ofLabels(Description description, int[] size, List<Classifier.Prediction> labels) {
        return new Found(description, size, Collections.<Detection>emptyList(), Collections.<Landmarks>emptyList(),
                null, labels);
    }

    private static List<Classifier.Prediction> noLabels() {
        return Collections.emptyList();
    }

    /** Returns how many things there are. */
    public int count() {
        return detections.size() + landmarks.size();
    }
}
