package glslinfer.app;

import android.app.Activity;
import android.content.Intent;
import android.content.res.Configuration;
import android.graphics.SurfaceTexture;
import android.opengl.GLSurfaceView;
import android.os.Bundle;
import android.os.Handler;
import android.view.View;
import android.view.WindowManager;
import glslinfer.runner.Input;
import glslinfer.runner.Picture;

/**
 * The camera on the full screen, and the results of a network.
 *
 * <p>Options by extras, {@code adb shell am start -n glslinfer.app/.MainActivity --ef budget 8}: {@code budget} is the
 * network's time in each screen frame in milliseconds instead of 12; {@code --es model NAME} selects a model or task in
 * the app.
 */
public final class MainActivity extends Activity
        implements CameraRenderer.Listener, CameraSource.Listener, ModelPicker.Listener, Photographs.Listener,
                Screen.Listener, DisplayRotation.Listener, View.OnClickListener {
    /** Default time of the network in each screen frame, in milliseconds. */
    private static final float BUDGET = 12;

    /** Keys of the saved state; {@code MODEL} is an extra as well. */
    private static final String MODEL = "model";
    private static final String FRONT = "front";

    private GLSurfaceView view;
    private ResultsView results;
    private CameraRenderer renderer;
    private CameraSource camera;
    private ModelPicker models;
    private Photographs photographs;
    private Screen screen;
    private Ink ink;
    private Messages messages;
    private DisplayRotation rotation;

    private SurfaceTexture surface;
    private int size;
    private boolean resumed;
    private boolean front;
    private boolean torch;
    private boolean paused;
    private boolean hasLight;
    private boolean photographShown;
    private boolean timesShown;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
        Models inside = new Models(getAssets());
        photographs = new Photographs(this, this);
        ink = new Ink(getResources());
        results = new ResultsView(this, ink);
        messages = new Messages(results);
        models = new ModelPicker(this, inside, messages, this);
        view = new GLSurfaceView(this);
        view.setEGLContextClientVersion(2);
        view.setPreserveEGLContextOnPause(true);
        renderer = new CameraRenderer(view, results, inside, this, budget());
        view.setRenderer(renderer);
        view.setRenderMode(GLSurfaceView.RENDERMODE_WHEN_DIRTY);
        camera = new CameraSource(this, new Handler(getMainLooper()), this);
        screen = new Screen(this, ink, view, results, this);
        rotation = new DisplayRotation(this, this);
        results.setOnClickListener(this);
        setContentView(screen);
        showState();
        front = saved != null && saved.getBoolean(FRONT);
        models.start(saved == null ? getIntent().getStringExtra(MODEL) : saved.getString(MODEL));
        CameraPermission.requestIfMissing(this);
    }

    /** Handles a touch of the message, such as the one that the camera is not permitted. */
    @Override
    public void onClick(View touched) {
        messages.ofPhotograph("");
        CameraPermission.requestIfMissing(this);
    }

    private double budget() {
        float budget = getIntent().getFloatExtra("budget", BUDGET);
        return budget > 0 ? budget : BUDGET;
    }

    @Override
    protected void onResume() {
        super.onResume();
        resumed = true;
        rotation.start();
        view.onResume();
        openCamera();
    }

    @Override
    protected void onPause() {
        resumed = false;
        rotation.stop();
        camera.close();
        view.onPause();
        super.onPause();
    }

    @Override
    protected void onSaveInstanceState(Bundle saved) {
        super.onSaveInstanceState(saved);
        saved.putString(MODEL, models.name());
        saved.putBoolean(FRONT, front);
    }

    @Override
    public void onRotation(int turned) {
        renderer.setRotation(turned);
        view.requestRender();
    }

    @Override
    public void onConfigurationChanged(Configuration configuration) {
        super.onConfigurationChanged(configuration);
        ink.palette = Palette.of(configuration);
        screen.invalidate();
        results.invalidate();
        showState();
    }

    @Override
    public void onTurnButton() {
        front = !front;
        torch = false;
        showState();
        openCamera();
    }

    @Override
    public void onLightButton() {
        torch = !torch;
        camera.setTorch(torch);
        showState();
    }

    @Override
    public void onPauseButton() {
        paused = !paused;
        renderer.setPaused(paused);
        showState();
        view.requestRender();
    }

    @Override
    public void onTimesButton() {
        timesShown = !timesShown;
        screen.times.set(Icon.TIMES, "Times", timesShown);
        results.showTimes(timesShown);
    }

    private void showState() {
        screen.setState(photographShown, paused, hasLight, torch);
    }

    @Override
    public void onPhotoButton() {
        messages.ofPhotograph("");
        if (photographShown) {
            show(null);
            openCamera();
        } else {
            photographs.choose();
        }
    }

    @Override
    public void onPhotograph(Photographs.Photograph photograph) {
        camera.close();
        torch = false;
        messages.ofPhotograph("");
        show(photograph);
    }

    @Override
    public void onPhotographFailed(String message) {
        messages.ofPhotograph(message);
    }

    /** Shows a photograph; null for the camera. */
    private void show(Photographs.Photograph photograph) {
        photographShown = photograph != null;
        if (photographShown && paused) {
            onPauseButton();
        }
        results.setPhotograph(photographShown ? photograph.bitmap : null);
        final Picture picture = photographShown ? photograph.picture : null;
        view.queueEvent(
                new Runnable() {
                    @Override
                    public void run() {
                        renderer.setPhotograph(picture);
                    }
                });
        showState();
    }

    @Override
    public void onRequestPermissionsResult(int code, String[] names, int[] granted) {
        if (code == CameraPermission.CODE) {
            if (!CameraPermission.isGranted(this)) {
                messages.ofCamera(
                        "Without the camera there is nothing to see. Touch here to be asked again, or allow it in the"
                                + " system's settings for this app. Images never leave the phone.");
            }
            openCamera();
        }
    }

    /** Opens the camera when its requirements are met: the permission, the texture, the screen. */
    private void openCamera() {
        if (resumed && !photographShown && surface != null && CameraPermission.isGranted(this)) {
            camera.open(surface, front, size);
        }
    }

    @Override
    public void onSurfaceTexture(final SurfaceTexture texture) {
        runOnUiThread(
                new Runnable() {
                    @Override
                    public void run() {
                        surface = texture;
                        openCamera();
                    }
                });
    }

    @Override
    public void onCamera(
            final int width, final int height, final int sensorDegrees, final boolean isFront, boolean hasTorch) {
        messages.ofCamera("");
        hasLight = hasTorch;
        showState();
        view.queueEvent(
                new Runnable() {
                    @Override
                    public void run() {
                        renderer.setCamera(width, height, sensorDegrees, isFront);
                    }
                });
    }

    @Override
    public void onCameraFailed(String message) {
        messages.ofCamera(message);
    }

    @Override
    public void onModelButton() {
        models.choose();
    }

    @Override
    protected void onActivityResult(int code, int result, Intent data) {
        super.onActivityResult(code, result, data);
        if (!photographs.read(code, result, data)) {
            models.read(code, result, data);
        }
    }

    @Override
    public void onModel(glslinfer.runner.Bundle bundle) {
        Input input = bundle.manifest.onlyPicture();
        use(bundle, null, Math.max(input.width(), input.height()));
    }

    @Override
    public void onTask(TaskFiles files) {
        use(null, files, 2 * files.side()); // cuts of the camera image are read too
    }

    private void use(final glslinfer.runner.Bundle bundle, final TaskFiles files, int side) {
        size = side;
        view.queueEvent(
                new Runnable() {
                    @Override
                    public void run() {
                        renderer.use(bundle, files);
                    }
                });
    }

    @Override
    public void onModelReady() {
        models.onModelFailed("");
    }

    @Override
    public void onModelFailed(String message) {
        models.onModelFailed(message);
    }
}
