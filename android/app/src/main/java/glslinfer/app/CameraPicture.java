package glslinfer.app;

import glslinfer.runner.Fit;
import glslinfer.runner.Gl;
import glslinfer.runner.GlObjects;
import glslinfer.runner.Input;
import glslinfer.tasks.Cut;
import glslinfer.tasks.Mask;
import java.nio.ByteBuffer;

/** The camera's texture, drawn into networks' inputs, complete or a cut of it, and onto the screen. */
final class CameraPicture {
    static final String[] ATTRIBUTES = {"position"};

    final int texture;

    private final Gl gl;
    private final GlObjects objects;
    private final String vertex;
    private final String inputFragment;
    private final int triangle;
    private final int preview;
    private final int previewTransform;
    private final int previewShown;
    private final float[] matrix = new float[16];
    private final float[] surface = new float[16];
    private final Uniforms uniforms;
    private final CameraCut cut;
    private final CameraMask mask;

    private int input;
    private String inputLines = "";
    private int inputTransform;
    private int inputUpright;
    private int inputCorner;
    private int inputSide;
    private int inputOrigin;
    private int inputSize;
    private int inputRatio;

    // The last input with its upright width and height, so that a frame allocates nothing.
    private Input placedFor;
    private int placedWide;
    private int placedHigh;
    private Fit.Place place;

    // Camera and screen: size of the buffers, and rotation.
    private int width = 1;
    private int height = 1;
    private int sensorDegrees;
    private boolean front;

    /** @param models provides the shaders */
    CameraPicture(Gl gl, Models models) {
        this.gl = gl;
        vertex = models.text("shaders/full.vert");
        inputFragment = models.text("shaders/camera_input.frag");
        objects = new GlObjects(gl);
        uniforms = new Uniforms(gl);
        gl.glActiveTexture(Gl.GL_TEXTURE0);
        texture = objects.externalTexture();
        ByteBuffer corners = GlObjects.direct(24);
        corners.asFloatBuffer().put(new float[] {-1, -1, 3, -1, -1, 3});
        triangle = objects.buffer(corners);
        preview = objects.program(vertex, models.text("shaders/camera_preview.frag"), ATTRIBUTES, "the preview");
        cut = new CameraCut(gl, objects, vertex, models.text("shaders/camera_cut.frag"));
        mask = new CameraMask(gl, objects, vertex, models.text("shaders/camera_mask.frag"));
        previewTransform = gl.glGetUniformLocation(preview, "transform");
        previewShown = gl.glGetUniformLocation(preview, "shown");
    }

    /**
     * Sets the properties of the camera: pixels of its buffers, rotation of its sensor, and whether it faces the user.
     */
    void setCamera(int width, int height, int sensorDegrees, boolean front) {
        this.width = width;
        this.height = height;
        this.sensorDegrees = sensorDegrees;
        this.front = front;
    }

    /** Reads and returns the matrix of the camera's latest image. */
    float[] surfaceMatrix() {
        return surface;
    }

    int uprightWidth(int rotation) {
        return Orientation.swapsSides(sensorDegrees, rotation) ? height : width;
    }

    int uprightHeight(int rotation) {
        return Orientation.swapsSides(sensorDegrees, rotation) ? width : height;
    }

    /** Draws the region of the input's fit into an input; a front camera's image is not mirrored. */
    void drawInput(int framebuffer, Input to, int rotation) {
        int wide = uprightWidth(rotation);
        int high = uprightHeight(rotation);
        if (to != placedFor || wide != placedWide || high != placedHigh) {
            placedFor = to;
            placedWide = wide;
            placedHigh = high;
            place = to.fit.place(wide, high, to.width(), to.height());
            compileInput(to);
        }
        gl.glUseProgram(input);
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, framebuffer);
        gl.glViewport(to.view().x, to.view().y, to.width(), to.height());
        Orientation.toTexture(surface, rotation, front, matrix);
        gl.glUniformMatrix4fv(inputTransform, matrix);
        uniforms.set(inputUpright, wide, high);
        uniforms.set(inputCorner, place.left, place.top);
        uniforms.set(inputSide, place.width, place.height);
        uniforms.set(inputOrigin, to.view().x + place.toLeft, to.view().y + place.toTop);
        uniforms.set(inputSize, place.toWidth, place.toHeight);
        uniforms.set(inputRatio, (float) place.width / place.toWidth, (float) place.height / place.toHeight);
        draw();
    }

    /** Draws a cut of the upright image over an entire input; not mirrored, as for {@link #drawInput}. */
    void drawCut(int framebuffer, Input to, Cut part, int rotation) {
        Orientation.toTexture(surface, rotation, front, matrix);
        cut.prepare(framebuffer, to, part, matrix, uprightWidth(rotation), uprightHeight(rotation));
        draw();
    }

    /** Sets the mask outside of which the screen shows a blurred image; null for none. */
    void setMask(Mask newMask) {
        mask.set(newMask);
    }

    /** Returns whether the screen shows a mirror image of the networks' inputs. */
    boolean isMirrored() {
        return front;
    }

    /**
     * Draws the region that fits the screen, {@code screenWidth} x {@code screenHeight} pixels; a front camera's image
     * is mirrored.
     */
    void drawPreview(int screenWidth, int screenHeight, int rotation) {
        float wide = uprightWidth(rotation);
        float high = uprightHeight(rotation);
        float scale = Math.max(screenWidth / wide, screenHeight / high);
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
        gl.glViewport(0, 0, screenWidth, screenHeight);
        gl.glClear(Gl.GL_COLOR_BUFFER_BIT);
        Orientation.toTexture(surface, rotation, false, matrix);
        float across = screenWidth / (wide * scale);
        float down = screenHeight / (high * scale);
        if (mask.isSet()) {
            mask.prepare(matrix, across, down, uprightWidth(rotation), uprightHeight(rotation), front);
        } else {
            gl.glUseProgram(preview);
            gl.glUniformMatrix4fv(previewTransform, matrix);
            uniforms.set(previewShown, across, down);
        }
        draw();
    }

    /** Compiles the program for the current input, if it has changed. */
    private void compileInput(Input to) {
        String lines = "#version 100\n#define TAPS_X " + taps(place.width, place.toWidth) + "\n#define TAPS_Y "
                + taps(place.height, place.toHeight) + "\n" + (to.channels() == 1 ? "#define GREY\n" : "");
        if (lines.equals(inputLines)) {
            return;
        }
        input = objects.program(vertex, lines + inputFragment, ATTRIBUTES, "the camera's picture");
        inputLines = lines;
        inputTransform = gl.glGetUniformLocation(input, "transform");
        inputUpright = gl.glGetUniformLocation(input, "upright");
        inputCorner = gl.glGetUniformLocation(input, "corner");
        inputSide = gl.glGetUniformLocation(input, "side");
        inputOrigin = gl.glGetUniformLocation(input, "origin");
        inputSize = gl.glGetUniformLocation(input, "size");
        inputRatio = gl.glGetUniformLocation(input, "ratio");
    }

    /** Returns the largest number of pixels of {@code from} under a pixel of {@code to}; 1 when enlarging. */
    private static int taps(int from, int to) {
        return from <= to ? 1 : (from + to - 1) / to + 1;
    }

    private void draw() {
        gl.glActiveTexture(Gl.GL_TEXTURE0);
        gl.glBindTexture(Gl.GL_TEXTURE_EXTERNAL_OES, texture);
        gl.glBindBuffer(Gl.GL_ARRAY_BUFFER, triangle);
        gl.glVertexAttribPointer(0, 2, Gl.GL_FLOAT, false, 0, 0);
        gl.glEnableVertexAttribArray(0);
        gl.glDrawArrays(Gl.GL_TRIANGLES, 0, 3);
    }
}
