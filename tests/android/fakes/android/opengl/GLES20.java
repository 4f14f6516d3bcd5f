package android.opengl;

import glslinfer.desktop.DesktopGl;
import glslinfer.runner.Gl;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/** This machine's OpenGL ES 2.0 under the names and signatures of Android's class. */
public class GLES20 {
    private static final Gl GL = new DesktopGl();

    public static void glActiveTexture(int unit) {
        GL.glActiveTexture(unit);
    }

    public static void glAttachShader(int program, int shader) {
        GL.glAttachShader(program, shader);
    }

    public static void glBindAttribLocation(int program, int location, String name) {
        GL.glBindAttribLocation(program, location, name);
    }

    public static void glBindBuffer(int target, int buffer) {
        GL.glBindBuffer(target, buffer);
    }

    public static void glBindFramebuffer(int target, int framebuffer) {
        GL.glBindFramebuffer(target, framebuffer);
    }

    public static void glBindTexture(int target, int texture) {
        GL.glBindTexture(target, texture);
    }

    public static void glBufferData(int target, int bytes, Buffer data, int usage) {
        GL.glBufferData(target, bytes, (ByteBuffer) data, usage);
    }

    public static int glCheckFramebufferStatus(int target) {
        return GL.glCheckFramebufferStatus(target);
    }

    public static void glClear(int mask) {
        GL.glClear(mask);
    }

    public static void glClearColor(float red, float green, float blue, float alpha) {
        GL.glClearColor(red, green, blue, alpha);
    }

    public static void glCompileShader(int shader) {
        GL.glCompileShader(shader);
    }

    public static int glCreateProgram() {
        return GL.glCreateProgram();
    }

    public static int glCreateShader(int kind) {
        return GL.glCreateShader(kind);
    }

    public static void glDeleteBuffers(int count, int[] names, int offset) {
        GL.glDeleteBuffer(names[offset]);
    }

    public static void glDeleteFramebuffers(int count, int[] names, int offset) {
        GL.glDeleteFramebuffer(names[offset]);
    }

    public static void glDeleteProgram(int program) {
        GL.glDeleteProgram(program);
    }

    public static void glDeleteShader(int shader) {
        GL.glDeleteShader(shader);
    }

    public static void glDeleteTextures(int count, int[] names, int offset) {
        GL.glDeleteTexture(names[offset]);
    }

    public static void glDetachShader(int program, int shader) {
        GL.glDetachShader(program, shader);
    }

    public static void glDisable(int capability) {
        GL.glDisable(capability);
    }

    public static void glDisableVertexAttribArray(int location) {
        GL.glDisableVertexAttribArray(location);
    }

    public static void glDrawArrays(int mode, int first, int count) {
        GL.glDrawArrays(mode, first, count);
    }

    public static void glEnableVertexAttribArray(int location) {
        GL.glEnableVertexAttribArray(location);
    }

    public static void glFinish() {
        GL.glFinish();
    }

    public static void glFramebufferTexture2D(int target, int attachment, int textureTarget, int texture, int level) {
        GL.glFramebufferTexture2D(target, attachment, textureTarget, texture, level);
    }

    public static void glGenBuffers(int count, int[] names, int offset) {
        names[offset] = GL.glGenBuffer();
    }

    public static void glGenFramebuffers(int count, int[] names, int offset) {
        names[offset] = GL.glGenFramebuffer();
    }

    public static void glGenTextures(int count, int[] names, int offset) {
        names[offset] = GL.glGenTexture();
    }

    public static int glGetError() {
        return GL.glGetError();
    }

    public static void glGetIntegerv(int name, int[] values, int offset) {
        values[offset] = GL.glGetInteger(name);
    }

    public static String glGetProgramInfoLog(int program) {
        return GL.glGetProgramInfoLog(program);
    }

    public static void glGetProgramiv(int program, int name, int[] values, int offset) {
        values[offset] = GL.glGetProgram(program, name);
    }

    public static String glGetShaderInfoLog(int shader) {
        return GL.glGetShaderInfoLog(shader);
    }

    public static void glGetShaderiv(int shader, int name, int[] values, int offset) {
        values[offset] = GL.glGetShader(shader, name);
    }

    public static String glGetString(int name) {
        return GL.glGetString(name);
    }

    public static int glGetUniformLocation(int program, String name) {
        return GL.glGetUniformLocation(program, name);
    }

    public static void glLinkProgram(int program) {
        GL.glLinkProgram(program);
    }

    public static void glPixelStorei(int name, int value) {
        GL.glPixelStorei(name, value);
    }

    public static void glReadPixels(int x, int y, int width, int height, int format, int type, Buffer pixels) {
        GL.glReadPixels(x, y, width, height, format, type, (ByteBuffer) pixels);
    }

    public static void glShaderSource(int shader, String source) {
        GL.glShaderSource(shader, source);
    }

    public static void glTexImage2D(
            int target, int level, int internal, int width, int height, int border, int format, int type,
            Buffer pixels) {
        GL.glTexImage2D(target, level, internal, width, height, border, format, type, (ByteBuffer) pixels);
    }

    public static void glTexParameteri(int target, int name, int value) {
        GL.glTexParameteri(target, name, value);
    }

    public static void glTexSubImage2D(
            int target, int level, int x, int y, int width, int height, int format, int type, Buffer pixels) {
        GL.glTexSubImage2D(target, level, x, y, width, height, format, type, (ByteBuffer) pixels);
    }

    public static void glUniform1fv(int location, int count, FloatBuffer values) {
        GL.glUniform1fv(location, count, values);
    }

    public static void glUniform1i(int location, int value) {
        GL.glUniform1i(location, value);
    }

    public static void glUniform2fv(int location, int count, FloatBuffer values) {
        GL.glUniform2fv(location, count, values);
    }

    public static void glUniform3fv(int location, int count, FloatBuffer values) {
        GL.glUniform3fv(location, count, values);
    }

    public static void glUniform4fv(int location, int count, FloatBuffer values) {
        GL.glUniform4fv(location, count, values);
    }

    public static void glUniformMatrix4fv(int location, int count, boolean transpose, float[] values, int offset) {
        GL.glUniformMatrix4fv(location, values);
    }

    public static void glUseProgram(int program) {
        GL.glUseProgram(program);
    }

    public static void glVertexAttribPointer(
            int location, int size, int type, boolean normalized, int stride, int offset) {
        GL.glVertexAttribPointer(location, size, type, normalized, stride, offset);
    }

    public static void glViewport(int x, int y, int width, int height) {
        GL.glViewport(x, y, width, height);
    }
}
