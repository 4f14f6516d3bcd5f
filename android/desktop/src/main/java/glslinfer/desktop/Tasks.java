package glslinfer.desktop;

import glslinfer.runner.Bundle;
import glslinfer.runner.Classifier;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Picture;
import glslinfer.tasks.Cut;
import glslinfer.tasks.Detection;
import glslinfer.tasks.Found;
import glslinfer.tasks.Landmarks;
import glslinfer.tasks.Mask;
import glslinfer.tasks.Task;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Tasks on a Linux machine: results for each image of a list, as lines of JSON. */
final class Tasks {
    private Tasks() {}

    /**
     * Processes images; with {@code film} each is the next frame. {@code folders}: of tasks and bundles, separated by
     * colons.
     */
    static void look(String folders, String name, boolean film, List<Picture> pictures) {
        Main.makeContext();
        Task task = Task.open(name, new Folders(folders), new Device(new DesktopGl()));
        for (Picture picture : pictures) {
            System.out.println(json(film ? task.follow(picture) : task.run(picture)));
        }
        task.close();
    }

    /** Opens each task, and prints its error. */
    static void check(String folders, List<String> names) {
        Main.makeContext();
        Device device = new Device(new DesktopGl());
        for (String name : names) {
            String wrong = "";
            try {
                Task.open(name, new Folders(folders), device).close();
            } catch (Errors.InputError error) {
                wrong = error.getMessage();
            }
            System.out.println(wrong.replace("\n", "\\n"));
        }
    }

    private static final class Folders implements Task.Files {
        private final String[] folders;

        Folders(String folders) {
            this.folders = folders.split(":");
        }

        @Override
        public byte[] task(String name) {
            try {
                return Files.readAllBytes(find(name + ".json"));
            } catch (IOException error) {
                throw new Errors.InputError(name + ".json: cannot be read");
            }
        }

        @Override
        public Bundle bundle(String model) {
            Path file = find(model.endsWith(".glslnn") ? model : model + ".glslnn");
            try (InputStream stream = Files.newInputStream(file)) {
                return Bundle.read(stream, file.toString());
            } catch (IOException error) {
                throw new Errors.InputError(file + ": cannot be read");
            }
        }

        private Path find(String name) {
            for (String folder : folders) {
                if (Files.exists(Paths.get(folder, name))) {
                    return Paths.get(folder, name);
                }
            }
            throw new Errors.InputError(name + ": is in none of " + Arrays.toString(folders));
        }
    }

    private static String json(Found result) {
        List<String> items = new ArrayList<String>();
        for (Detection detection : result.detections) {
            double[] box = {detection.left, detection.top, detection.right, detection.bottom};
            items.add("{\"box\": " + Arrays.toString(box) + ", \"score\": " + detection.score + ", \"label\": "
                    + Main.quoted(detection.label) + ", \"points\": " + Arrays.deepToString(detection.points) + "}");
        }
        for (Landmarks landmarks : result.landmarks) {
            Cut cut = landmarks.cut;
            double[] numbers = {cut.x, cut.y, cut.width, cut.height, cut.angle};
            List<String> attributes = new ArrayList<String>();
            for (String name : landmarks.attributes.keySet()) {
                attributes.add(Main.quoted(name) + ": " + landmarks.attributes.get(name));
            }
            items.add("{\"points\": " + Arrays.deepToString(landmarks.points) + ", \"score\": " + landmarks.score
                    + ", \"cut\": " + Arrays.toString(numbers) + ", \"attributes\": {" + String.join(", ", attributes)
                    + "}}");
        }
        for (Classifier.Prediction label : result.labels) {
            items.add("{\"label\": " + Main.quoted(label.label) + ", \"probability\": " + label.probability + "}");
        }
        Mask mask = result.mask;
        if (mask != null) {
            List<String> alpha = new ArrayList<String>();
            for (byte value : mask.alpha(result.width, result.height)) {
                alpha.add(String.valueOf(value & 255));
            }
            items.add("{\"alpha\": [" + String.join(", ", alpha) + "]}");
        }
        return "[" + String.join(", ", items) + "]";
    }
}
