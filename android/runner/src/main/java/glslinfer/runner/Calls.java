package glslinfer.runner;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A list of GL calls: each is a code and four integers, or sets a uniform. */
final class Calls {
    static final int BIND_FRAMEBUFFER = 0;
    static final int VIEWPORT = 1;
    static final int CLEAR_COLOR = 2;
    static final int CLEAR = 3;
    static final int USE_PROGRAM = 4;
    static final int ACTIVE_TEXTURE = 5;
    static final int BIND_TEXTURE = 6;
    private static final int UNIFORM = 7;
    static final int DRAW = 8;

    private int[] code = new int[64];
    private int size;
    private final List<FloatBuffer> values = new ArrayList<FloatBuffer>();
    private FloatBuffer[] fixed;

    void add(int kind, int a, int b, int c, int d) {
        if (size + 5 > code.length) {
            code = Arrays.copyOf(code, 2 * code.length);
        }
        code[size] = kind;
        code[size + 1] = a;
        code[size + 2] = b;
        code[size + 3] = c;
        code[size + 4] = d;
        size += 5;
    }

    /** Adds a call of glUniform{width}fv with {@code count} vectors. */
    void addUniform(int location, int count, int width, FloatBuffer floats) {
        add(UNIFORM, location, count, width, values.size());
        values.add(floats);
    }

    /** Returns the number of GL calls. */
    int count() {
        return size / 5;
    }

    void replay(Gl gl) {
        if (fixed == null) {
            fixed = values.toArray(new FloatBuffer[0]);
        }
        for (int i = 0; i < size; i += 5) {
            int a = code[i + 1];
            int b = code[i + 2];
            switch (code[i]) {
                case BIND_FRAMEBUFFER:
                    gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, a);
                    break;
                case VIEWPORT:
                    gl.glViewport(0, 0, a, b);
                    break;
                case CLEAR_COLOR:
                    gl.glClearColor(
                            (float) (a / 255.0),
                            (float) (b / 255.0),
                            (float) (code[i + 3] / 255.0),
                            (float) (code[i + 4] / 255.0));
                    break;
                case CLEAR:
                    gl.glClear(Gl.GL_COLOR_BUFFER_BIT);
                    break;
                case USE_PROGRAM:
                    gl.glUseProgram(a);
                    break;
                case ACTIVE_TEXTURE:
                    gl.glActiveTexture(a);
                    break;
                case BIND_TEXTURE:
                    gl.glBindTexture(Gl.GL_TEXTURE_2D, a);
                    break;
                case UNIFORM:
                    uniform(gl, a, b, code[i + 3], fixed[code[i + 4]]);
                    break;
                default:
                    gl.glDrawArrays(Gl.GL_TRIANGLES, a, b);
            }
        }
    }

    private static void uniform(Gl gl, int location, int count, int width, FloatBuffer values) {
        if (width == 4) {
            gl.glUniform4fv(location, count, values);
        } else if (width == 3) {
            gl.glUniform3fv(location, count, values);
        } else if (width == 2) {
            gl.glUniform2fv(location, count, values);
        } else {
            gl.glUniform1fv(location, count, values);
        }
    }
}
