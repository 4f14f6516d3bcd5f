package glslinfer.gles;

import android.opengl.GLES20;
import glslinfer.runner.Gl;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/** The runner's GL calls on Android: {@code android.opengl.GLES20}, on the thread of a current ES 2.0 context. */
public final class AndroidGl implements Gl {
    /** Array for the single value that a call reads or returns. */
    private final int[] holder = new int[1];

    private int[] only(int name) {
        holder[0] = name;
        return holder;
    }

    /** Returns a buffer at its first element, as the runner expects; GLES20 starts at the position. */
    private static Buffer first(Buffer buffer) {
        return buffer == null ? null : buffer.rewind();
    }

    private static FloatBuffer first(FloatBuffer buffer) {
        first((Buffer) buffer);
        return buffer;
    }

    @Override
    public void glActiveTexture(int unit) {
        GLES20.glActiveTexture(unit);
    }

    @Override
    public void glAttachShader(int program, int shader) {
        GLES20.glAttachShader(program, shader);
    }

    @Override
    public void glBindAttribLocation(int program, int location, String name) {
        GLES20.glBindAttribLocation(program, location, name);
    }

    @Override
    public void glBindBuffer(int target, int buffer) {
        GLES20.glBindBuffer(target, buffer);
    }

    @Override
    public void glBindFramebuffer(int target, int framebuffer) {
        GLES20.glBindFramebuffer(target, framebuffer);
    }

    @Override
    public void glBindTexture(int target, int texture) {
        GLES20.glBindTexture(target, texture);
    }

    @Override
    public void glBufferData(int target, int bytes, ByteBuffer data, int usage) {
        GLES20.glBufferData(target, bytes, first(data), usage);
    }

    @Override
    public int glCheckFramebufferStatus(int target) {
        return GLES20.glCheckFramebufferStatus(target);
    }

    @Override
    public void glClear(int mask) {
        GLES20.glClear(mask);
    }

    @Override
    public void glClearColor(float red, float green, float blue, float alpha) {
        GLES20.glClearColor(red, green, blue, alpha);
    }

    @Override
    public void glCompileShader(int shader) {
        GLES20.glCompileShader(shader);
    }

    @Override
    public int glCreateProgram() {
        return GLES20.glCreateProgram();
    }

    @Override
    public int glCreateShader(int kind) {
        return GLES20.glCreateShader(kind);
    }

    @Override
    public void glDeleteBuffer(int buffer) {
        GLES20.glDeleteBuffers(1, only(buffer), 0);
    }

    @Override
    public void glDeleteFramebuffer(int framebuffer) {
        GLES20.glDeleteFramebuffers(1, only(framebuffer), 0);
    }

    @Override
    public void glDeleteProgram(int program) {
        GLES20.glDeleteProgram(program);
    }

    @Override
    public void glDeleteShader(int shader) {
        GLES20.glDeleteShader(shader);
    }

    @Override
    public void glDeleteTexture(int texture) {
        GLES20.glDeleteTextures(1, only(texture), 0);
    }

    @Override
    public void glDetachShader(int program, int shader) {
        GLES20.glDetachShader(program, shader);
    }

    @Override
    public void glDisable(int capability) {
        GLES20.glDisable(capability);
    }

    @Override
    public void glDisableVertexAttribArray(int location) {
        GLES20.glDisableVertexAttribArray(location);
    }

    @Override
    public void glDrawArrays(int mode, int first, int count) {
        GLES20.glDrawArrays(mode, first, count);
    }

    @Override
    public void glEnableVertexAttribArray(int location) {
        GLES20.glEnableVertexAttribArray(location);
    }

    @Override
    public void glFinish() {
        GLES20.glFinish();
    }

    @Override
    public void glFramebufferTexture2D(int target, int attachment, int textureTarget, int texture, int level) {
        GLES20.glFramebufferTexture2D(target, attachment, textureTarget, texture, level);
    }

    @Override
    public int glGenBuffer() {
        GLES20.glGenBuffers(1, holder, 0);
        return holder[0];
    }

    @Override
    public int glGenFramebuffer() {
        GLES20.glGenFramebuffers(1, holder, 0);
        return holder[0];
    }

    @Override
    public int glGenTexture() {
        GLES20.glGenTextures(1, holder, 0);
        return holder[0];
    }

    @Override
    public int glGetError() {
        return GLES20.glGetError();
    }

    @Override
    public int glGetInteger(int name) {
        GLES20.glGetIntegerv(name, holder, 0);
        return holder[0];
    }

    @Override
    public int glGetProgram(int program, int name) {
        GLES20.glGetProgramiv(program, name, holder, 0);
        return holder[0];
    }

    @Override
    public String glGetProgramInfoLog(int program) {
        return GLES20.glGetProgramInfoLog(program);
    }

    @Override
    public int glGetShader(int shader, int name) {
        GLES20.glGetShaderiv(shader, name, holder, 0);
        return holder[0];
    }

    @Override
    public String glGetShaderInfoLog(int shader) {
        return GLES20.glGetShaderInfoLog(shader);
    }

    @Override
    public String glGetString(int name) {
        return GLES20.glGetString(name);
    }

    @Override
    public int glGetUniformLocation(int program, String name) {
        return GLES20.glGetUniformLocation(program, name);
    }

    @Override
    public void glLinkProgram(int program) {
        GLES20.glLinkProgram(program);
    }

    @Override
    public void glPixelStorei(int name, int value) {
        GLES20.glPixelStorei(name, value);
    }

    @Override
    public void glReadPixels(int x, int y, int width, int height, int format, int type, ByteBuffer pixels) {
        GLES20.glReadPixels(x, y, width, height, format, type, first(pixels));
    }

    @Override
    public void glShaderSource(int shader, String source) {
        GLES20.glShaderSource(shader, source);
    }

    @Override
    public void glTexImage2D(
            int target, int level, int internal, int width, int height, int border, int format, int type,
            ByteBuffer pixels) {
        GLES20.glTexImage2D(target, level, internal, width, height, border, format, type, first(pixels));
    }

    @Override
    public void glTexParameteri(int target, int name, int value) {
        GLES20.glTexParameteri(target, name, value);
    }

    @Override
    public void glTexSubImage2D(
            int target, int level, int x, int y, int width, int height, int format, int type, ByteBuffer pixels) {
        GLES20.glTexSubImage2D(target, level, x, y, width, height, format, type, first(pixels));
    }

    @Override
    public void glUniform1fv(int location, int count, FloatBuffer values) {
        GLES20.glUniform1fv(location, count, first(values));
    }

    @Override
    public void glUniform1i(int location, int value) {
        GLES20.glUniform1i(location, value);
    }

    @Override
    public void glUniform2fv(int location, int count, FloatBuffer values) {
        GLES20.glUniform2fv(location, count, first(values));
    }

    @Override
    public void glUniform3fv(int location, int count, FloatBuffer values) {
        GLES20.glUniform3fv(location, count, first(values));
    }

    @Override
    public void glUniform4fv(int location, int count, FloatBuffer values) {
        GLES20.glUniform4fv(location, count, first(values));
    }

    @Override
    public void glUniformMatrix4fv(int location, float[] columns) {
        GLES20.glUniformMatrix4fv(location, 1, false, columns, 0);
    }

    @Override
    public void glUseProgram(int program) {
        GLES20.glUseProgram(program);
    }

    @Override
    public void glVertexAttribPointer(int location, int size, int type, boolean normalized, int stride, int offset) {
        GLES20.glVertexAttribPointer(location, size, type, normalized, stride, offset);
    }

    @Override
    public void glViewport(int x, int y, int width, int height) {
        GLES20.glViewport(x, y, width, height);
    }
}
