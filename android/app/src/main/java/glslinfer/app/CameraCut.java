package glslinfer.app;

import glslinfer.runner.Gl;
import glslinfer.runner.GlObjects;
import glslinfer.runner.Input;
import glslinfer.tasks.Cut;

/** Draws rotated rectangles of the camera image into networks' inputs, in one pass each. */
final class CameraCut {
    /** Largest number of samples of a pixel along an axis; a larger cut skips some of the camera's pixels. */
    private static final int MOST_TAPS = 16;

    private final Gl gl;
    private final GlObjects objects;
    private final String vertex;
    private final String fragment;
    private final Uniforms uniforms;

    /** Programs by number of samples, for colour and for grey; 0 if not compiled yet. */
    private final int[][] programs = new int[2][MOST_TAPS + 1];

    CameraCut(Gl gl, GlObjects objects, String vertex, String fragment) {
        this.gl = gl;
        this.objects = objects;
        this.vertex = vertex;
        this.fragment = fragment;
        uniforms = new Uniforms(gl);
    }

    /**
     * Sets the program, target and uniforms for a cut; then a triangle over the viewport draws it.
     *
     * @param framebuffer renders into the texture of the network's input
     * @param to the network's input
     * @param cut rectangle of the upright image
     * @param transform from the upright image to the camera's texture
     * @param wide width of the upright image, in pixels
     * @param high height of the upright image, in pixels
     */
    void prepare(int framebuffer, Input to, Cut cut, float[] transform, int wide, int high) {
        double largest = Math.max(cut.width / to.width(), cut.height / to.height());
        int taps = (int) Math.max(1, Math.min(MOST_TAPS, Math.ceil(largest)));
        int program = program(taps, to.channels() == 1);
        double[] first = cut.toPicture(0, 0);
        double[] right = cut.toPicture(1.0 / to.width(), 0);
        double[] below = cut.toPicture(0, 1.0 / to.height());
        gl.glUseProgram(program);
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, framebuffer);
        gl.glViewport(to.view().x, to.view().y, to.width(), to.height());
        gl.glUniformMatrix4fv(gl.glGetUniformLocation(program, "transform"), transform);
        set(program, "upright", wide, high);
        set(program, "origin", to.view().x, to.view().y);
        set(program, "first", first[0], first[1]);
        set(program, "across", right[0] - first[0], right[1] - first[1]);
        set(program, "down", below[0] - first[0], below[1] - first[1]);
    }

    private void set(int program, String name, double x, double y) {
        uniforms.set(gl.glGetUniformLocation(program, name), (float) x, (float) y);
    }

    private int program(int taps, boolean grey) {
        int[] compiled = programs[grey ? 1 : 0];
        if (compiled[taps] == 0) {
            String lines = "#version 100\n#define TAPS " + taps + "\n" + (grey ? "#define GREY\n" : "");
            compiled[taps] = objects.program(vertex, lines + fragment, CameraPicture.ATTRIBUTES, "a cut");
        }
        return compiled[taps];
    }
}
