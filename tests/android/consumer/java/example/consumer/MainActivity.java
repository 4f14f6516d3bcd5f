package example.consumer;

import android.app.Activity;
import android.opengl.GLSurfaceView;
import android.widget.FrameLayout;
import android.widget.TextView;
import glslinfer.gles.AndroidGl;
import glslinfer.runner.Bundle;
import glslinfer.runner.Classifier;
import glslinfer.runner.Device;
import glslinfer.runner.Picture;
import glslinfer.runner.Session;
import java.io.IOException;
import java.io.InputStream;
import javax.microedition.khronos.egl.EGLConfig;
import javax.microedition.khronos.opengles.GL10;

/** The least app that uses the AAR: one picture, one label. */
public final class MainActivity extends Activity implements GLSurfaceView.Renderer {
    private TextView label;
    private GLSurfaceView view;

    @Override
    protected void onCreate(android.os.Bundle saved) {
        super.onCreate(saved);
        label = new TextView(this);
        view = new GLSurfaceView(this);
        view.setEGLContextClientVersion(2);
        view.setRenderer(this);
        FrameLayout frame = new FrameLayout(this);
        frame.addView(view);
        frame.addView(label);
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
    public void onSurfaceCreated(GL10 unused, EGLConfig config) {
        String said;
        try {
            InputStream stream = getAssets().open("tiny.glslnn");
            Bundle bundle = Bundle.read(stream, "tiny.glslnn");
            stream.close();
            Session session = new Session(new Device(new AndroidGl()), bundle);
            session.selfCheck();
            int[] argb = new int[60 * 40];
            for (int i = 0; i < argb.length; i++) {
                argb[i] = 0xFF000000 | i % 60 * 4 << 16 | i / 60 * 6 << 8;
            }
            float[] numbers = session.run(new Picture(argb, 60, 40));
            Classifier.Prediction best = Classifier.rank(bundle, numbers, 1).get(0);
            said = best.label + " " + Math.round(1000 * best.probability);
            session.close();
        } catch (IOException error) {
            said = "the model is missing";
        }
        final String text = said;
        runOnUiThread(
                new Runnable() {
                    @Override
                    public void run() {
                        label.setText(text);
                    }
                });
    }

    @Override
    public void onSurfaceChanged(GL10 unused, int width, int height) {}

    @Override
    public void onDrawFrame(GL10 unused) {}
}
