package glslinfer.tasks;

import glslinfer.runner.Result;
import glslinfer.runner.Session;
import glslinfer.tasks.Description.LandmarkRules;
import glslinfer.tasks.Description.Region;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds points of objects: a detector locates them, and a network reads the cut around each. In a video, each cut is
 * around the points in the previous frame. The detector runs if no object is followed, and periodically while there are
 * fewer objects than the limit.
 */
final class Landmarker extends Task {
    /** Intersection over union from which two cuts show the same object. */
    private static final double SAME_OBJECT_OVERLAP = 0.4;

    /** Frames between two runs of the detector while there are fewer objects than the limit. */
    private static final int DETECTION_INTERVAL = 15;

    private final LandmarkRules rules;
    private final Detector detector;

    /** Cuts of the next frame. */
    private List<Cut> cuts = new ArrayList<Cut>();

    private int framesSinceDetection;

    // State of this frame: unread cuts, results, and the detector's state.
    private List<Cut> unreadCuts = new ArrayList<Cut>();
    private List<Landmarks> results = new ArrayList<Landmarks>();
    private boolean detectorRan;
    private boolean detectorRunning;
    private boolean done = true;
    private Cut currentCut;

    Landmarker(Description description, Session session, Detector detector) {
        super(description, session);
        this.detector = detector;
        rules = description.landmarks;
        int pointCount = rows(Collections.singletonList(rules.points), rules.dimensions);
        List<String> single = new ArrayList<String>(rules.attributes.values());
        if (rules.presence != null) {
            single.add(0, rules.presence);
        }
        for (String name : single) {
            int rows = rows(Collections.singletonList(name), 1);
            if (rows != 1) {
                throw wrong("output '" + name + "' has " + rows + " numbers, where one is needed");
            }
        }
        for (int[] line : rules.lines) {
            check("'lines'", line, pointCount);
        }
        for (int[] pair : rules.fine) {
            check("'fine'", pair, pointCount);
        }
        if (rules.follow != null) {
            check("'follow'", rules.follow, pointCount);
        }
        check("'cut'", rules.cut, detector.description.detection.points.size());
    }

    private void check(String where, Region region, int pointCount) {
        check(where, region.begin, pointCount);
        check(where, region.end, pointCount);
        check(where, region.points, pointCount);
    }

    private void check(String where, int[] indices, int pointCount) {
        for (int index : indices) {
            if (index >= pointCount) {
                throw wrong(where + " names point " + index + "; there are " + pointCount + ", from 0 on");
            }
        }
    }

    @Override
    public List<Session> sessions() {
        return Arrays.asList(session, detector.session);
    }

    @Override
    public void close() {
        detector.close();
        super.close();
    }

    @Override
    void begin(boolean film) {
        boolean followed = film && rules.follow != null;
        unreadCuts = followed ? cuts : new ArrayList<Cut>();
        results = new ArrayList<Landmarks>();
        detectorRan = false;
        done = false;
        framesSinceDetection += followed ? 1 : 0;
    }

    @Override
    public Step next() {
        while (!done) {
            while (!unreadCuts.isEmpty()) {
                currentCut = unreadCuts.get(0);
                unreadCuts = unreadCuts.subList(1, unreadCuts.size());
                if (currentCut.reaches(size[0], size[1])) {
                    return new Step(session, input, currentCut);
                }
            }
            boolean searches = results.size() < rules.most && framesSinceDetection >= DETECTION_INTERVAL;
            if (!detectorRan && (results.isEmpty() || searches)) {
                detectorRan = true;
                detectorRunning = true;
                framesSinceDetection = 0;
                detector.begin(size[0], size[1], false);
                return detector.next();
            }
            done = true;
            cuts = rules.follow == null ? new ArrayList<Cut>() : distinct();
        }
        return null;
    }

    @Override
    public void take(Map<String, Result> outputs) {
        if (detectorRunning) {
            detectorRunning = false;
            detector.take(outputs);
            unreadCuts = new ArrayList<Cut>();
            List<Detection> detections = detector.found().detections;
            for (Detection detection : detections.subList(0, Math.min(rules.most, detections.size()))) {
                Cut cut = Cut.of(rules.cut, detection);
                boolean isKnown = false;
                for (Landmarks item : results) {
                    isKnown |= cut.overlap(item.cut) >= SAME_OBJECT_OVERLAP;
                }
                if (!isKnown && unreadCuts.size() < rules.most - results.size()) {
                    unreadCuts.add(cut);
                }
            }
            return;
        }
        Landmarks item = points(outputs, currentCut);
        if (item != null) {
            results.add(item);
        }
    }

    @Override
    public Found found() {
        return Found.ofLandmarks(description, size, results);
    }

    /** Returns the landmarks for the network's outputs; null if the object is absent. */
    private Landmarks points(Map<String, Result> outputs, Cut cut) {
        double score = 1;
        if (rules.presence != null) {
            double number = outputs.get(rules.presence).data[0];
            score = rules.sigmoid ? Boxes.sigmoid(number) : number;
        }
        float[] numbers = outputs.get(rules.points).data;
        for (float number : numbers) {
            if (Float.isNaN(number) || Float.isInfinite(number)) {
                return null;
            }
        }
        if (!(score >= rules.threshold)) {
            return null;
        }
        double unitsAcross = rules.unit == 0 ? input.width() : rules.unit;
        double unitsDown = rules.unit == 0 ? input.height() : rules.unit;
        double[][] points = new double[numbers.length / rules.dimensions][rules.dimensions];
        for (int i = 0; i < points.length; i++) {
            int offset = i * rules.dimensions;
            double[] position = cut.toPicture(numbers[offset] / unitsAcross, numbers[offset + 1] / unitsDown);
            points[i][0] = position[0];
            points[i][1] = position[1];
            for (int k = 2; k < rules.dimensions; k++) {
                points[i][k] = numbers[offset + k] * (cut.width / unitsAcross);
            }
        }
        Map<String, Double> attributes = new HashMap<String, Double>();
        for (Map.Entry<String, String> entry : rules.attributes.entrySet()) {
            attributes.put(entry.getKey(), (double) outputs.get(entry.getValue()).data[0]);
        }
        return new Landmarks(points, score, attributes, cut);
    }

    /** Returns the cuts for the next frame, without those of an object that another one shows. */
    private List<Cut> distinct() {
        List<Cut> out = new ArrayList<Cut>();
        for (Landmarks item : results) {
            Cut cut = Cut.around(rules.follow, item.points);
            boolean usable = cut.usable();
            for (Cut other : out) {
                usable &= cut.overlap(other) < SAME_OBJECT_OVERLAP;
            }
            if (usable) {
                out.add(cut);
            }
        }
        return out;
    }
}
