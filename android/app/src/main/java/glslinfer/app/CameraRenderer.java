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
 * A screen frame: from the camera through a network or task to labels or results, without transfers to the CPU except
 * outputs.
 *
 * <p>All methods run on the GL thread, except {@link #onFrameAvailable}. A frame first reads the result of the
 * network's frame that ended in the previous screen frame, which the GPU has completed by then, so that nothing waits.
 * Then the network continues with the jobs that fit the budget, or starts with the camera's latest image; then the
 * image is drawn onto the screen.
 */
final class CameraRenderer implements GLSurfaceView.Renderer, SurfaceTexture.OnFrameAvailableListener {
    /** Receives events on the GL thread that the activity must handle. */
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

    private volatile boolean cameraFrameAvailable;
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

    /** Pauses or continues, from any thread. The screen keeps its content. */
    void setPaused(boolean paused) {
        this.paused = paused;
    }

    /** Sets the rotation of the screen, as in {@code Display.getRotation}; from any thread. */
    void setRotation(int rotation) {
        this.rotation = rotation;
    }

    /** Sets the properties of the camera. */
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

    /** Switches to another model or task (the other is null), from the next frame on. */
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

    /** Sets a photograph as input instead of the camera; null for the camera. */
    void setPhotograph(Picture upright) {
        photograph = upright;
        newPhotograph = upright != null;
        hasPicture = false;
        newPicture = false;
        view.requestRender();
    }

    @Override
    public void onSurfaceCreated(GL10 unused, EGLConfig config) {
        // The old context is lost with all objects, so they are dropped, not deleted.
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
        cameraFrameAvailable = false;
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
        cameraFrameAvailable = true;
        view.requestRender();
    }

    @Override
    public void onDrawFrame(GL10 unused) {
        if (session == null && task == null && (bundle != null || files != null)) {
            prepare();
        }
        if (!paused && photograph == null) {
            readCamera();
        }
        int screenRotation = rotation;
        if (hasPicture && session != null && !paused) {
            advanceNetwork(screenRotation);
        } else if (hasPicture && task != null && !paused) {
            if (task.advance(picture, newPicture, screenRotation)) {
                newPicture &= !task.startedImage();
                view.requestRender();
            }
        } else if (newPhotograph && (session != null || task != null)) {
            newPhotograph = false;
            if (session != null) {
                runPhotograph();
            } else {
                task.runPhotograph(photograph, picture);
            }
        }
        long start = System.nanoTime();
        if (hasPicture) {
            picture.drawPreview(width, height, screenRotation);
            device.touched();
        } else {
            gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
            gl.glClearColor(0, 0, 0, 1);
            gl.glClear(Gl.GL_COLOR_BUFFER_BIT);
            device.touched();
        }
        long now = System.nanoTime();
        times.addStage(Stage.SCREEN, now - start);
        if (paused) {
            times.restart();
        } else {
            times.addScreenFrame(now);
        }
    }

    private void prepare() {
        String name = bundle == null ? files.name : bundle.file;
        try {
            prepare(bundle);
        } catch (Errors.GlslInferError error) {
            drop(); // another attempt would have the same result
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
        logits = new float[model.labels.size()];
        best = new int[Math.min(ResultsView.TOP, logits.length)];
        chances = new double[best.length];
        results.setModel(model.labels, input);
    }

    /** Reads the camera's latest image, if there is a new one. */
    private void readCamera() {
        if (cameraFrameAvailable) {
            cameraFrameAvailable = false;
            long start = System.nanoTime();
            texture.updateTexImage();
            texture.getTransformMatrix(picture.surfaceMatrix());
            hasPicture = true;
            newPicture = true;
            results.setUpright(picture.uprightWidth(rotation), picture.uprightHeight(rotation));
            times.addStage(Stage.CAMERA, System.nanoTime() - start);
        }
    }

    private void advanceNetwork(int screenRotation) {
        if (resultPending) {
            resultPending = false;
            long start = System.nanoTime();
            session.readLogits(logits);
            Classifier.rank(session.bundle, logits, best, chances);
            long now = System.nanoTime();
            times.addStage(Stage.READ, now - start);
            times.addResult(now);
            times.stages[Stage.NETWORK] = pace.milliseconds();
            results.show(best, chances, best.length, times, pace.steps());
        }
        if (!pace.running() && newPicture) {
            newPicture = false;
            picture.drawInput(session.inputFramebuffer(input), input, screenRotation);
            device.touched();
            pace.begin();
        }
        if (pace.running()) {
            session.activate();
            resultPending = pace.step();
            // The screen can be faster than the camera; remaining jobs and the result do not wait for an image.
            view.requestRender();
        }
    }

    /** Runs the entire network on the photograph, fitted on the CPU; rare, so it can allocate. */
    private void runPhotograph() {
        long start = System.nanoTime();
        Map<String, Result> outputs = session.run(Collections.singletonMap(input.name, photograph));
        device.touched();
        pace = new Pace(session, gl, budget); // discards an unfinished camera frame
        resultPending = false;
        String classes = session.bundle.manifest.classesOutput().name;
        Classifier.rank(session.bundle, outputs.get(classes).data, best, chances);
        times.stages[Stage.NETWORK] = (System.nanoTime() - start) / 1e6;
        results.show(best, chances, best.length, times, 1);
    }
}
