package android.view;

import android.graphics.SurfaceTexture;

/** Fake surface: its texture, and whether it was released. */
public class Surface {
    public final SurfaceTexture texture;
    public boolean released;

    public Surface(SurfaceTexture texture) {
        this.texture = texture;
    }

    public void release() {
        released = true;
    }
}
