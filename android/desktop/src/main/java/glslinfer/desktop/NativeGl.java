package glslinfer.desktop;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.Buffer;

/** Functions of libGLESv2 mapped by JNA; names and parameters are those of the C header. */
final class NativeGl {
    static {
        Native.register(NativeGl.class, "libGLESv2.so.2");
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

    static native void glDetachShader(int program, int shader);

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

    private NativeGl() {}
}
