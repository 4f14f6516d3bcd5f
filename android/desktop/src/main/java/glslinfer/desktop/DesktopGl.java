package glslinfer.desktop;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import glslinfer.runner.Gl;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;

/** OpenGL ES 2.0 of a Linux machine, by JNA's direct mapping onto libGLESv2: what the runner is tested on. */
public final class DesktopGl implements Gl {
    /** What JNA maps; names and parameters are those of the C header. */
    private static final class C {
        static {
            Native.register(C.class, "libGLESv2.so.2");
        }

        static native void glActiveTexture(int unit);

        static native void glAttachShader(int program, int shader);

        static native void glBindAttribLocation(int program, int index, String name);

        static native void glBindBuffer(int target, int buffer);

        static native void glBindFramebuffer(int target, int framebuffer);

        static native void glBindTexture(int target, int texture);

        static native void glBufferData(int target, long size, Buffer data, int usage);

        static native int glCheckFramebufferStatus(int target);

        static native void glClear(int mask);

        static native void glClearColor(float red, float green, float blue, float alpha);

        static native void glCompileShader(int shader);

        static native int glCreateProgram();

        static native int glCreateShader(int kind);

        static native void glDeleteBuffers(int count, int[] names);

        static native void glDeleteFramebuffers(int count, int[] names);

        static native void glDeleteProgram(int program);

        static native void glDeleteShader(int shader);

        static native void glDeleteTextures(int count, int[] names);

        static native void glDisable(int capability);

        static native void glDisableVertexAttribArray(int index);

        static native void glDrawArrays(int mode, int first, int count);

        static native void glEnableVertexAttribArray(int index);

        static native void glFinish();

        static native void glFramebufferTexture2D(int target, int attachment, int textureTarget, int texture,
                int level);

        static native void glGenBuffers(int count, int[] names);

        static native void glGenFramebuffers(int count, int[] names);

        static native void glGenTextures(int count, int[] names);

        static native int glGetError();

        static native void glGetIntegerv(int name, int[] values);

        static native void glGetProgramInfoLog(int program, int size, int[] length, byte[] log);

        static native void glGetProgramiv(int program, int name, int[] values);

        static native void glGetShaderInfoLog(int shader, int size, int[] length, byte[] log);

        static native void glGetShaderiv(int shader, int name, int[] values);

        static native String glGetString(int name);

        static native int glGetUniformLocation(int program, String name);

        static native void glLinkProgram(int program);

        static native void glPixelStorei(int name, int value);

        static native void glReadPixels(int x, int y, int width, int height, int format, int type, Buffer pixels);

        static native void glShaderSource(int shader, int count, Pointer sources, Pointer lengths);

        static native void glTexImage2D(
                int target, int level, int internal, int width, int height, int border, int format, int type,
                Buffer pixels);

        static native void glTexParameteri(int target, int name, int value);

        static native void glTexSubImage2D(
                int target, int level, int x, int y, int width, int height, int format, int type, Buffer pixels);

        static native void glUniform1fv(int location, int count, Buffer values);

        static native void glUniform1i(int location, int value);

        static native void glUniform2fv(int location, int count, Buffer values);

        static native void glUniform3fv(int location, int count, Buffer values);

        static native void glUniform4fv(int location, int count, Buffer values);

        static native void glUniformMatrix4fv(int location, int count, byte transpose, float[] values);

        static native void glUseProgram(int program);

        static native void glVertexAttribPointer(int index, int size, int type, byte normalized, int stride,
                long offset);

        static native void glViewport(int x, int y, int width, int height);
    }

    private final int[] one = new int[1];

    private static String log(byte[] bytes, int length) {
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    private int[] only(int name) {
        one[0] = name;
        return one;
    }

    @Override
    public void glActiveTexture(int unit) {
        C.glActiveTexture(unit);
    }

    @Override
    public void glAttachShader(int program, int shader) {
        C.glAttachShader(program, shader);
    }

    @Override
    public void glBindAttribLocation(int program, int location, String name) {
        C.glBindAttribLocation(program, location, name);
    }

    @Override
    public void glBindBuffer(int target, int buffer) {
        C.glBindBuffer(target, buffer);
    }

    @Override
    public void glBindFramebuffer(int target, int framebuffer) {
        C.glBindFramebuffer(target, framebuffer);
    }

    @Override
    public void glBindTexture(int target, int texture) {
        C.glBindTexture(target, texture);
    }

    @Override
    public void glBufferData(int target, int bytes, ByteBuffer data, int usage) {
        C.glBufferData(target, bytes, data, usage);
    }

    @Override
    public int glCheckFramebufferStatus(int target) {
        return C.glCheckFramebufferStatus(target);
    }

    @Override
    public void glClear(int mask) {
        C.glClear(mask);
    }

    @Override
    public void glClearColor(float red, float green, float blue, float alpha) {
        C.glClearColor(red, green, blue, alpha);
    }

    @Override
    public void glCompileShader(int shader) {
        C.glCompileShader(shader);
    }

    @Override
    public int glCreateProgram() {
        return C.glCreateProgram();
    }

    @Override
    public int glCreateShader(int kind) {
        return C.glCreateShader(kind);
    }

    @Override
    public void glDeleteBuffer(int buffer) {
        C.glDeleteBuffers(1, only(buffer));
    }

    @Override
    public void glDeleteFramebuffer(int framebuffer) {
        C.glDeleteFramebuffers(1, only(framebuffer));
    }

    @Override
    public void glDeleteProgram(int program) {
        C.glDeleteProgram(program);
    }

    @Override
    public void glDeleteShader(int shader) {
        C.glDeleteShader(shader);
    }

    @Override
    public void glDeleteTexture(int texture) {
        C.glDeleteTextures(1, only(texture));
    }

    @Override
    public void glDisable(int capability) {
        C.glDisable(capability);
    }

    @Override
    public void glDisableVertexAttribArray(int location) {
        C.glDisableVertexAttribArray(location);
    }

    @Override
    public void glDrawArrays(int mode, int first, int count) {
        C.glDrawArrays(mode, first, count);
    }

    @Override
    public void glEnableVertexAttribArray(int location) {
        C.glEnableVertexAttribArray(location);
    }

    @Override
    public void glFinish() {
        C.glFinish();
    }

    @Override
    public void glFramebufferTexture2D(int target, int attachment, int textureTarget, int texture, int level) {
        C.glFramebufferTexture2D(target, attachment, textureTarget, texture, level);
    }

    @Override
    public int glGenBuffer() {
        C.glGenBuffers(1, one);
        return one[0];
    }

    @Override
    public int glGenFramebuffer() {
        C.glGenFramebuffers(1, one);
        return one[0];
    }

    @Override
    public int glGenTexture() {
        C.glGenTextures(1, one);
        return one[0];
    }

    @Override
    public int glGetError() {
        return C.glGetError();
    }

    @Override
    public int glGetInteger(int name) {
        C.glGetIntegerv(name, one);
        return one[0];
    }

    @Override
    public int glGetProgram(int program, int name) {
        C.glGetProgramiv(program, name, one);
        return one[0];
    }

    @Override
    public String glGetProgramInfoLog(int program) {
        byte[] bytes = new byte[8192];
        C.glGetProgramInfoLog(program, bytes.length, one, bytes);
        return log(bytes, one[0]);
    }

    @Override
    public int glGetShader(int shader, int name) {
        C.glGetShaderiv(shader, name, one);
        return one[0];
    }

    @Override
    public String glGetShaderInfoLog(int shader) {
        byte[] bytes = new byte[8192];
        C.glGetShaderInfoLog(shader, bytes.length, one, bytes);
        return log(bytes, one[0]);
    }

    @Override
    public String glGetString(int name) {
        return C.glGetString(name);
    }

    @Override
    public int glGetUniformLocation(int program, String name) {
        return C.glGetUniformLocation(program, name);
    }

    @Override
    public void glLinkProgram(int program) {
        C.glLinkProgram(program);
    }

    @Override
    public void glPixelStorei(int name, int value) {
        C.glPixelStorei(name, value);
    }

    @Override
    public void glReadPixels(int x, int y, int width, int height, int format, int type, ByteBuffer pixels) {
        C.glReadPixels(x, y, width, height, format, type, pixels);
    }

    @Override
    public void glShaderSource(int shader, String source) {
        byte[] bytes = source.getBytes(StandardCharsets.UTF_8);
        // Direct mapping takes no Pointer[], so the array of one string is made by hand.
        Memory text = new Memory(bytes.length + 1);
        text.write(0, bytes, 0, bytes.length);
        text.setByte(bytes.length, (byte) 0);
        Memory array = new Memory(Native.POINTER_SIZE);
        array.setPointer(0, text);
        C.glShaderSource(shader, 1, array, null);
    }

    @Override
    public void glTexImage2D(
            int target, int level, int internal, int width, int height, int border, int format, int type,
            ByteBuffer pixels) {
        C.glTexImage2D(target, level, internal, width, height, border, format, type, pixels);
    }

    @Override
    public void glTexParameteri(int target, int name, int value) {
        C.glTexParameteri(target, name, value);
    }

    @Override
    public void glTexSubImage2D(
            int target, int level, int x, int y, int width, int height, int format, int type, ByteBuffer pixels) {
        C.glTexSubImage2D(target, level, x, y, width, height, format, type, pixels);
    }

    @Override
    public void glUniform1fv(int location, int count, FloatBuffer values) {
        C.glUniform1fv(location, count, values);
    }

    @Override
    public void glUniform1i(int location, int value) {
        C.glUniform1i(location, value);
    }

    @Override
    public void glUniform2fv(int location, int count, FloatBuffer values) {
        C.glUniform2fv(location, count, values);
    }

    @Override
    public void glUniform3fv(int location, int count, FloatBuffer values) {
        C.glUniform3fv(location, count, values);
    }

    @Override
    public void glUniform4fv(int location, int count, FloatBuffer values) {
        C.glUniform4fv(location, count, values);
    }

    @Override
    public void glUniformMatrix4fv(int location, float[] columns) {
        C.glUniformMatrix4fv(location, 1, (byte) 0, columns);
    }

    @Override
    public void glUseProgram(int program) {
        C.glUseProgram(program);
    }

    @Override
    public void glVertexAttribPointer(int location, int size, int type, boolean normalized, int stride, int offset) {
        // A pointer in C; as a long, which has its size on every machine with 64 bits, it needs no object.
        C.glVertexAttribPointer(location, size, type, (byte) (normalized ? 1 : 0), stride, offset);
    }

    @Override
    public void glViewport(int x, int y, int width, int height) {
        C.glViewport(x, y, width, height);
    }
}
