package glslinfer.app;

import android.graphics.SurfaceTexture;
import android.opengl.GLSurfaceView;
import glslinfer.app.ResultsView.Stage;
import glslinfer.gles.AndroidGl;
import glslinfer.runner.Bundle;
import glslinfer.runner.Classifier;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Gl;
import glslinfer.runner.Input;
import glslinfer.runner.Pace;
import glslinfer.runner.Picture;
import glslinfer.runner.Result;
import glslinfer.runner.Session;
import java.util.Collections;
import java.util.Map;
import javax.microedition.khronos.egl.EGLConfig;
import javax.microedition.khronos.opengles.GL10;

/**
 * A frame of the screen: camera to network to labels or findings, without leaving the GPU but for the outputs.
 *
 * <p>All methods run in the GL thread but {@link #onFrameAvailable}. A frame first reads the result of the network's
 * frame that ended in the one before: by now the GPU is done with it, so that nothing waits. Then the network goes on
 * by as many jobs as the budget allows, or begins with the camera's latest picture; then the picture is drawn onto the
 * screen.
 */
final class CameraRenderer implements GLSurfaceView.Renderer, SurfaceTexture.OnFrameAvailableListener {
    /** Told, in the GL thread, of what the activity has to do something about. */
    interface Listener {
        void onSurfaceTexture(SurfaceTexture texture);

        void onModelReady();

        void onModelFailed(String message);
    }

    private final Gl gl = new AndroidGl();
    private final GLSurfaceView view;
    private final ResultsView results;
    private final Models models;
    private final Listener listener;
    private final double budget;
    private final Times times = new Times();

    private volatile boolean fresh;
    private volatile boolean paused;
    private volatile int rotation;

    private int width;
    private int height;
    private Device device;
    private CameraPicture picture;
    private SurfaceTexture texture;
    private boolean hasPicture;
    private boolean newPicture;
    private Picture photograph;
    private boolean newPhotograph;
    private int cameraWidth = 1;
    private int cameraHeight = 1;
    private int cameraDegrees;
    private boolean cameraFront;

    private TaskFiles files;
    private TaskFrames task;
    private Bundle bundle;
    private Session session;
    private Input input;
    private boolean probable;
    private Pace pace;
    private float[] logits = new float[0];
    private int[] best = new int[0];
    private double[] chances = new double[0];
    private boolean resultPending;

    CameraRenderer(GLSurfaceView view, ResultsView results, Models models, Listener listener, double budget) {
        this.view = view;
        this.results = results;
        this.models = models;
        this.listener = listener;
        this.budget = budget;
    }

    /** Stops or goes on; from any thread. What is on the screen stays there. */
    void setPaused(boolean paused) {
        this.paused = paused;
    }

    /** Says how the screen is turned, as {@code Display.getRotation} has it; from any thread. */
    void setRotation(int rotation) {
        this.rotation = rotation;
    }

    /** Says what the camera is going to send. */
    void setCamera(int width, int height, int degrees, boolean front) {
        cameraWidth = width;
        cameraHeight = height;
        cameraDegrees = degrees;
        cameraFront = front;
        hasPicture = false;
        if (picture != null) {
            picture.setCamera(width, height, degrees, front);
        }
    }

    /** Takes another model, or a task instead (the other is null); with the next frame. */
    void use(Bundle bundle, TaskFiles files) {
        drop();
        this.bundle = bundle;
        this.files = files;
        view.requestRender();
    }

    private void drop() {
        if (session != null) {
            session.close();
            session = null;
        }
        if (task != null) {
            task.close();
            task = null;
        }
        if (picture != null) {
            picture.setMask(null);
        }
        bundle = null;
        files = null;
    }

    /** Looks at a photograph instead of the camera's pictures, or with null at these again. */
    void setPhotograph(Picture upright) {
        photograph = upright;
        newPhotograph = upright != null;
        hasPicture = false;
        newPicture = false;
        view.requestRender();
    }

    @Override
    public void onSurfaceCreated(GL10 unused, EGLConfig config) {
        // A new context: what was in the old one is gone with it, so it is dropped, not deleted.
        session = null;
        task = null;
        resultPending = false;
        device = new Device(gl);
        picture = new CameraPicture(gl, models);
        picture.setCamera(cameraWidth, cameraHeight, cameraDegrees, cameraFront);
        if (texture != null) {
            texture.release();
        }
        hasPicture = false;
        fresh = false;
        texture = new SurfaceTexture(picture.texture);
        texture.setOnFrameAvailableListener(this);
        listener.onSurfaceTexture(texture);
    }

    @Override
    public void onSurfaceChanged(GL10 unused, int width, int height) {
        this.width = width;
        this.height = height;
    }

    @Override
    public void onFrameAvailable(SurfaceTexture unused) {
        fresh = true;
        view.requestRender();
    }

    @Override
    public void onDrawFrame(GL10 unused) {
        if (session == null && task == null && (bundle != null || files != null)) {
            prepare();
        }
        if (!paused && photograph == null) {
            latch();
        }
        int turned = rotation;
        if (hasPicture && session != null && !paused) {
            network(turned);
        } else if (hasPicture && task != null && !paused) {
            if (task.look(picture, newPicture, turned)) {
                newPicture &= !task.begins();
                view.requestRender();
            }
        } else if (newPhotograph && (session != null || task != null)) {
            newPhotograph = false;
            if (session != null) {
                lookAtPhotograph();
            } else {
                task.look(photograph, picture);
            }
        }
        long start = System.nanoTime();
        if (hasPicture) {
            picture.drawPreview(width, height, turned);
            device.touched();
        } else {
            gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
            gl.glClearColor(0, 0, 0, 1);
            gl.glClear(Gl.GL_COLOR_BUFFER_BIT);
            device.touched();
        }
        long now = System.nanoTime();
        times.took(Stage.SCREEN, now - start);
        if (paused) {
            times.restart();
        } else {
            times.screen(now);
        }
    }

    private void prepare() {
        String name = bundle == null ? files.name : bundle.file;
        try {
            prepare(bundle);
        } catch (Errors.GlslInferError error) {
            drop(); // another try would end alike
            results.setModel(Collections.<String>emptyList(), null);
            listener.onModelFailed(name + ": " + error.getMessage());
            return;
        }
        resultPending = false;
        newPhotograph = photograph != null;
        times.restartResults();
        listener.onModelReady();
    }

    private void prepare(Bundle model) {
        if (model == null) {
            task = new TaskFrames(files, device, gl, budget, results, times);
            results.setModel(Collections.<String>emptyList(), null);
            return;
        }
        session = new Session(device, model);
        session.selfCheck(); // some drivers report success and then draw nothing
        pace = new Pace(session, gl, budget);
        input = model.manifest.onlyPicture();
        probable = model.manifest.classesOutput().isProbable();
        logits = new float[model.labels.size()];
        best = new int[Math.min(ResultsView.TOP, logits.length)];
        chances = new double[best.length];
        results.setModel(model.labels, input);
    }

    /** Takes the camera's latest picture, if there is a new one. */
    private void latch() {
        if (fresh) {
            fresh = false;
            long start = System.nanoTime();
            texture.updateTexImage();
            texture.getTransformMatrix(picture.surfaceMatrix());
            hasPicture = true;
            newPicture = true;
            results.setUpright(picture.uprightWidth(rotation), picture.uprightHeight(rotation));
            times.took(Stage.CAMERA, System.nanoTime() - start);
        }
    }

    private void network(int turned) {
        if (resultPending) {
            resultPending = false;
            long start = System.nanoTime();
            session.readLogits(logits);
            Classifier.rank(logits, probable, best, chances);
            long now = System.nanoTime();
            times.took(Stage.READ, now - start);
            times.result(now);
            times.stages[Stage.NETWORK] = pace.milliseconds();
            results.show(best, chances, best.length, times, pace.steps());
        }
        if (!pace.running() && newPicture) {
            newPicture = false;
            picture.drawInput(session.inputFramebuffer(input), input, turned);
            device.touched();
            pace.begin();
        }
        if (pace.running()) {
            session.activate();
            resultPending = pace.step();
            // The screen may be faster than the camera: what is left, and the result, need not wait for a picture.
            view.requestRender();
        }
    }

    /** Runs the whole network on the photograph, which the CPU fits; rare, so it may allocate. */
    private void lookAtPhotograph() {
        long start = System.nanoTime();
        Map<String, Result> found = session.run(Collections.singletonMap(input.name, photograph));
        device.touched();
        pace = new Pace(session, gl, budget); // a camera's frame may have been under way
        resultPending = false;
        Classifier.rank(found.get(session.bundle.manifest.classesOutput().name).data, probable, best, chances);
        times.stages[Stage.NETWORK] = (System.nanoTime() - start) / 1e6;
        results.show(best, chances, best.length, times, 1);
    }
}
