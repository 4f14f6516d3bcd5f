package glslinfer.app;

import glslinfer.runner.Fit;
import glslinfer.runner.Gl;
import glslinfer.runner.GlObjects;
import glslinfer.tasks.Mask;
import java.nio.ByteBuffer;

/** Shows the camera image, blurred outside a mask; only the mask's values are transferred from the CPU. */
final class CameraMask {
    /** Radius of the blur, relative to the image's longer side. */
    private static final float BLUR = 0.02f;

    private final Gl gl;
    private final GlObjects objects;
    private final Uniforms uniforms;
    private final int program;

    private int texture;
    private int columns;
    private int rows;
    private ByteBuffer texels;
    private Mask mask;

    CameraMask(Gl gl, GlObjects objects, String vertex, String fragment) {
        this.gl = gl;
        this.objects = objects;
        uniforms = new Uniforms(gl);
        program = objects.program(vertex, fragment, CameraPicture.ATTRIBUTES, "the mask");
    }

    /** Sets the mask of a frame; null for none. */
    void set(Mask mask) {
        this.mask = mask;
        if (mask == null) {
            return;
        }
        byte[] numbers = mask.bytes();
        if (columns != mask.columns || rows != mask.rows) {
            columns = mask.columns;
            rows = mask.rows;
            texels = GlObjects.direct(4 * numbers.length);
            texture = objects.texture(columns, rows, null);
        }
        texels.clear();
        for (byte number : numbers) {
            texels.put(number).put(number).put(number).put((byte) 255);
        }
        texels.rewind();
        gl.glActiveTexture(Gl.GL_TEXTURE0 + 1);
        gl.glBindTexture(Gl.GL_TEXTURE_2D, texture);
        gl.glTexParameteri(Gl.GL_TEXTURE_2D, Gl.GL_TEXTURE_MIN_FILTER, Gl.GL_LINEAR);
        gl.glTexParameteri(Gl.GL_TEXTURE_2D, Gl.GL_TEXTURE_MAG_FILTER, Gl.GL_LINEAR);
        gl.glTexSubImage2D(
                Gl.GL_TEXTURE_2D, 0, 0, 0, columns, rows, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, texels);
        gl.glActiveTexture(Gl.GL_TEXTURE0);
    }

    boolean isSet() {
        return mask != null;
    }

    /**
     * Sets its program, textures and uniforms; then a triangle over the viewport draws the image.
     *
     * @param transform from the upright image to the camera's texture
     * @param shownWide the region of the image that fits the screen
     * @param wide width of the upright image, in pixels
     * @param mirrored whether the screen shows a mirror image; the network's input is never mirrored
     */
    void prepare(float[] transform, float shownWide, float shownHigh, int wide, int high, boolean mirrored) {
        gl.glUseProgram(program);
        gl.glUniform1i(gl.glGetUniformLocation(program, "mask"), 1);
        gl.glUniformMatrix4fv(gl.glGetUniformLocation(program, "transform"), transform);
        set("shown", shownWide, shownHigh);
        set("edge", mask.low, mask.high);
        double longer = Math.max(wide, high);
        set("radius", BLUR * longer / wide, BLUR * longer / high);
        // From relative coordinates in the upright image, from its lower left, to its pixels, the network's, and
        // relative coordinates in the mask.
        Fit.Place place = mask.place;
        double[] density = mask.density();
        double across = density[0] / columns * place.toWidth / place.width;
        double down = density[1] / rows * place.toHeight / place.height;
        double left = density[0] / columns * place.toLeft - across * place.left;
        double top = density[1] / rows * place.toTop - down * place.top;
        set("scale", (mirrored ? -1 : 1) * across * wide, -down * high);
        set("offset", left + (mirrored ? across * wide : 0), top + down * high);
        gl.glActiveTexture(Gl.GL_TEXTURE0 + 1);
        gl.glBindTexture(Gl.GL_TEXTURE_2D, texture);
    }

    private void set(String name, double x, double y) {
        uniforms.set(gl.glGetUniformLocation(program, name), (float) x, (float) y);
    }
}
