package glslinfer.app;

import glslinfer.runner.Bundle;
import glslinfer.runner.Errors;
import glslinfer.runner.Input;
import glslinfer.tasks.Description;
import glslinfer.tasks.DescriptionReader;
import glslinfer.tasks.Task;
import java.util.HashMap;
import java.util.Map;

/** A task in the app, with all files loaded: its own, its detector's, and their bundles. */
final class TaskFiles implements Task.Files {
    final String name;
    private final Map<String, byte[]> tasks = new HashMap<String, byte[]>();
    private final Map<String, Bundle> bundles = new HashMap<String, Bundle>();

    /** @throws Errors.InputError a file is missing, unreadable or unusable */
    TaskFiles(Models models, String name) {
        this.name = name;
        for (String next = name; next != null && !tasks.containsKey(next); ) {
            byte[] text = models.task(next);
            tasks.put(next, text);
            Description description = DescriptionReader.read(text, next);
            bundles.put(description.model, models.bundleOfTask(description.model));
            next = description.detector();
        }
    }

    @Override
    public byte[] task(String name) {
        return tasks.get(name);
    }

    @Override
    public Bundle bundle(String model) {
        return bundles.get(model);
    }

    /** Returns the largest side of its networks' image inputs, in pixels. */
    int side() {
        int side = 1;
        for (Bundle bundle : bundles.values()) {
            for (Input input : bundle.manifest.inputs) {
                side = input.isPicture() ? Math.max(side, Math.max(input.width(), input.height())) : side;
            }
        }
        return side;
    }
}
