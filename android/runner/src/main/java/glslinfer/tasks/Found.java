package glslinfer.tasks;

import glslinfer.runner.Classifier;
import java.util.Collections;
import java.util.List;

/** Results of a task for an image: objects, best first, or a mask, or labels. The other lists are empty. */
public final class Found {
    /** The task, with its rules for drawing. */
    public final Description description;

    /** Size of the image, in pixels. */
    public final int width;

    public final int height;

    public final List<Detection> detections;
    public final List<Landmarks> landmarks;

    /** Mask of a segmentation, otherwise null. */
    public final Mask mask;

    /** Labels of a classification. */
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

    static Found ofDetections(Description description, int[] size, List<Detection> detections) {
        return new Found(description, size, detections, Collections.<Landmarks>emptyList(), null, noLabels());
    }

    static Found ofLandmarks(Description description, int[] size, List<Landmarks> landmarks) {
        return new Found(description, size, Collections.<Detection>emptyList(), landmarks, null, noLabels());
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

    /** Returns the number of objects. */
    public int count() {
        return detections.size() + landmarks.size();
    }
}
