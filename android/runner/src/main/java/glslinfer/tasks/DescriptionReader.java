package glslinfer.tasks;

import glslinfer.runner.Described;
import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Errors.InputError;
import glslinfer.runner.Json;
import glslinfer.tasks.Description.DetectionRules;
import glslinfer.tasks.Description.LandmarkRules;
import glslinfer.tasks.Description.Region;
import glslinfer.tasks.Description.SegmentationRules;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Strict reader of tasks from JSON files by their description; docs/reference/task-files.md explains all keys. */
public final class DescriptionReader extends Described {
    private static final List<String> KINDS = Arrays.asList(
            Description.DETECTION, Description.LANDMARKS, Description.SEGMENTATION, Description.CLASSIFICATION);

    private final String name;

    private DescriptionReader(String name) {
        super(TaskFormat.OBJECTS, TaskFormat.TYPES);
        this.name = name;
    }

    /**
     * Reads a task.
     *
     * @param name name of the file, without {@code .json}
     * @throws InputError it is not JSON, or is invalid; with the file and the key
     */
    public static Description read(byte[] utf8, String name) {
        try {
            Object data = Json.parse(utf8, name);
            Object kind = data instanceof Map ? ((Map<?, ?>) data).get("task") : null;
            require(KINDS.contains(kind), "'task' is " + Json.shown(kind) + ", not one of " + KINDS);
            return (Description) new DescriptionReader(name).read(kind, data, "the task");
        } catch (BundleError error) {
            throw new InputError(name + ".json: " + error.getMessage() + "; docs/reference/task-files.md has all keys");
        }
    }

    @Override
    protected Object make(String type, Object fields, String where) {
        switch (type) {
            case Description.DETECTION:
                return description(fields, detection(fields));
            case Description.LANDMARKS:
                return description(fields, landmarks(fields));
            case Description.SEGMENTATION:
                return description(fields, segmentation(fields));
            case Description.CLASSIFICATION:
                return description(fields, get(fields, "top"));
            case "level":
                return level(fields, where);
            case "region":
                return region(fields, where);
            default:
                return fields;
        }
    }

    private Description description(Object fields, Object rules) {
        return new Description(name, get(fields, "task"), get(fields, "what"), get(fields, "model"), rules);
    }

    private static DetectionRules detection(Object fields) {
        DetectionRules rules = new DetectionRules();
        rules.boxes = get(fields, "boxes");
        rules.scores = get(fields, "scores");
        rules.anchors = get(fields, "anchors");
        rules.units = numbers(fields, "units");
        rules.rowsFirst = get(fields, "order").equals("yxhw");
        rules.exponential = get(fields, "sizes").equals("exponential");
        rules.labels = get(fields, "labels");
        rules.background = get(fields, "background");
        rules.activation = get(fields, "activation");
        rules.threshold = get(fields, "threshold");
        rules.overlap = get(fields, "overlap");
        rules.weighted = get(fields, "merge").equals("weighted");
        rules.exclusive = get(fields, "exclusive");
        rules.most = get(fields, "most");
        rules.points = get(fields, "points");
        rules.lines = lines(fields, "lines");
        rules.body = get(fields, "body") == null ? null : indices(fields, "body");
        require(rules.body == null || rules.body.length == 2,
                "'body' needs two points: the middle and one on the circle");
        for (int[] line : rules.lines) {
            checkPoints("lines", line, rules.points.size());
        }
        checkPoints("body", rules.body == null ? new int[0] : rules.body, rules.points.size());
        return rules; // "turned" is for single photographs, on the command line
    }

    private static void checkPoints(String key, int[] indices, int points) {
        for (int index : indices) {
            require(index < points, "'" + key + "' has the point " + index + "; 'points' has names for " + points);
        }
    }

    private static Anchors.Level level(Object fields, String where) {
        Integer stride = get(fields, "stride");
        require((stride == null) != (get(fields, "cells") == null),
                where + " needs 'stride' in pixels, or 'cells': [rows, columns]");
        Double scale = get(fields, "scale");
        List<List<Double>> pairs = get(fields, "sizes");
        require((scale == null) != (pairs == null),
                where + " needs 'sizes', [width, height] of each box of a cell, or 'scale'");
        List<double[]> sizes = new ArrayList<double[]>();
        for (List<Double> pair : pairs == null ? Collections.<List<Double>>emptyList() : pairs) {
            sizes.add(new double[] {pair.get(0), pair.get(1)});
        }
        for (double aspect : scale == null ? new double[0] : numbers(fields, "aspects")) {
            sizes.add(new double[] {scale * Math.sqrt(aspect), scale / Math.sqrt(aspect)});
        }
        double[][] sizeArray = sizes.toArray(new double[0][]);
        return stride == null
                ? Anchors.Level.ofCells(sizeArray, indices(fields, "cells"))
                : Anchors.Level.ofStride(sizeArray, stride);
    }

    private static LandmarkRules landmarks(Object fields) {
        LandmarkRules rules = new LandmarkRules();
        rules.detector = get(fields, "detector");
        rules.cut = get(fields, "cut");
        rules.points = get(fields, "points");
        rules.follow = get(fields, "follow");
        rules.dimensions = get(fields, "dimensions");
        Double unit = get(fields, "unit");
        rules.unit = unit == null ? 0 : unit;
        rules.presence = get(fields, "presence");
        rules.sigmoid = get(fields, "activation").equals("sigmoid");
        rules.threshold = get(fields, "threshold");
        rules.most = get(fields, "most");
        rules.attributes = get(fields, "attributes");
        rules.lines = lines(fields, "lines");
        rules.fine = lines(fields, "fine");
        for (int[] pair : rules.fine) {
            require(pair.length == 2, "'fine' needs pairs of points");
        }
        return rules;
    }

    private static SegmentationRules segmentation(Object fields) {
        SegmentationRules rules = new SegmentationRules();
        rules.mask = get(fields, "mask");
        rules.activation = get(fields, "activation");
        rules.channel = get(fields, "channel");
        rules.edge = numbers(fields, "edge");
        require(rules.edge[0] < rules.edge[1],
                "'edge' is " + Arrays.toString(rules.edge) + "; the second number must be the larger one");
        return rules;
    }

    private static Region region(Object fields, String where) {
        Region region = new Region();
        region.begin = indices(fields, "from");
        region.end = indices(fields, "to");
        region.direction = get(fields, "direction");
        region.points = indices(fields, "points");
        region.scale = get(fields, "scale");
        region.shift = numbers(fields, "shift");
        region.square = get(fields, "square");
        require((region.begin.length == 0) == (region.end.length == 0),
                where + " needs 'from' and 'to', or neither for upright cuts");
        return region;
    }

    /** Returns the value of a key; null if it is missing and has no default. */
    @SuppressWarnings("unchecked")
    private static <T> T get(Object fields, String key) {
        return (T) ((Map<String, Object>) fields).get(key);
    }

    private static double[] numbers(Object fields, String key) {
        List<Double> numbers = get(fields, key);
        double[] out = new double[numbers.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = numbers.get(i);
        }
        return out;
    }

    private static int[] indices(Object fields, String key) {
        List<Integer> indices = get(fields, key);
        return indices(indices == null ? Collections.<Integer>emptyList() : indices);
    }

    private static int[] indices(List<Integer> indices) {
        int[] out = new int[indices.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = indices.get(i);
        }
        return out;
    }

    private static int[][] lines(Object fields, String key) {
        List<List<Integer>> lines = get(fields, key);
        int[][] out = new int[lines.size()][];
        for (int i = 0; i < out.length; i++) {
            out[i] = indices(lines.get(i));
        }
        return out;
    }

    private static void require(boolean fine, String problem) {
        if (!fine) {
            throw new BundleError(problem);
        }
    }
}
