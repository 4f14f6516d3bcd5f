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
    private enum StepState {
        TO_DRAW,
        RUNNING,
        COMPLETE
    }

    private final Task task;
    private final Device device;
    private final ResultsView results;
    private final Times times;
    private final Map<Session, Pace> paces = new IdentityHashMap<Session, Pace>();

    /** The current step; null between camera images. */
    private Task.Step step;

    private StepState state = StepState.TO_DRAW;
    private boolean startedImage;

    /** Time of the networks for the current camera image. */
    private double networkMs;

    /** Number of screen frames with network jobs for the current camera image. */
    private int stepCount;

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
     * @param isNewImage whether the camera image has changed since the last one that was processed
     * @return whether there was anything to do
     */
    boolean advance(CameraPicture picture, boolean isNewImage, int rotation) {
        if (state == StepState.COMPLETE) {
            read(picture);
        }
        startedImage = step == null && isNewImage;
        if (startedImage) {
            networkMs = 0;
            stepCount = 0;
            task.begin(picture.uprightWidth(rotation), picture.uprightHeight(rotation), true);
            step = task.next();
        }
        if (step == null) {
            return false;
        }
        if (state == StepState.TO_DRAW) {
            int framebuffer = step.session.inputFramebuffer(step.input);
            if (step.cut == null) {
                picture.drawInput(framebuffer, step.input, rotation);
            } else {
                picture.drawCut(framebuffer, step.input, step.cut, rotation);
            }
            device.touched();
            paces.get(step.session).begin();
        }
        step.session.activate();
        state = paces.get(step.session).step() ? StepState.COMPLETE : StepState.RUNNING;
        return true;
    }

    /** Returns whether the last call started a new image. */
    boolean startedImage() {
        return startedImage;
    }

    private void read(CameraPicture picture) {
        state = StepState.TO_DRAW;
        long start = System.nanoTime();
        networkMs += paces.get(step.session).milliseconds();
        stepCount += paces.get(step.session).steps();
        task.take(step.session.readOutputs());
        step = task.next();
        long now = System.nanoTime();
        times.addStage(Stage.READ, now - start);
        if (step == null) {
            Found result = task.found();
            times.addResult(now);
            times.stages[Stage.NETWORK] = networkMs;
            picture.setMask(result.mask);
            results.show(result, picture.isMirrored(), times, stepCount);
        }
    }

    /** Processes a photograph, whose cuts the CPU computes; rare, so it can allocate. */
    void runPhotograph(Picture photograph, CameraPicture picture) {
        long start = System.nanoTime();
        step = null; // discards an unfinished camera frame
        state = StepState.TO_DRAW;
        picture.setMask(null);
        Found result = task.run(photograph);
        device.touched();
        times.stages[Stage.NETWORK] = (System.nanoTime() - start) / 1e6;
        results.show(result, false, times, 1);
    }
}
