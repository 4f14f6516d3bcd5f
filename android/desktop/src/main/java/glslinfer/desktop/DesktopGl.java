package glslinfer.desktop;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import glslinfer.runner.Gl;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;

/** OpenGL ES 2.0 of a Linux machine, by JNA's direct mapping onto libGLESv2, for tests of the runner. */
public final class DesktopGl implements Gl {
    private final int[] result = new int[1];

    private static String log(byte[] bytes, int length) {
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    @Override
    public void glActiveTexture(int unit) {
        NativeGl.glActiveTexture(unit);
    }

    @Override
    public void glAttachShader(int program, int shader) {
        NativeGl.glAttachShader(program, shader);
    }

    @Override
    public void glBindAttribLocation(int program, int location, String name) {
        NativeGl.glBindAttribLocation(program, location, name);
    }

    @Override
    public void glBindBuffer(int target, int buffer) {
        NativeGl.glBindBuffer(target, buffer);
    }

    @Override
    public void glBindFramebuffer(int target, int framebuffer) {
        NativeGl.glBindFramebuffer(target, framebuffer);
    }

    @Override
    public void glBindTexture(int target, int texture) {
        NativeGl.glBindTexture(target, texture);
    }

    @Override
    public void glBufferData(int target, int bytes, ByteBuffer data, int usage) {
        NativeGl.glBufferData(target, bytes, data, usage);
    }

    @Override
    public int glCheckFramebufferStatus(int target) {
        return NativeGl.glCheckFramebufferStatus(target);
    }

    @Override
    public void glClear(int mask) {
        NativeGl.glClear(mask);
    }

    @Override
    public void glClearColor(float red, float green, float blue, float alpha) {
        NativeGl.glClearColor(red, green, blue, alpha);
    }

    @Override
    public void glCompileShader(int shader) {
        NativeGl.glCompileShader(shader);
    }

    @Override
    public int glCreateProgram() {
        return NativeGl.glCreateProgram();
    }

    @Override
    public int glCreateShader(int kind) {
        return NativeGl.glCreateShader(kind);
    }

    @Override
    public void glDeleteBuffer(int buffer) {
        NativeGl.glDeleteBuffers(1, new int[] {buffer});
    }

    @Override
    public void glDeleteFramebuffer(int framebuffer) {
        NativeGl.glDeleteFramebuffers(1, new int[] {framebuffer});
    }

    @Override
    public void glDeleteProgram(int program) {
        NativeGl.glDeleteProgram(program);
    }

    @Override
    public void glDeleteShader(int shader) {
        NativeGl.glDeleteShader(shader);
    }

    @Override
    public void glDeleteTexture(int texture) {
        NativeGl.glDeleteTextures(1, new int[] {texture});
    }

    @Override
    public void glDetachShader(int program, int shader) {
        NativeGl.glDetachShader(program, shader);
    }

    @Override
    public void glDisable(int capability) {
        NativeGl.glDisable(capability);
    }

    @Override
    public void glDisableVertexAttribArray(int location) {
        NativeGl.glDisableVertexAttribArray(location);
    }

    @Override
    public void glDrawArrays(int mode, int first, int count) {
        NativeGl.glDrawArrays(mode, first, count);
    }

    @Override
    public void glEnableVertexAttribArray(int location) {
        NativeGl.glEnableVertexAttribArray(location);
    }

    @Override
    public void glFinish() {
        NativeGl.glFinish();
    }

    @Override
    public void glFramebufferTexture2D(int target, int attachment, int textureTarget, int texture, int level) {
        NativeGl.glFramebufferTexture2D(target, attachment, textureTarget, texture, level);
    }

    @Override
    public int glGenBuffer() {
        NativeGl.glGenBuffers(1, result);
        return result[0];
    }

    @Override
    public int glGenFramebuffer() {
        NativeGl.glGenFramebuffers(1, result);
        return result[0];
    }

    @Override
    public int glGenTexture() {
        NativeGl.glGenTextures(1, result);
        return result[0];
    }

    @Override
    public int glGetError() {
        return NativeGl.glGetError();
    }

    @Override
    public int glGetInteger(int name) {
        NativeGl.glGetIntegerv(name, result);
        return result[0];
    }

    @Override
    public int glGetProgram(int program, int name) {
        NativeGl.glGetProgramiv(program, name, result);
        return result[0];
    }

    @Override
    public String glGetProgramInfoLog(int program) {
        byte[] bytes = new byte[8192];
        NativeGl.glGetProgramInfoLog(program, bytes.length, result, bytes);
        return log(bytes, result[0]);
    }

    @Override
    public int glGetShader(int shader, int name) {
        NativeGl.glGetShaderiv(shader, name, result);
        return result[0];
    }

    @Override
    public String glGetShaderInfoLog(int shader) {
        byte[] bytes = new byte[8192];
        NativeGl.glGetShaderInfoLog(shader, bytes.length, result, bytes);
        return log(bytes, result[0]);
    }

    @Override
    public String glGetString(int name) {
        return NativeGl.glGetString(name);
    }

    @Override
    public int glGetUniformLocation(int program, String name) {
        return NativeGl.glGetUniformLocation(program, name);
    }

    @Override
    public void glLinkProgram(int program) {
        NativeGl.glLinkProgram(program);
    }

    @Override
    public void glPixelStorei(int name, int value) {
        NativeGl.glPixelStorei(name, value);
    }

    @Override
    public void glReadPixels(int x, int y, int width, int height, int format, int type, ByteBuffer pixels) {
        NativeGl.glReadPixels(x, y, width, height, format, type, pixels);
    }

    @Override
    public void glShaderSource(int shader, String source) {
        byte[] bytes = source.getBytes(StandardCharsets.UTF_8);
        // Direct mapping does not support Pointer[], so the array of one string is built manually.
        Memory text = new Memory(bytes.length + 1);
        text.write(0, bytes, 0, bytes.length);
        text.setByte(bytes.length, (byte) 0);
        Memory array = new Memory(Native.POINTER_SIZE);
        array.setPointer(0, text);
        NativeGl.glShaderSource(shader, 1, array, null);
    }

    @Override
    public void glTexImage2D(
            int target, int level, int internal, int width, int height, int border, int format, int type,
            ByteBuffer pixels) {
        NativeGl.glTexImage2D(target, level, internal, width, height, border, format, type, pixels);
    }

    @Override
    public void glTexParameteri(int target, int name, int value) {
        NativeGl.glTexParameteri(target, name, value);
    }

    @Override
    public void glTexSubImage2D(
            int target, int level, int x, int y, int width, int height, int format, int type, ByteBuffer pixels) {
        NativeGl.glTexSubImage2D(target, level, x, y, width, height, format, type, pixels);
    }

    @Override
    public void glUniform1fv(int location, int count, FloatBuffer values) {
        NativeGl.glUniform1fv(location, count, values);
    }

    @Override
    public void glUniform1i(int location, int value) {
        NativeGl.glUniform1i(location, value);
    }

    @Override
    public void glUniform2fv(int location, int count, FloatBuffer values) {
        NativeGl.glUniform2fv(location, count, values);
    }

    @Override
    public void glUniform3fv(int location, int count, FloatBuffer values) {
        NativeGl.glUniform3fv(location, count, values);
    }

    @Override
    public void glUniform4fv(int location, int count, FloatBuffer values) {
        NativeGl.glUniform4fv(location, count, values);
    }

    @Override
    public void glUniformMatrix4fv(int location, float[] columns) {
        NativeGl.glUniformMatrix4fv(location, 1, (byte) 0, columns);
    }

    @Override
    public void glUseProgram(int program) {
        NativeGl.glUseProgram(program);
    }

    @Override
    public void glVertexAttribPointer(int location, int size, int type, boolean normalized, int stride, int offset) {
        // A pointer in C; a long has the same size on 64-bit machines, and needs no object.
        NativeGl.glVertexAttribPointer(location, size, type, (byte) (normalized ? 1 : 0), stride, offset);
    }

    @Override
    public void glViewport(int x, int y, int width, int height) {
        NativeGl.glViewport(x, y, width, height);
    }
}
