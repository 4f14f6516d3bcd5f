package glslinfer.tasks;

import glslinfer.runner.Classifier;
import glslinfer.runner.Output;
import glslinfer.runner.Result;
import glslinfer.runner.Session;
import java.util.Map;

/** Classifies images. */
final class Labeller extends Task.Whole {
    private final Output classes;

    Labeller(Description description, Session session) {
        super(description, session);
        classes = session.bundle.manifest.classesOutput();
        if (classes == null) {
            throw wrong("it has no classes; choose another model");
        }
    }

    @Override
    Found found(Map<String, Result> outputs) {
        float[] numbers = outputs.get(classes.name).data;
        return Found.ofLabels(description, size, Classifier.rank(session.bundle, numbers, description.top));
    }
}
