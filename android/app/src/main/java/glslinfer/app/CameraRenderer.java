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
 * A frame of the screen: camera to network to labels, without leaving the GPU but for the logits.
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

        void onModelReady(Bundle bundle);

        void onModelFailed(String message);
    }

    /** How much of an average a new value is. */
    private static final double NEW = 0.1;

    private final Gl gl = new AndroidGl();
    private final GLSurfaceView view;
    private final ResultsView results;
    private final Models models;
    private final Listener listener;
    private final double budget;
    private final double[] stages = new double[Stage.COUNT];
    private final int[] indices = new int[ResultsView.TOP];
    private final double[] probabilities = new double[ResultsView.TOP];

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

    private Bundle bundle;
    private Session session;
    private Input input;
    private boolean probable;
    private Pace pace;
    private float[] logits = new float[0];
    private int[] best = new int[0];
    private double[] chances = new double[0];
    private boolean resultPending;
    private long lastResult;
    private long lastScreen;
    private double resultTime;
    private double screenTime;

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

    /** Takes another model; with the next frame. */
    void setBundle(Bundle bundle) {
        if (session != null) {
            session.close();
            session = null;
        }
        this.bundle = bundle;
        view.requestRender();
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
        resultPending = false;
        device = new Device(gl);
        picture =
                new CameraPicture(
                        gl,
                        models.text("shaders/full.vert"),
                        models.text("shaders/camera_input.frag"),
                        models.text("shaders/camera_preview.frag"));
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
        if (session == null && bundle != null) {
            prepare();
        }
        if (!paused && photograph == null) {
            latch();
        }
        int turned = rotation;
        if (hasPicture && session != null && !paused) {
            network(turned);
        } else if (newPhotograph && session != null) {
            newPhotograph = false;
            lookAtPhotograph();
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
        average(Stage.SCREEN, now - start);
        if (!paused) {
            screenTime = averaged(screenTime, lastScreen == 0 ? 0 : now - lastScreen);
            lastScreen = now;
        } else {
            lastScreen = 0;
            lastResult = 0;
        }
    }

    private void prepare() {
        Bundle model = bundle;
        try {
            session = new Session(device, model);
            session.selfCheck(); // some drivers report success and then draw nothing
            pace = new Pace(session, gl, budget);
            input = model.manifest.onlyPicture();
            probable = model.manifest.classesOutput().isProbable();
            logits = new float[model.labels.size()];
            best = new int[Math.min(ResultsView.TOP, logits.length)];
            chances = new double[best.length];
            resultPending = false;
            newPhotograph = photograph != null;
            lastResult = 0;
            results.setModel(model.labels, input);
            listener.onModelReady(model);
        } catch (Errors.GlslInferError error) {
            results.setModel(Collections.<String>emptyList(), null);
            bundle = null; // another try would end alike
            session = null;
            listener.onModelFailed(model.file + ": " + error.getMessage());
        }
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
            average(Stage.CAMERA, System.nanoTime() - start);
        }
    }

    private void network(int turned) {
        if (resultPending) {
            resultPending = false;
            long start = System.nanoTime();
            session.readLogits(logits);
            Classifier.rank(logits, probable, best, chances);
            long now = System.nanoTime();
            average(Stage.READ, now - start);
            resultTime = averaged(resultTime, lastResult == 0 ? 0 : now - lastResult);
            lastResult = now;
            stages[Stage.NETWORK] = pace.milliseconds();
            results.show(best, chances, best.length, stages, pace.steps(), rate(resultTime), rate(screenTime));
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
        stages[Stage.NETWORK] = (System.nanoTime() - start) / 1e6;
        results.show(best, chances, best.length, stages, 1, 0, 0);
    }

    private void average(int stage, long nanoseconds) {
        stages[stage] = stages[stage] == 0 ? nanoseconds / 1e6 : (1 - NEW) * stages[stage] + NEW * nanoseconds / 1e6;
    }

    private static double averaged(double before, double value) {
        return value == 0 ? before : before == 0 ? value : (1 - NEW) * before + NEW * value;
    }

    private static double rate(double nanoseconds) {
        return nanoseconds == 0 ? 0 : 1e9 / nanoseconds;
    }
}
