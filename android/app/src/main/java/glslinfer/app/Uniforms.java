package glslinfer.app;

import glslinfer.runner.Gl;
import glslinfer.runner.GlObjects;
import java.nio.FloatBuffer;

/** Sets uniforms of one or two floats without allocating. */
final class Uniforms {
    private final Gl gl;
    private final FloatBuffer values = GlObjects.direct(8).asFloatBuffer();

    Uniforms(Gl gl) {
        this.gl = gl;
    }

    void set(int location, float x) {
        values.put(0, x);
        gl.glUniform1fv(location, 1, values);
    }

    void set(int location, float x, float y) {
        values.put(0, x);
        values.put(1, y);
        gl.glUniform2fv(location, 1, values);
    }
}
