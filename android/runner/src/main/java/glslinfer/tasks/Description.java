package glslinfer.tasks;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A task: which bundle, what its numbers mean, what is drawn. {@link DescriptionReader} reads it of a file. */
public final class Description {
    public static final String DETECTION = "detection";
    public static final String LANDMARKS = "landmarks";
    public static final String SEGMENTATION = "segmentation";
    public static final String CLASSIFICATION = "classification";

    /** Of the file, without suffix. */
    public final String name;

    /** One of the four above. */
    public final String kind;

    /** What it finds, in a few words. */
    public final String what;

    /** A bundle: a file {@code *.glslnn} beside the task's, or a name that {@code glsl-infer get} knows. */
    public final String model;

    /** Of a detection, else null. */
    public final DetectionRules detection;

    /** Of landmarks, else null. */
    public final LandmarkRules landmarks;

    /** Of a segmentation, else null. */
    public final SegmentationRules segmentation;

    /** How many labels a classification tells. */
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

    /** Returns the name of the task that finds what landmarks are of; null where there is none. */
    public String detector() {
        if (landmarks == null) {
            return null;
        }
        String name = landmarks.detector;
        return name.endsWith(".json") ? name.substring(0, name.length() - ".json".length()) : name;
    }

    /** How boxes come out of a bundle; docs/reference/task-files.md explains every field. */
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

        /** Two points, the middle of a circle and one on it, whose square is the box; or null. */
        int[] body;

        public List<String> labels = Collections.singletonList("");
        public List<String> points = Collections.emptyList();
        public int[][] lines;

        DetectionRules() {}
    }

    /** Which cut belongs to points that are known. */
    static final class Region {
        int[] begin = {};
        int[] end = {};
        int[] points = {};
        double direction;
        double scale;
        double[] shift = {0, 0};
        boolean square;
    }

    /** How points come out of a bundle that reads a cut. */
    public static final class LandmarkRules {
        String detector;
        Region cut;

        /** Null: the detector looks at every frame. */
        Region follow;

        String points;
        int dimensions;

        /** What x and y are at the right and lower edge; 0: the cut's pixels. */
        double unit;

        /** Null: there always is something. */
        String presence;

        boolean sigmoid;
        double threshold;
        int most;
        Map<String, String> attributes;
        public int[][] lines;
        public int[][] fine;

        LandmarkRules() {}
    }

    /** How a mask comes out of a bundle. */
    public static final class SegmentationRules {
        String mask;
        String activation;
        int channel;
        double[] edge = {0.3, 0.7};

        SegmentationRules() {}
    }
}
