package glslinfer.app;

import glslinfer.app.ResultsView.Stage;
import glslinfer.runner.Device;
import glslinfer.runner.Gl;
import glslinfer.runner.Pace;
import glslinfer.runner.Picture;
import glslinfer.runner.Session;
import glslinfer.tasks.Found;
import glslinfer.tasks.Task;
import java.util.IdentityHashMap;
import java.util.Map;

/** A task over several screen frames: the camera image and its cuts are drawn into networks' inputs on the GPU. */
final class TaskFrames {
    private final Task task;
    private final Device device;
    private final ResultsView results;
    private final Times times;
    private final Map<Session, Pace> paces = new IdentityHashMap<Session, Pace>();

    /** The next step, in progress or complete and unread; null between camera images. */
    private Task.Step step;

    private boolean drawn;
    private boolean pending;
    private boolean begins;
    private double milliseconds;
    private int steps;

    /**
     * Opens and checks a task.
     *
     * @throws glslinfer.runner.Errors.GlslInferError it is unusable, or unsupported by this device
     */
    TaskFrames(TaskFiles files, Device device, Gl gl, double budget, ResultsView results, Times times) {
        this.device = device;
        this.results = results;
        this.times = times;
        task = Task.open(files.name, files, device);
        try {
            for (Session session : task.sessions()) {
                session.selfCheck(); // some drivers report success and then draw nothing
                paces.put(session, new Pace(session, gl, budget));
            }
        } catch (RuntimeException error) {
            task.close();
            throw error;
        }
    }

    void close() {
        task.close();
    }

    /**
     * Shows the results of the previous screen frame, then continues with the jobs that fit the budget.
     *
     * @param fresh whether there is a new image
     * @return whether there was anything to do
     */
    boolean look(CameraPicture picture, boolean fresh, int rotation) {
        if (pending) {
            read(picture);
        }
        begins = step == null && fresh;
        if (begins) {
            milliseconds = 0;
            steps = 0;
            task.begin(picture.uprightWidth(rotation), picture.uprightHeight(rotation), true);
            step = task.next();
        }
        if (step == null) {
            return false;
        }
        if (!drawn) {
            int framebuffer = step.session.inputFramebuffer(step.input);
            if (step.cut == null) {
                picture.drawInput(framebuffer, step.input, rotation);
            } else {
                picture.drawCut(framebuffer, step.input, step.cut, rotation);
            }
            device.touched();
            paces.get(step.session).begin();
            drawn = true;
        }
        step.session.activate();
        pending = paces.get(step.session).step();
        drawn = !pending;
        return true;
    }

    /** Returns whether the last call started a new image. */
    boolean begins() {
        return begins;
    }

    private void read(CameraPicture picture) {
        pending = false;
        long start = System.nanoTime();
        milliseconds += paces.get(step.session).milliseconds();
        steps += paces.get(step.session).steps();
        task.take(step.session.readOutputs());
        step = task.next();
        long now = System.nanoTime();
        times.took(Stage.READ, now - start);
        if (step == null) {
            Found result = task.found();
            times.result(now);
            times.stages[Stage.NETWORK] = milliseconds;
            picture.setMask(result.mask);
            results.show(result, picture.isMirrored(), times, steps);
        }
    }

    /** Processes a photograph, whose cuts the CPU computes; rare, so it can allocate. */
    void look(Picture photograph, CameraPicture picture) {
        long start = System.nanoTime();
        step = null; // discards an unfinished camera frame
        drawn = false;
        pending = false;
        picture.setMask(null);
        Found result = task.run(photograph);
        device.touched();
        times.stages[Stage.NETWORK] = (System.nanoTime() - start) / 1e6;
        results.show(result, false, times, 1);
    }
}
