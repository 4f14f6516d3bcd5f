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

/** Makes a report in the GL thread: model after model, in pieces between two frames of the screen. */
final class ReportRenderer implements GLSurfaceView.Renderer {
    /** Told, from the GL thread, how far it is. */
    interface Listener {
        /** A model begins; with null all have ended. */
        void onModel(String name);

        /** The long run has come so far. */
        void onSustained(double share);

        /** Returns temperatures and clocks, as they are now. */
        Map<String, Object> state();
    }

    /** Milliseconds of frames without a pause: less would let a GPU sleep, more would keep the user waiting. */
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
    private Sustained sustained;
    private double minutes;
    private int at;

    /**
     * @param crashed the model that ended the app when a report was made before, or null
     * @param done whether the report has its models already
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
        at = done ? bundles.size() : 0;
    }

    /** Runs the first model that works for so long; in the GL thread. */
    void sustain(double wanted) {
        minutes = wanted;
        view.requestRender();
    }

    @Override
    public void onSurfaceCreated(GL10 unused, EGLConfig config) {
        device = new Device(gl);
        model = null; // of another context, which took all with it; it begins again
        sustained = null;
        report.put("driver", Machine.driver(gl, device, version));
    }

    @Override
    public void onSurfaceChanged(GL10 unused, int width, int height) {}

    @Override
    public void onDrawFrame(GL10 unused) {
        if (at < bundles.size() || minutes > 0) {
            try {
                boolean ended = at < bundles.size() ? check() : runOn();
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

    /** Does a piece of the model that is due; returns whether it has ended. */
    private boolean check() {
        String path = bundles.get(at);
        if (model == null) {
            listener.onModel(ReportModel.name(path));
            model = new ReportModel(path, models.file(path), gl);
            if (ReportModel.name(path).equals(crashed)) {
                throw new Errors.InputError(CRASHED);
            }
            model.begin(device);
            return false;
        }
        long begun = System.nanoTime();
        while ((System.nanoTime() - begun) / 1e6 < SLICE_MS) {
            if (model.frame()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the first bundle that has run, which the long run takes. */
    private String longPath() {
        for (String path : bundles) {
            if (report.ran(ReportModel.name(path))) {
                return path;
            }
        }
        return bundles.get(0);
    }

    /** Does a piece of the long run; returns whether it has ended. */
    private boolean runOn() {
        String path = longPath();
        if (model == null) {
            model = new ReportModel(path, models.file(path), gl);
            model.begin(device);
            sustained = new Sustained(minutes);
        }
        long begun = System.nanoTime();
        while ((System.nanoTime() - begun) / 1e6 < SLICE_MS) {
            if (sustained.frame(model.session(), gl)) {
                report.put("sustained", sustained.data(ReportModel.name(path)));
                return true;
            }
        }
        listener.onSustained(sustained.share());
        return false;
    }

    private void fail(String message) {
        if (at == bundles.size()) {
            Map<String, Object> failed = new LinkedHashMap<String, Object>();
            failed.put("model", ReportModel.name(longPath()));
            failed.put("failed", message);
            report.put("sustained", failed);
        } else {
            if (model == null) { // its file cannot be read
                model = new ReportModel(bundles.get(at), new byte[0], gl);
            }
            model.fail(message);
        }
        end();
    }

    private void end() {
        if (at < bundles.size()) {
            report.putModel(model.entry());
            at += 1;
        } else {
            minutes = 0;
        }
        if (model != null) {
            model.close();
            model = null;
        }
        if (at == bundles.size()) {
            report.putMachine("after", listener.state());
            listener.onModel(null);
        }
    }
}
