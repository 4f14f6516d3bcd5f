package glslinfer.tasks;

import glslinfer.runner.Bundle;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Errors.InputError;
import glslinfer.runner.Input;
import glslinfer.runner.Output;
import glslinfer.runner.Picture;
import glslinfer.runner.Result;
import glslinfer.runner.Session;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A task that finds something in images: sessions, and the decoding of their outputs. All calls are on the thread of
 * the context.
 *
 * <p>Either {@link #run} and {@link #follow} complete images or, if the image is on the GPU, {@link #begin} a frame,
 * then for each {@link #next} step draw its region into its session's input, run that, and {@link #take} its outputs;
 * {@link #found} returns the results at the end.
 */
public abstract class Task {
    /** Source of tasks and bundles. */
    public interface Files {
        /**
         * Returns the JSON file of a task.
         *
         * @param name without {@code .json}
         * @throws Errors.InputError it does not exist
         */
        byte[] task(String name);

        /**
         * Returns a bundle.
         *
         * @param model a file {@code *.glslnn}, or the name of one
         * @throws Errors.InputError it does not exist, or is unusable
         */
        Bundle bundle(String model);
    }

    /** The next step: an image to draw into a session's input, and its network to run. */
    public static final class Step {
        public final Session session;

        /** The only input of the session. */
        public final Input input;

        /** The cut to draw over the entire input; null for the image with the input's fit. */
        public final Cut cut;

        Step(Session session, Input input, Cut cut) {
            this.session = session;
            this.input = input;
            this.cut = cut;
        }
    }

    public final Description description;
    final Session session;
    final Input input;
    final int[] size = {1, 1};

    Task(Description description, Session session) {
        this.description = description;
        this.session = session;
        List<Input> inputs = session.bundle.manifest.inputs;
        if (inputs.size() != 1 || !inputs.get(0).isPicture()) {
            throw wrong("its model reads " + session.bundle.manifest.inputNames()
                    + "; a task needs one that reads one image alone");
        }
        input = inputs.get(0);
    }

    /**
     * Opens a task and its sessions.
     *
     * @param name name of its file, without {@code .json}
     * @throws Errors.InputError a file is invalid or missing, or does not fit its model; and as {@link Session}
     */
    public static Task open(String name, Files files, Device device) {
        return open(DescriptionReader.read(files.task(name), name), files, device);
    }

    private static Task open(Description description, Files files, Device device) {
        Session session = new Session(device, files.bundle(description.model));
        Task detector = null;
        try {
            if (description.detection != null) {
                return new Detector(description, session);
            }
            if (description.segmentation != null) {
                return new Segmenter(description, session);
            }
            if (description.landmarks == null) {
                return new Labeller(description, session);
            }
            String name = description.detector();
            Description read = DescriptionReader.read(files.task(name), name);
            if (read.detection == null) {
                throw new InputError(description.name + ".json: its detector '" + name + "' is a task for " + read.kind
                        + "; name one for " + Description.DETECTION);
            }
            detector = open(read, files, device);
            return new Landmarker(description, session, (Detector) detector);
        } catch (RuntimeException error) {
            session.close();
            if (detector != null) {
                detector.close();
            }
            throw error;
        }
    }

    /** Returns all its sessions, its own first. */
    public List<Session> sessions() {
        return Collections.singletonList(session);
    }

    /** Frees the GPU resources. */
    public void close() {
        session.close();
    }

    /** Returns the results for an image. */
    public final Found run(Picture picture) {
        return look(picture, false);
    }

    /** Returns the results for the next frame of a video; some tasks use those of the previous frame. */
    public final Found follow(Picture picture) {
        return look(picture, true);
    }

    private Found look(Picture picture, boolean followed) {
        Pixels pixels = null;
        begin(picture.width, picture.height, followed);
        for (Step step = next(); step != null; step = next()) {
            Object value = picture;
            if (step.cut != null) {
                pixels = pixels == null ? Pixels.of(picture) : pixels;
                Pixels part = pixels.cut(step.cut, step.input.width(), step.input.height());
                value = step.input.channels() == 3 ? part.rgb : part.picture();
            }
            take(step.session.run(Collections.singletonMap(step.input.name, value)));
        }
        return found();
    }

    /**
     * Starts an image.
     *
     * @param width in pixels
     * @param height in pixels
     * @param followed whether it is the next frame of a video
     */
    public final void begin(int width, int height, boolean followed) {
        boolean other = width != size[0] || height != size[1];
        size[0] = width;
        size[1] = height;
        begin(followed && !other);
    }

    abstract void begin(boolean followed);

    /** Returns the next step; null at the end. */
    public abstract Step next();

    /** Processes the outputs of the last step, by name. */
    public abstract void take(Map<String, Result> outputs);

    /** Returns the results. */
    public abstract Found found();

    final InputError wrong(String problem) {
        return new InputError(description.name + ".json, with the model " + session.bundle.file + ": " + problem);
    }

    /** Returns the output with a name. */
    final Output output(String name) {
        List<String> names = new ArrayList<String>();
        for (Output output : session.bundle.manifest.outputs) {
            if (output.name.equals(name)) {
                return output;
            }
            names.add(output.name);
        }
        String list = names.toString();
        throw wrong("no output '" + name + "'; the model has " + list.substring(1, list.length() - 1));
    }

    /** Returns the total number of rows of some outputs. */
    final int rows(List<String> names, int columns) {
        int rows = 0;
        for (String name : names) {
            int numbers = 1;
            for (int length : output(name).shape()) {
                numbers *= length;
            }
            if (numbers % columns != 0) {
                throw wrong("output '" + name + "' has " + numbers + " numbers, not a multiple of " + columns);
            }
            rows += numbers / columns;
        }
        return rows;
    }

    /** A task of one network that reads the entire image once. */
    abstract static class Whole extends Task {
        private boolean due;
        private Found last;

        Whole(Description description, Session session) {
            super(description, session);
        }

        @Override
        final void begin(boolean followed) {
            due = true;
        }

        @Override
        public final Step next() {
            return due ? new Step(session, input, null) : null;
        }

        @Override
        public final void take(Map<String, Result> outputs) {
            due = false;
            last = found(outputs);
        }

        @Override
        public final Found found() {
            return last;
        }

        abstract Found found(Map<String, Result> outputs);
    }
}
