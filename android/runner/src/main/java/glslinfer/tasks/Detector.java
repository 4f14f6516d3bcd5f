package glslinfer.tasks;

import glslinfer.runner.Fit;
import glslinfer.runner.Result;
import glslinfer.runner.Session;
import glslinfer.tasks.Boxes.Box;
import glslinfer.tasks.Description.DetectionRules;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Finds objects with a network such as SSD, which has a score and a box for each anchor. */
final class Detector extends Task.Whole {
    private final DetectionRules rules;
    private final float[] anchors;
    private final int columns;

    Detector(Description description, Session session) {
        super(description, session);
        rules = description.detection;
        anchors = Anchors.of(rules.anchors, input.height(), input.width());
        columns = 4 + 2 * rules.points.size();
        check("boxes", rules.boxes, columns);
        check("scores", rules.scores, rules.labels.size() + (rules.background ? 1 : 0));
    }

    private void check(String name, List<String> names, int width) {
        int rows = rows(names, width);
        if (rows != anchors.length / 4) {
            String list = names.toString();
            throw wrong(list.substring(1, list.length() - 1) + ": " + rows + " rows of " + width + " numbers for the "
                    + name + " of " + anchors.length / 4 + " anchors; correct 'anchors', 'points' or 'labels'");
        }
    }

    @Override
    Found found(Map<String, Result> outputs) {
        float[] scores = concatenated(outputs, rules.scores);
        float[] raw = concatenated(outputs, rules.boxes);
        int[] pixels = {input.width(), input.height()};
        List<Box> likely = Boxes.decode(rules, scores, raw, columns, anchors, pixels);
        List<Box> boxes = new ArrayList<Box>();
        for (int index = 0; index < (rules.exclusive ? 1 : rules.labels.size()); index++) {
            List<Box> group = new ArrayList<Box>();
            for (Box box : likely) {
                if (rules.exclusive || box.index == index) {
                    group.add(box);
                }
            }
            boxes.addAll(Boxes.suppress(group, rules.overlap, rules.most, rules.weighted));
        }
        Boxes.sort(boxes);
        Fit.Place place = input.fit.place(size[0], size[1], input.width(), input.height());
        double scaleX = (double) place.width / place.toWidth;
        double scaleY = (double) place.height / place.toHeight;
        List<Detection> detections = new ArrayList<Detection>();
        for (Box box : boxes.subList(0, Math.min(rules.most, boxes.size()))) {
            double[] numbers = box.numbers.clone();
            for (int i = 0; i < numbers.length; i += 2) {
                numbers[i] = (numbers[i] * pixels[0] - place.toLeft) * scaleX + place.left;
                numbers[i + 1] = (numbers[i + 1] * pixels[1] - place.toTop) * scaleY + place.top;
            }
            detections.add(new Detection(numbers, box.score, rules.labels.get(box.index), box.index));
        }
        return Found.ofDetections(description, size, detections);
    }

    private static float[] concatenated(Map<String, Result> outputs, List<String> names) {
        List<float[]> parts = new ArrayList<float[]>();
        for (String name : names) {
            parts.add(outputs.get(name).data);
        }
        return parts.size() == 1 ? parts.get(0) : Boxes.concatenated(parts);
    }
}
