package glslinfer.app;

import glslinfer.runner.Gl;
import glslinfer.runner.GlObjects;
import glslinfer.runner.Manifest;
import java.nio.ByteBuffer;

/** The camera's texture, drawn twice: into the network's input, and onto the screen. */
final class CameraPicture {
    private static final String[] ATTRIBUTES = {"position"};

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

    private int input;
    private int inputTaps = -1;
    private int inputTransform;
    private int inputUpright;
    private int inputCorner;
    private int inputOrigin;
    private int inputSide;
    private int inputRatio;

    // What the camera sends, and how the screen is turned.
    private int width = 1;
    private int height = 1;
    private int sensorDegrees;
    private boolean front;

    /**
     * @param vertex text of full.vert
     * @param inputFragment text of camera_input.frag
     * @param previewFragment text of camera_preview.frag
     */
    CameraPicture(Gl gl, String vertex, String inputFragment, String previewFragment) {
        this.gl = gl;
        this.vertex = vertex;
        this.inputFragment = inputFragment;
        objects = new GlObjects(gl);
        uniforms = new Uniforms(gl);
        gl.glActiveTexture(Gl.GL_TEXTURE0);
        texture = objects.externalTexture();
        ByteBuffer corners = GlObjects.direct(24);
        corners.asFloatBuffer().put(new float[] {-1, -1, 3, -1, -1, 3});
        triangle = objects.buffer(corners);
        preview = objects.program(vertex, previewFragment, ATTRIBUTES, "the preview");
        previewTransform = gl.glGetUniformLocation(preview, "transform");
        previewShown = gl.glGetUniformLocation(preview, "shown");
    }

    /** Says what the camera sends: pixels of its buffers, how its sensor is turned, and whether it faces the user. */
    void setCamera(int width, int height, int sensorDegrees, boolean front) {
        this.width = width;
        this.height = height;
        this.sensorDegrees = sensorDegrees;
        this.front = front;
    }

    /** Takes the matrix of the camera's latest picture. */
    float[] surfaceMatrix() {
        return surface;
    }

    int uprightWidth(int rotation) {
        return Orientation.swapsSides(sensorDegrees, rotation) ? height : width;
    }

    int uprightHeight(int rotation) {
        return Orientation.swapsSides(sensorDegrees, rotation) ? width : height;
    }

    /** Draws the centred square into the picture of a network; a front camera's as others see it, not as a mirror. */
    void drawInput(int framebuffer, Manifest.Input to, int rotation) {
        int wide = uprightWidth(rotation);
        int high = uprightHeight(rotation);
        int side = Math.min(wide, high);
        float ratio = (float) side / to.size;
        useInput(side <= to.size ? 0 : (int) Math.ceil(ratio) + 1);
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, framebuffer);
        gl.glViewport(to.x, to.y, to.size, to.size);
        Orientation.toTexture(surface, rotation, front, matrix);
        gl.glUniformMatrix4fv(inputTransform, matrix);
        uniforms.set(inputUpright, wide, high);
        uniforms.set(inputCorner, (wide - side) / 2, (high - side) / 2);
        uniforms.set(inputOrigin, to.x, to.y);
        uniforms.set(inputSide, side);
        uniforms.set(inputRatio, ratio);
        draw();
    }

    /** Draws what fits the screen, {@code screenWidth} x {@code screenHeight} pixels; a front camera's as a mirror. */
    void drawPreview(int screenWidth, int screenHeight, int rotation) {
        float wide = uprightWidth(rotation);
        float high = uprightHeight(rotation);
        float scale = Math.max(screenWidth / wide, screenHeight / high);
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
        gl.glViewport(0, 0, screenWidth, screenHeight);
        gl.glClear(Gl.GL_COLOR_BUFFER_BIT);
        gl.glUseProgram(preview);
        Orientation.toTexture(surface, rotation, false, matrix);
        gl.glUniformMatrix4fv(previewTransform, matrix);
        uniforms.set(previewShown, screenWidth / (wide * scale), screenHeight / (high * scale));
        draw();
    }

    /** Compiles the program for that many taps, if it is not that of the last time. */
    private void useInput(int taps) {
        if (taps != inputTaps) {
            String fragment = "#version 100\n#define TAPS " + taps + "\n" + inputFragment;
            input = objects.program(vertex, fragment, ATTRIBUTES, "the camera's picture");
            inputTaps = taps;
            inputTransform = gl.glGetUniformLocation(input, "transform");
            inputUpright = gl.glGetUniformLocation(input, "upright");
            inputCorner = gl.glGetUniformLocation(input, "corner");
            inputOrigin = gl.glGetUniformLocation(input, "origin");
            inputSide = gl.glGetUniformLocation(input, "side");
            inputRatio = gl.glGetUniformLocation(input, "ratio");
        }
        gl.glUseProgram(input);
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
