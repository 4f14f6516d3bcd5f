package glslinfer.app;

import android.app.Activity;
import android.content.ActivityNotFoundException;
import android.content.Intent;
import android.content.res.Configuration;
import android.net.Uri;
import android.opengl.GLSurfaceView;
import android.os.Bundle;
import android.view.View;
import android.view.WindowManager;
import android.widget.FrameLayout;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;

/**
 * The equivalent of {@code glsl-infer report} on a computer: driver, self-check and times of all models in the app, as
 * a JSON file. Only the user can send it.
 *
 * <p>With {@code --ef minutes 30}, the long run takes that many minutes.
 */
public final class ReportActivity extends Activity implements ReportRenderer.Listener, View.OnClickListener {
    private static final String REPORT = "report";
    private static final String FILE = "glsl-infer-report.json";
    private static final int SAVE = 4;
    private static final float LONG_MINUTES = 10;

    private Report report;
    private GLSurfaceView view;
    private ReportView results;
    private ReportRenderer renderer;
    private Ink ink;
    private float minutes;
    private boolean done;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
        Models models = new Models(getAssets());
        String version = Machine.version(this);
        String before = saved == null ? null : saved.getString(REPORT);
        done = before != null;
        report = done ? Report.read(before) : new Report(version);
        if (!done) {
            report.put("machine", Machine.of(state()));
        }
        ink = new Ink(getResources());
        float requested = getIntent().getFloatExtra("minutes", LONG_MINUTES);
        minutes = requested > 0 ? requested : LONG_MINUTES;
        results = new ReportView(this, ink, report, models.bundles().size(), Math.round(minutes) + " minutes", this);
        results.setDone(done || models.bundles().isEmpty());
        view = new GLSurfaceView(this);
        view.setEGLContextClientVersion(2);
        renderer = new ReportRenderer(view, report, models, this, version, new Attempt(this).last(), done);
        view.setRenderer(renderer);
        view.setRenderMode(GLSurfaceView.RENDERMODE_WHEN_DIRTY);
        FrameLayout frame = new FrameLayout(this);
        frame.addView(view);
        frame.addView(results);
        setContentView(frame);
    }

    @Override
    protected void onResume() {
        super.onResume();
        view.onResume();
    }

    @Override
    protected void onPause() {
        view.onPause(); // after that nothing runs
        new Attempt(this).end();
        super.onPause();
    }

    @Override
    protected void onSaveInstanceState(Bundle saved) {
        super.onSaveInstanceState(saved);
        if (done) {
            saved.putString(REPORT, report.text());
        }
    }

    @Override
    public void onConfigurationChanged(Configuration now) {
        super.onConfigurationChanged(now);
        ink.palette = Palette.of(now);
        results.invalidate();
    }

    @Override
    public Map<String, Object> state() {
        return Machine.state(this);
    }

    @Override
    public void onModel(final String name) {
        if (name == null) {
            new Attempt(this).end();
        } else {
            new Attempt(this).begin(name);
        }
        show(name == null ? "" : name + ": every layer, then 40 frames", name == null);
    }

    @Override
    public void onSustained(double share) {
        show("Without a pause: " + Math.round(100 * share) + " % are over", false);
    }

    private void show(final String words, final boolean isComplete) {
        runOnUiThread(
                new Runnable() {
                    @Override
                    public void run() {
                        done = isComplete;
                        results.setRunning(words);
                        results.setDone(isComplete);
                    }
                });
    }

    @Override
    public void onClick(View pressed) {
        if (pressed == results.send) {
            start(new Intent(Intent.ACTION_SEND)
                    .setType("text/plain")
                    .putExtra(Intent.EXTRA_SUBJECT, FILE)
                    .putExtra(Intent.EXTRA_TEXT, report.text()), 0);
        } else if (pressed == results.save) {
            start(new Intent(Intent.ACTION_CREATE_DOCUMENT)
                    .addCategory(Intent.CATEGORY_OPENABLE)
                    .setType("application/json")
                    .putExtra(Intent.EXTRA_TITLE, FILE), SAVE);
        } else {
            done = false;
            results.setDone(false);
            view.queueEvent(
                    new Runnable() {
                        @Override
                        public void run() {
                            renderer.sustain(minutes);
                        }
                    });
        }
    }

    /** Starts another app; {@code code} 0 for no result. */
    private void start(Intent intent, int code) {
        try {
            if (code == 0) {
                startActivity(intent);
            } else {
                startActivityForResult(intent, code);
            }
        } catch (ActivityNotFoundException error) {
            results.setRunning("This device has no app for that");
        }
    }

    @Override
    protected void onActivityResult(int code, int result, Intent data) {
        super.onActivityResult(code, result, data);
        Uri uri = code == SAVE && result == RESULT_OK && data != null ? data.getData() : null;
        if (uri == null) {
            return;
        }
        try {
            OutputStream out = getContentResolver().openOutputStream(uri);
            if (out == null) {
                throw new IOException("it cannot be opened");
            }
            try {
                out.write(report.text().getBytes("UTF-8"));
            } finally {
                out.close();
            }
            results.setRunning("Saved " + uri.getLastPathSegment());
        } catch (IOException error) {
            results.setRunning("It cannot be saved there (" + error.getMessage() + "); choose another place");
        } catch (SecurityException error) {
            results.setRunning("It may not be saved there; choose another place");
        }
    }
}
