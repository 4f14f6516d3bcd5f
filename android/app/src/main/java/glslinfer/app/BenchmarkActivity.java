package glslinfer.app;

import android.app.Activity;
import android.content.res.Configuration;
import android.opengl.GLSurfaceView;
import android.os.Bundle;
import android.view.WindowManager;
import android.widget.FrameLayout;
import java.util.List;

/**
 * The AI Benchmark: runs the tests in the app, and shows their input and output images. Leaving the screen ends it.
 *
 * <p>With {@code --ef pictures 4}, a test ends after that many images.
 */
public final class BenchmarkActivity extends Activity {
    private static final float MAX_IMAGES = 200;

    private GLSurfaceView view;
    private BenchmarkView results;
    private Ink ink;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
        Models models = new Models(getAssets());
        List<BenchmarkTest> tests = models.benchmark();
        ink = new Ink(getResources());
        results = new BenchmarkView(this, ink, tests);
        view = new GLSurfaceView(this);
        view.setEGLContextClientVersion(2);
        int maxImages = (int) Math.max(2, getIntent().getFloatExtra("pictures", MAX_IMAGES));
        view.setRenderer(new BenchmarkRenderer(view, results, models, tests, maxImages));
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
        view.onPause();
        super.onPause();
    }

    @Override
    public void onConfigurationChanged(Configuration now) {
        super.onConfigurationChanged(now);
        ink.palette = Palette.of(now);
        results.postInvalidate();
    }
}
