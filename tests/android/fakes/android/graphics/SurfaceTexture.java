package android.graphics;

import glslinfer.desktop.DesktopGl;
import glslinfer.fake.Phone;
import glslinfer.runner.Gl;
import java.nio.ByteBuffer;

/** An external texture with the last image of {@link #send}, shared through an EGLImage as on a phone. */
public class SurfaceTexture {
    public interface OnFrameAvailableListener {
        void onFrameAvailable(SurfaceTexture texture);
    }

    private static final int GL_TEXTURE_BINDING_2D = 0x8069;

    public boolean released;
    public int width;
    public int height;
    private final int name;
    private final Gl gl = new DesktopGl();
    private OnFrameAvailableListener listener;
    private ByteBuffer pixels;
    private float[] sent = new float[16];
    private float[] latched = new float[16];
    private int back;

    public SurfaceTexture(int name) {
        this.name = name;
    }

    public void setOnFrameAvailableListener(OnFrameAvailableListener listener) {
        this.listener = listener;
    }

    public void setDefaultBufferSize(int width, int height) {
        this.width = width;
        this.height = height;
    }

    /** The camera's next picture: RGBA, and the matrix that the camera service gives with it. */
    public void send(ByteBuffer rgba, float[] matrix) {
        pixels = rgba;
        sent = matrix;
        listener.onFrameAvailable(this);
    }

    public void updateTexImage() {
        if (released) {
            throw new IllegalStateException("the SurfaceTexture is released");
        }
        int before = gl.glGetInteger(GL_TEXTURE_BINDING_2D);
        gl.glBindTexture(Gl.GL_TEXTURE_EXTERNAL_OES, name);
        boolean first = back == 0;
        back = first ? gl.glGenTexture() : back;
        gl.glBindTexture(Gl.GL_TEXTURE_2D, back);
        if (first) {
            gl.glTexImage2D(
                    Gl.GL_TEXTURE_2D, 0, Gl.GL_RGBA, width, height, 0, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, pixels);
            gl.glTexParameteri(Gl.GL_TEXTURE_2D, Gl.GL_TEXTURE_MIN_FILTER, Gl.GL_LINEAR);
            Phone.egl.showExternally(back);
        } else {
            gl.glTexSubImage2D(
                    Gl.GL_TEXTURE_2D, 0, 0, 0, width, height, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, pixels);
        }
        gl.glBindTexture(Gl.GL_TEXTURE_2D, before);
        latched = sent;
    }

    public void getTransformMatrix(float[] matrix) {
        System.arraycopy(latched, 0, matrix, 0, 16);
    }

    public void release() {
        released = true;
    }
}
