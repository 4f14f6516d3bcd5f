package glslinfer.tasks;

import glslinfer.runner.Result;
import glslinfer.runner.Session;
import glslinfer.tasks.Description.SegmentationRules;
import java.util.Arrays;
import java.util.Map;

/** Finds the pixels of an object with a network that has a mask as output. */
final class Segmenter extends Task.Whole {
    private final SegmentationRules rules;

    Segmenter(Description description, Session session) {
        super(description, session);
        rules = description.segmentation;
        int[] shape = output(rules.mask).shape();
        if (shape.length != 2 && shape.length != 3) {
            throw wrong("output '" + rules.mask + "' has the shape " + Arrays.toString(shape)
                    + "; a mask is (height, width[, classes])");
        }
        if (shape.length == 3 && rules.channel >= shape[2]) {
            throw wrong("'channel' is " + rules.channel + "; output '" + rules.mask + "' has " + shape[2]
                    + ", from 0 on");
        }
    }

    @Override
    Found found(Map<String, Result> outputs) {
        return Found.ofMask(description, size, new Mask(outputs.get(rules.mask), rules, input, size[0], size[1]));
    }
}
