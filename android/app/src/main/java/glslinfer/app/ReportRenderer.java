package glslinfer.app;

import android.opengl.GLSurfaceView;
import glslinfer.gles.AndroidGl;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Gl;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.microedition.khronos.egl.EGLConfig;
import javax.microedition.khronos.opengles.GL10;

/** Creates a report on the GL thread: one model after the other, in pieces between screen frames. */
final class ReportRenderer implements GLSurfaceView.Renderer {
    /** Receives the progress on the GL thread. */
    interface Listener {
        /** A model starts; null at the end. */
        void onModel(String name);

        /** Progress of the long run, 0 to 1. */
        void onSustained(double share);

        /** Returns the current temperatures and clocks. */
        Map<String, Object> state();
    }

    /** Milliseconds of frames without a pause: fewer would let a GPU sleep, more would delay the screen. */
    private static final double SLICE_MS = 200;

    private static final String CRASHED =
            "the app ended while this model ran: the driver crashed, or the system wanted the memory";

    private final Gl gl = new AndroidGl();
    private final GLSurfaceView view;
    private final Report report;
    private final Models models;
    private final List<String> bundles;
    private final Listener listener;
    private final String version;
    private final String crashed;

    private Device device;
    private ReportModel model;
    private SustainedRun sustained;
    private double minutes;
    private int current;

    /**
     * @param crashed the model during which an earlier report crashed the app, or null
     * @param done whether the report already has its models
     */
    ReportRenderer(
            GLSurfaceView view, Report report, Models models, Listener listener, String version, String crashed,
            boolean done) {
        this.view = view;
        this.report = report;
        this.models = models;
        this.listener = listener;
        this.version = version;
        this.crashed = crashed;
        bundles = models.bundles();
        current = done ? bundles.size() : 0;
    }

    /** Runs the first working model for some minutes; on the GL thread. */
    void sustain(double duration) {
        minutes = duration;
        view.requestRender();
    }

    @Override
    public void onSurfaceCreated(GL10 unused, EGLConfig config) {
        device = new Device(gl);
        model = null; // the old context is lost with all objects, and it restarts
        sustained = null;
        report.put("driver", Machine.driver(gl, device, version));
    }

    @Override
    public void onSurfaceChanged(GL10 unused, int width, int height) {}

    @Override
    public void onDrawFrame(GL10 unused) {
        if (current < bundles.size() || minutes > 0) {
            try {
                boolean ended = current < bundles.size() ? continueModel() : continueLongRun();
                if (ended) {
                    end();
                }
            } catch (Errors.GlslInferError error) {
                fail(error.getMessage());
            } catch (OutOfMemoryError error) {
                fail("the memory of this device is too small");
            }
            view.requestRender();
        }
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
        gl.glClearColor(0, 0, 0, 1);
        gl.glClear(Gl.GL_COLOR_BUFFER_BIT);
        device.touched();
    }

    /** Runs a piece of the current model; returns whether it has ended. */
    private boolean continueModel() {
        String path = bundles.get(current);
        if (model == null) {
            listener.onModel(ReportModel.name(path));
            model = new ReportModel(path, models.file(path), gl);
            if (ReportModel.name(path).equals(crashed)) {
                throw new Errors.InputError(CRASHED);
            }
            model.begin(device);
            return false;
        }
        long startNs = System.nanoTime();
        while ((System.nanoTime() - startNs) / 1e6 < SLICE_MS) {
            if (model.frame()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the first bundle that has run, for the long run. */
    private String longPath() {
        for (String path : bundles) {
            if (report.ran(ReportModel.name(path))) {
                return path;
            }
        }
        return bundles.get(0);
    }

    /** Runs a piece of the long run; returns whether it has ended. */
    private boolean continueLongRun() {
        String path = longPath();
        if (model == null) {
            model = new ReportModel(path, models.file(path), gl);
            model.begin(device);
            sustained = new SustainedRun(minutes);
        }
        long startNs = System.nanoTime();
        while ((System.nanoTime() - startNs) / 1e6 < SLICE_MS) {
            if (sustained.frame(model.session(), gl)) {
                report.put("sustained", sustained.data(ReportModel.name(path)));
                return true;
            }
        }
        listener.onSustained(sustained.elapsedShare());
        return false;
    }

    private void fail(String message) {
        if (current == bundles.size()) {
            Map<String, Object> failed = new LinkedHashMap<String, Object>();
            failed.put("model", ReportModel.name(longPath()));
            failed.put("failed", message);
            report.put("sustained", failed);
        } else {
            if (model == null) { // its file cannot be read
                model = new ReportModel(bundles.get(current), new byte[0], gl);
            }
            model.fail(message);
        }
        end();
    }

    private void end() {
        if (current < bundles.size()) {
            report.putModel(model.entry());
            current += 1;
        } else {
            minutes = 0;
        }
        if (model != null) {
            model.close();
            model = null;
        }
        if (current == bundles.size()) {
            report.putMachine("after", listener.state());
            listener.onModel(null);
        }
    }
}
