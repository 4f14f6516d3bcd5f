package android.opengl;

import android.content.Context;
import android.view.View;
import glslinfer.desktop.Egl;
import glslinfer.fake.Phone;
import java.util.ArrayDeque;
import java.util.Queue;
import javax.microedition.khronos.egl.EGLConfig;
import javax.microedition.khronos.opengles.GL10;

/** A GL surface on the thread of the harness: {@link #pump} performs the next task of its own thread. */
public class GLSurfaceView extends View {
    public interface Renderer {
        void onSurfaceCreated(GL10 gl, EGLConfig config);

        void onSurfaceChanged(GL10 gl, int width, int height);

        void onDrawFrame(GL10 gl);
    }

    public static final int RENDERMODE_WHEN_DIRTY = 0;

    public static GLSurfaceView only;
    public int frames;
    public boolean resized;
    private final Queue<Runnable> events = new ArrayDeque<>();
    private Renderer renderer;
    private boolean wanted;
    private boolean resumed;
    private final Runnable draw = () -> renderer.onDrawFrame(null);

    public GLSurfaceView(Context context) {
        super(context);
        only = this;
    }

    public void setEGLContextClientVersion(int version) {
        if (version != 2) {
            throw new IllegalArgumentException("an ES 2.0 context was to be asked for, not " + version);
        }
    }

    public void setPreserveEGLContextOnPause(boolean preserve) {}

    public void setRenderer(Renderer renderer) {
        this.renderer = renderer;
    }

    public void setRenderMode(int mode) {}

    public synchronized void requestRender() {
        wanted = true;
    }

    public synchronized void queueEvent(Runnable event) {
        events.add(event);
    }

    public void onPause() {
        resumed = false;
    }

    public void onResume() {
        resumed = true;
        wanted = true;
        resized = true;
    }

    /** Performs one pending task; returns false without a pending task. */
    public boolean pump() {
        if (!resumed) {
            return false;
        }
        if (Phone.egl == null) {
            Phone.egl = new Egl(Phone.width, Phone.height);
            renderer.onSurfaceCreated(null, null);
            resized = true;
        }
        if (resized) {
            resized = false;
            Phone.egl.resize(Phone.width, Phone.height);
            renderer.onSurfaceChanged(null, Phone.width, Phone.height);
            wanted = true;
        }
        Runnable event = events.poll();
        if (event != null) {
            event.run();
            return true;
        }
        if (!wanted) {
            return false;
        }
        wanted = false;
        Phone.drawn(draw);
        frames++;
        return true;
    }
}
