package glslinfer.tasks;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Errors.InputError;
import glslinfer.runner.Fields;
import glslinfer.runner.Json;
import glslinfer.tasks.Description.DetectionRules;
import glslinfer.tasks.Description.LandmarkRules;
import glslinfer.tasks.Description.Region;
import glslinfer.tasks.Description.SegmentationRules;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Strict reader of tasks from JSON files; docs/reference/task-files.md explains all keys. */
public final class DescriptionReader {
    private static final int MOST_POINTS = 1 << 14;
    private static final double ANY = -Float.MAX_VALUE;
    private static final String[] ACTIVATIONS = {"sigmoid", "softmax", "none"};

    private final Fields fields;

    private DescriptionReader(Fields fields) {
        this.fields = fields;
    }

    /**
     * Reads a task.
     *
     * @param name name of the file, without {@code .json}
     * @throws InputError it is not JSON, or is invalid; with the file and the key
     */
    public static Description read(byte[] utf8, String name) {
        try {
            return new DescriptionReader(new Fields(Json.parse(utf8, name), "the task")).description(name);
        } catch (BundleError error) {
            throw new InputError(name + ".json: " + error.getMessage() + "; docs/reference/task-files.md has all keys");
        }
    }

    private Description description(String name) {
        String kind = fields.text("task", Description.DETECTION, Description.LANDMARKS, Description.SEGMENTATION,
                Description.CLASSIFICATION);
        String what = fields.has("what") ? fields.text("what") : "";
        String model = fields.text("model");
        Object rules = kind.equals(Description.DETECTION)
                ? detection()
                : kind.equals(Description.LANDMARKS)
                        ? landmarks()
                        : kind.equals(Description.SEGMENTATION) ? segmentation() : integer("top", 5, 1, 1000);
        fields.done();
        return new Description(name, kind, what, model, rules);
    }

    private DetectionRules detection() {
        DetectionRules rules = new DetectionRules();
        if (fields.has("points")) {
            rules.points = fields.texts("points");
        }
        if (fields.has("labels")) {
            rules.labels = fields.texts("labels");
        }
        require(!rules.labels.isEmpty(), "'labels' is empty; give one for each class");
        if (fields.has("units")) {
            rules.units = numbers(fields.any("units"), "'units'", 4, 1e-9);
        }
        rules.rowsFirst = word("order", "xywh", "xywh", "yxhw").equals("yxhw");
        rules.exponential = word("sizes", "linear", "linear", "exponential").equals("exponential");
        rules.anchors = new ArrayList<Anchors.Level>();
        for (Object item : fields.items("anchors")) {
            rules.anchors.add(level(item, "'anchors'[" + rules.anchors.size() + "]"));
        }
        require(!rules.anchors.isEmpty(), "'anchors' is empty; give a group for each feature map");
        if (fields.has("body")) {
            rules.body = indices(fields.any("body"), "'body'", rules.points.size());
            require(rules.body.length == 2, "'body' needs two points: the middle and one on the circle");
        }
        rules.boxes = outputs("boxes");
        rules.scores = outputs("scores");
        rules.background = truth(fields, "'background'", "background", false);
        rules.activation = word("activation", "sigmoid", ACTIVATIONS);
        rules.threshold = share("threshold", 0.5);
        rules.overlap = share("overlap", 0.3);
        rules.weighted = word("merge", "weighted", "weighted", "best").equals("weighted");
        rules.exclusive = truth(fields, "'exclusive'", "exclusive", false);
        rules.most = integer("most", 100, 1, 1000);
        rules.lines = lines("lines", rules.points.size());
        share("turned", 0); // for single photographs, on the command line
        return rules;
    }

    private static Anchors.Level level(Object value, String where) {
        Fields fields = new Fields(value, where);
        int[] range = {1, 4096};
        int stride = fields.has("stride") ? fields.integer("stride", range) : 0;
        int[] cells = null;
        if (fields.has("cells")) {
            List<Object> pair = items(fields.any("cells"), where + ": 'cells'", 2);
            cells = new int[] {
                Fields.integer(pair.get(0), where + ": 'cells'", range),
                Fields.integer(pair.get(1), where + ": 'cells'", range)
            };
        }
        require((stride == 0) != (cells == null), where + " needs 'stride' in pixels, or 'cells': [rows, columns]");
        List<double[]> sizes = new ArrayList<double[]>();
        if (fields.has("scale")) {
            double scale = fields.number("scale", 1e-6);
            List<Object> aspects =
                    fields.has("aspects") ? fields.items("aspects") : Collections.<Object>singletonList(1.0);
            for (Object item : aspects) {
                double aspect = Fields.number(item, where + ": 'aspects'[" + sizes.size() + "]", 1e-3);
                sizes.add(new double[] {scale * Math.sqrt(aspect), scale / Math.sqrt(aspect)});
            }
        } else {
            for (Object item : fields.items("sizes")) {
                sizes.add(numbers(item, where + ": 'sizes'[" + sizes.size() + "]", 2, 1e-6));
            }
        }
        require(!sizes.isEmpty(), where + " has no sizes; give [width, height] of each box of a cell");
        fields.done();
        return new Anchors.Level(sizes.toArray(new double[0][]), stride, cells);
    }

    private LandmarkRules landmarks() {
        LandmarkRules rules = new LandmarkRules();
        rules.detector = fields.text("detector");
        rules.cut = region(fields.any("cut"), "'cut'");
        rules.points = fields.text("points");
        rules.follow = fields.has("follow") ? region(fields.any("follow"), "'follow'") : null;
        rules.dimensions = integer("dimensions", 2, 2, 16);
        rules.unit = fields.has("unit") ? Fields.number(fields.any("unit"), "'unit'", 1e-9) : 0;
        rules.presence = fields.has("presence") ? fields.text("presence") : null;
        rules.sigmoid = word("activation", "sigmoid", "sigmoid", "none").equals("sigmoid");
        rules.threshold = share("threshold", 0.5);
        rules.most = integer("most", 4, 1, 100);
        rules.attributes = new LinkedHashMap<String, String>();
        if (fields.has("attributes")) {
            for (Map.Entry<String, Object> entry : fields.mapping("attributes").entrySet()) {
                String where = "'attributes': '" + entry.getKey() + "'";
                rules.attributes.put(entry.getKey(), Fields.text(entry.getValue(), where));
            }
        }
        rules.lines = lines("lines", MOST_POINTS);
        rules.fine = lines("fine", MOST_POINTS);
        for (int i = 0; i < rules.fine.length; i++) {
            int length = rules.fine[i].length;
            require(length == 2, "'fine'[" + i + "] has " + length + " entries, not 2");
        }
        return rules;
    }

    private SegmentationRules segmentation() {
        SegmentationRules rules = new SegmentationRules();
        rules.mask = fields.text("mask");
        rules.activation = word("activation", "none", ACTIVATIONS);
        rules.channel = integer("channel", 0, 0, 4095);
        if (fields.has("edge")) {
            rules.edge = numbers(fields.any("edge"), "'edge'", 2, 0);
        }
        require(rules.edge[0] < rules.edge[1],
                "'edge' is [" + rules.edge[0] + ", " + rules.edge[1] + "]; the second number must be the larger one");
        return rules;
    }

    private static Region region(Object value, String where) {
        Fields fields = new Fields(value, where);
        Region region = new Region();
        if (fields.has("shift")) {
            region.shift = numbers(fields.any("shift"), where + ": 'shift'", 2, ANY);
        }
        if (fields.has("from")) {
            region.begin = indices(fields.any("from"), where + ": 'from'", MOST_POINTS);
        }
        if (fields.has("to")) {
            region.end = indices(fields.any("to"), where + ": 'to'", MOST_POINTS);
        }
        region.direction = fields.has("direction") ? fields.number("direction", ANY) : 0;
        if (fields.has("points")) {
            region.points = indices(fields.any("points"), where + ": 'points'", MOST_POINTS);
        }
        region.scale = fields.has("scale") ? fields.number("scale", 0.01) : 1.5;
        region.square = truth(fields, where + ": 'square'", "square", true);
        require((region.begin.length == 0) == (region.end.length == 0),
                where + " needs 'from' and 'to', or neither for cuts that stand upright");
        fields.done();
        return region;
    }

    private String word(String key, String otherwise, String... allowed) {
        return fields.has(key) ? fields.text(key, allowed) : otherwise;
    }

    private int integer(String key, int otherwise, int low, int high) {
        return fields.has(key) ? fields.integer(key, new int[] {low, high}) : otherwise;
    }

    private double share(String key, double otherwise) {
        double share = fields.has(key) ? fields.number(key, 0) : otherwise;
        require(share <= 1, "'" + key + "' is " + share + ", not a number from 0 to 1");
        return share;
    }

    private static boolean truth(Fields fields, String where, String key, boolean otherwise) {
        Object value = fields.has(key) ? fields.any(key) : Boolean.valueOf(otherwise);
        require(value instanceof Boolean, where + " is " + Fields.shown(value) + ", not true or false");
        return (Boolean) value;
    }

    private static List<Object> items(Object value, String where, int length) {
        List<Object> found = Fields.items(value, where);
        require(found.size() == length, where + " has " + found.size() + " entries, not " + length);
        return found;
    }

    private static double[] numbers(Object value, String where, int length, double low) {
        double[] out = new double[length];
        List<Object> found = items(value, where, length);
        for (int i = 0; i < length; i++) {
            out[i] = Fields.number(found.get(i), where + "[" + i + "]", low);
        }
        return out;
    }

    private static int[] indices(Object value, String where, int most) {
        List<Object> found = value instanceof Long ? Collections.singletonList(value) : Fields.items(value, where);
        require(!found.isEmpty() && most > 0,
                where + " needs points by their indices, and 'points' to have names for them");
        int[] out = new int[found.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = Fields.integer(found.get(i), where + "[" + i + "]", new int[] {0, most - 1});
        }
        return out;
    }

    private int[][] lines(String key, int most) {
        List<Object> given = fields.has(key) ? fields.items(key) : Collections.emptyList();
        int[][] out = new int[given.size()][];
        for (int i = 0; i < out.length; i++) {
            out[i] = indices(given.get(i), "'" + key + "'[" + i + "]", most);
        }
        return out;
    }

    private List<String> outputs(String key) {
        Object value = fields.any(key);
        List<Object> given = value instanceof String
                ? Collections.singletonList(value)
                : Fields.items(value, "'" + key + "'");
        require(!given.isEmpty(), "'" + key + "' is empty; name the outputs");
        List<String> names = new ArrayList<String>();
        for (Object one : given) {
            names.add(Fields.text(one, "'" + key + "'[" + names.size() + "]"));
        }
        return names;
    }

    private static void require(boolean fine, String otherwise) {
        if (!fine) {
            throw new BundleError(otherwise);
        }
    }
}
