package glslinfer.tasks;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A task: its bundle, the meaning of its outputs, and drawing. {@link DescriptionReader} reads it from a file. */
public final class Description {
    public static final String DETECTION = "detection";
    public static final String LANDMARKS = "landmarks";
    public static final String SEGMENTATION = "segmentation";
    public static final String CLASSIFICATION = "classification";

    /** Name of the file, without suffix. */
    public final String name;

    /** One of the four kinds above. */
    public final String kind;

    /** Short description of the objects that it finds. */
    public final String what;

    /** A bundle: a file {@code *.glslnn} in the folder of the task, or a name for {@code glsl-infer get}. */
    public final String model;

    /** Rules of a detection, otherwise null. */
    public final DetectionRules detection;

    /** Rules of landmarks, otherwise null. */
    public final LandmarkRules landmarks;

    /** Rules of a segmentation, otherwise null. */
    public final SegmentationRules segmentation;

    /** Number of labels of a classification. */
    public final int top;

    Description(String name, String kind, String what, String model, Object rules) {
        this.name = name;
        this.kind = kind;
        this.what = what;
        this.model = model;
        detection = rules instanceof DetectionRules ? (DetectionRules) rules : null;
        landmarks = rules instanceof LandmarkRules ? (LandmarkRules) rules : null;
        segmentation = rules instanceof SegmentationRules ? (SegmentationRules) rules : null;
        top = rules instanceof Integer ? (Integer) rules : 0;
    }

    /** Returns the name of the task that detects the objects for landmarks; null if there is none. */
    public String detector() {
        if (landmarks == null) {
            return null;
        }
        String name = landmarks.detector;
        return name.endsWith(".json") ? name.substring(0, name.length() - ".json".length()) : name;
    }

    /** Decoding of a bundle's outputs to boxes; docs/reference/task-files.md explains all fields. */
    public static final class DetectionRules {
        List<String> boxes;
        List<String> scores;
        List<Anchors.Level> anchors;
        double[] units = {1, 1, 1, 1};
        boolean rowsFirst;
        boolean exponential;
        boolean background;
        String activation;
        double threshold;
        double overlap;
        boolean weighted;
        boolean exclusive;
        int most;

        /** Indices of two points, the centre of a circle and a point on it, whose square replaces the box; or null. */
        int[] body;

        public List<String> labels = Collections.singletonList("");
        public List<String> points = Collections.emptyList();
        public int[][] lines;

        DetectionRules() {}
    }

    /** The cut for known points. */
    static final class Region {
        int[] begin = {};
        int[] end = {};
        int[] points = {};
        double direction;
        double scale;
        double[] shift = {0, 0};
        boolean square;
    }

    /** Decoding of the outputs for a cut to points. */
    public static final class LandmarkRules {
        String detector;
        Region cut;

        /** Null if the detector processes every frame. */
        Region follow;

        String points;
        int dimensions;

        /** Value of x and y at the right and lower edge; 0 for the cut's pixels. */
        double unit;

        /** Output with the presence of an object; null if it is always present. */
        String presence;

        boolean sigmoid;
        double threshold;
        int most;
        Map<String, String> attributes;
        public int[][] lines;
        public int[][] fine;

        LandmarkRules() {}
    }

    /** Decoding of an output to a mask. */
    public static final class SegmentationRules {
        String mask;
        String activation;
        int channel;
        double[] edge = {0.3, 0.7};

        SegmentationRules() {}
    }
}
