package glslinfer.app;

import android.graphics.Bitmap;
import android.graphics.BitmapFactory;
import android.opengl.GLSurfaceView;
import glslinfer.gles.AndroidGl;
import glslinfer.runner.Bundle;
import glslinfer.runner.Classifier;
import glslinfer.runner.Device;
import glslinfer.runner.Errors;
import glslinfer.runner.Gl;
import glslinfer.runner.Images;
import glslinfer.runner.Output;
import glslinfer.runner.Pace;
import glslinfer.runner.Picture;
import glslinfer.runner.Result;
import glslinfer.runner.Session;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import javax.microedition.khronos.egl.EGLConfig;
import javax.microedition.khronos.opengles.GL10;

/**
 * Runs the tests in order on the GL thread, by the rules of docs/engineering/aibench.md. A slow network is spread
 * over several screen frames, so that the screen is updated and no driver considers it hung; only the time of the
 * network is measured.
 */
final class BenchmarkRenderer implements GLSurfaceView.Renderer {
    /** Milliseconds of GPU time in a screen frame. */
    private static final double BUDGET = 250;

    private final Gl gl = new AndroidGl();
    private final GLSurfaceView view;
    private final BenchmarkView results;
    private final Models models;
    private final List<BenchmarkTest> tests;
    private final int maxImages;

    private Device device;
    private Session session;
    private Map<String, Picture> inputs;
    private Pace pace;
    private int current;

    /** Time of the first image's result, in {@code System.nanoTime}. */
    private long startNs;

    private boolean isFirstImage;

    /** Milliseconds of the current image so far. */
    private double imageMs;

    /** @param maxImages number of images after which a test ends */
    BenchmarkRenderer(
            GLSurfaceView view, BenchmarkView results, Models models, List<BenchmarkTest> tests, int maxImages) {
        this.view = view;
        this.results = results;
        this.models = models;
        this.tests = tests;
        this.maxImages = maxImages;
    }

    @Override
    public void onSurfaceCreated(GL10 unused, EGLConfig config) {
        session = null; // the old context is lost with all objects, and its test restarts
        device = new Device(gl);
    }

    @Override
    public void onSurfaceChanged(GL10 unused, int width, int height) {}

    @Override
    public void onDrawFrame(GL10 unused) {
        if (current < tests.size()) {
            BenchmarkTest test = tests.get(current);
            try {
                if (session == null) {
                    begin(test);
                } else if (next(test)) {
                    end();
                }
            } catch (Errors.GlslInferError error) {
                test.fail(error.getMessage());
                end();
            } catch (OutOfMemoryError error) {
                test.fail("The memory of this device is too small.");
                end();
            }
            results.changed(current == tests.size());
            view.requestRender();
        }
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
        gl.glClearColor(0, 0, 0, 1);
        gl.glClear(Gl.GL_COLOR_BUFFER_BIT);
        device.touched();
    }

    /** Loads and compiles a test's network. */
    private void begin(BenchmarkTest test) {
        byte[] file = models.bytes(test.file + ".png");
        Bitmap before = BitmapFactory.decodeByteArray(file, 0, file.length, new BitmapFactory.Options());
        if (before == null) {
            throw new Errors.InputError(test.file + ".png is not an image; build the app again");
        }
        test.setBefore(before);
        int[] pixels = new int[before.getWidth() * before.getHeight()];
        before.getPixels(pixels, 0, before.getWidth(), 0, 0, before.getWidth(), before.getHeight());
        long started = System.nanoTime();
        Bundle bundle = models.bundle(test.file);
        session = new Session(device, bundle);
        pace = new Pace(session, gl, BUDGET);
        inputs = Collections.singletonMap(
                bundle.manifest.onlyPicture().name, new Picture(pixels, before.getWidth(), before.getHeight()));
        isFirstImage = true;
        imageMs = (System.nanoTime() - started) / 1e6;
    }

    /** Continues the current image; returns whether it was the last and is complete. */
    private boolean next(BenchmarkTest test) {
        long started = System.nanoTime();
        if (!pace.running()) {
            session.upload(inputs);
            pace.begin();
        }
        session.activate();
        if (!pace.step()) {
            gl.glFinish(); // excludes the time of the screen
            imageMs += (System.nanoTime() - started) / 1e6;
            return false;
        }
        Map<String, Result> outputs = session.readOutputs();
        long now = System.nanoTime();
        double totalMs = imageMs + (now - started) / 1e6;
        imageMs = 0;
        if (isFirstImage) {
            isFirstImage = false;
            startNs = now;
            show(test, outputs, totalMs);
            return false;
        }
        if (totalMs > 1e3 * test.limit) {
            throw new Errors.InputError("An image takes " + Math.round(totalMs / 1e3) + " s, and the test's limit is "
                    + Math.round(test.limit) + " s.");
        }
        return test.add(totalMs) >= maxImages || (now - startNs) / 1e6 + totalMs > 1e3 * test.limit;
    }

    private void show(BenchmarkTest test, Map<String, Result> outputs, double milliseconds) {
        Bundle bundle = session.bundle;
        Output classes = bundle.manifest.classesOutput();
        if (classes != null) {
            test.setFirst(null, best(bundle, outputs.get(classes.name)), milliseconds);
        } else {
            Result result = outputs.get(bundle.manifest.outputs.get(0).name);
            test.setFirst(bitmap(bundle, result), "", milliseconds);
        }
    }

    private void end() {
        if (session != null) {
            session.close();
            session = null;
        }
        current += 1;
    }

    private static String best(Bundle bundle, Result output) {
        int[] best = new int[1];
        Classifier.rank(bundle, output.data, best, new double[1]);
        return Classifier.label(bundle.labels, best[0]);
    }

    private static Bitmap bitmap(Bundle bundle, Result output) {
        byte[] bytes = Images.toBytes(bundle.manifest, output);
        int[] shape = output.shape();
        int[] pixels = new int[shape[0] * shape[1]];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = 0xFF000000;
            for (int channel = 0; channel < 3; channel++) {
                int from = shape[2] == 1 ? i : 3 * i + channel;
                pixels[i] |= (bytes[from] & 0xFF) << (16 - 8 * channel);
            }
        }
        return Bitmap.createBitmap(pixels, shape[1], shape[0], Bitmap.Config.ARGB_8888);
    }
}
