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
    private static final double SAME = 0.4;
    private static final int SEARCH = 15;

    private final LandmarkRules rules;
    private final Detector detector;

    /** Cuts of the next frame. */
    private List<Cut> cuts = new ArrayList<Cut>();

    private int since;

    // State of this frame: unread cuts, results, and whether the detector has run or must run.
    private List<Cut> left = new ArrayList<Cut>();
    private List<Landmarks> found = new ArrayList<Landmarks>();
    private boolean followed;
    private boolean searched;
    private boolean searching;
    private boolean done = true;
    private Cut now;

    Landmarker(Description description, Session session, Detector detector) {
        super(description, session);
        this.detector = detector;
        rules = description.landmarks;
        int number = rows(Collections.singletonList(rules.points), rules.dimensions);
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
            check("'lines'", line, number);
        }
        for (int[] pair : rules.fine) {
            check("'fine'", pair, number);
        }
        if (rules.follow != null) {
            check("'follow'", rules.follow, number);
        }
        check("'cut'", rules.cut, detector.description.detection.points.size());
    }

    private void check(String where, Region region, int number) {
        check(where, region.begin, number);
        check(where, region.end, number);
        check(where, region.points, number);
    }

    private void check(String where, int[] indices, int number) {
        for (int index : indices) {
            if (index >= number) {
                throw wrong(where + " names point " + index + "; there are " + number + ", from 0 on");
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
        followed = film && rules.follow != null;
        left = followed ? cuts : new ArrayList<Cut>();
        found = new ArrayList<Landmarks>();
        searched = false;
        done = false;
        since += followed ? 1 : 0;
    }

    @Override
    public Step next() {
        while (!done) {
            while (!left.isEmpty()) {
                now = left.get(0);
                left = left.subList(1, left.size());
                if (now.reaches(size[0], size[1])) {
                    return new Step(session, input, now);
                }
            }
            if (!searched && (found.isEmpty() || found.size() < rules.most && since >= SEARCH)) {
                searched = true;
                searching = true;
                since = 0;
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
        if (searching) {
            searching = false;
            detector.take(outputs);
            left = new ArrayList<Cut>();
            List<Detection> detections = detector.found().detections;
            for (Detection detection : detections.subList(0, Math.min(rules.most, detections.size()))) {
                Cut cut = Cut.of(rules.cut, detection);
                boolean isKnown = false;
                for (Landmarks item : found) {
                    isKnown |= cut.overlap(item.cut) >= SAME;
                }
                if (!isKnown && left.size() < rules.most - found.size()) {
                    left.add(cut);
                }
            }
            return;
        }
        Landmarks item = points(outputs, now);
        if (item != null) {
            found.add(item);
        }
    }

    @Override
    public Found found() {
        return Found.ofLandmarks(description, size, found);
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
        double wide = rules.unit == 0 ? input.width() : rules.unit;
        double high = rules.unit == 0 ? input.height() : rules.unit;
        double[][] points = new double[numbers.length / rules.dimensions][rules.dimensions];
        for (int i = 0; i < points.length; i++) {
            int at = i * rules.dimensions;
            double[] position = cut.toPicture(numbers[at] / wide, numbers[at + 1] / high);
            points[i][0] = position[0];
            points[i][1] = position[1];
            for (int k = 2; k < rules.dimensions; k++) {
                points[i][k] = numbers[at + k] * (cut.width / wide);
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
        for (Landmarks item : found) {
            Cut cut = Cut.around(rules.follow, item.points);
            boolean usable = cut.usable();
            for (Cut other : out) {
                usable &= cut.overlap(other) < SAME;
            }
            if (usable) {
                out.add(cut);
            }
        }
        return out;
    }
}
