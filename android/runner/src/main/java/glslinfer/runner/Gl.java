package glslinfer.runner;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * The OpenGL ES 2.0 calls of the runner; they act on the current context of the calling thread.
 *
 * <p>Names and constants are those of the Khronos header; functions for several objects there create, delete or query a
 * single one here. Buffers are direct and in native byte order, and are used from their first element, regardless of
 * their position.
 */
public interface Gl {
    int GL_ARRAY_BUFFER = 0x8892;
    int GL_BLEND = 0x0BE2;
    int GL_CLAMP_TO_EDGE = 0x812F;
    int GL_COLOR_ATTACHMENT0 = 0x8CE0;
    int GL_COLOR_BUFFER_BIT = 0x4000;
    int GL_COMPILE_STATUS = 0x8B81;
    int GL_CULL_FACE = 0x0B44;
    int GL_DEPTH_TEST = 0x0B71;
    int GL_DITHER = 0x0BD0;
    int GL_EXTENSIONS = 0x1F03;
    int GL_FLOAT = 0x1406;
    int GL_FRAGMENT_SHADER = 0x8B30;
    int GL_FRAMEBUFFER = 0x8D40;
    int GL_FRAMEBUFFER_COMPLETE = 0x8CD5;
    int GL_LINEAR = 0x2601;
    int GL_LINK_STATUS = 0x8B82;
    int GL_MAX_FRAGMENT_UNIFORM_VECTORS = 0x8DFD;
    int GL_MAX_TEXTURE_IMAGE_UNITS = 0x8872;
    int GL_MAX_TEXTURE_SIZE = 0x0D33;
    int GL_MAX_VARYING_VECTORS = 0x8DFC;
    int GL_MAX_VERTEX_ATTRIBS = 0x8869;
    int GL_NEAREST = 0x2600;
    int GL_NO_ERROR = 0;
    int GL_PACK_ALIGNMENT = 0x0D05;
    int GL_RENDERER = 0x1F01;
    int GL_RGBA = 0x1908;
    int GL_SCISSOR_TEST = 0x0C11;
    int GL_STATIC_DRAW = 0x88E4;
    int GL_STENCIL_TEST = 0x0B90;
    int GL_TEXTURE0 = 0x84C0;
    int GL_TEXTURE_2D = 0x0DE1;
    int GL_TEXTURE_EXTERNAL_OES = 0x8D65;
    int GL_TEXTURE_MAG_FILTER = 0x2800;
    int GL_TEXTURE_MIN_FILTER = 0x2801;
    int GL_TEXTURE_WRAP_S = 0x2802;
    int GL_TEXTURE_WRAP_T = 0x2803;
    int GL_TRIANGLES = 0x0004;
    int GL_UNPACK_ALIGNMENT = 0x0CF5;
    int GL_UNSIGNED_BYTE = 0x1401;
    int GL_VERSION = 0x1F02;
    int GL_VERTEX_SHADER = 0x8B31;

    void glActiveTexture(int unit);

    void glAttachShader(int program, int shader);

    void glBindAttribLocation(int program, int location, String name);

    void glBindBuffer(int target, int buffer);

    void glBindFramebuffer(int target, int framebuffer);

    void glBindTexture(int target, int texture);

    void glBufferData(int target, int bytes, ByteBuffer data, int usage);

    int glCheckFramebufferStatus(int target);

    void glClear(int mask);

    void glClearColor(float red, float green, float blue, float alpha);

    void glCompileShader(int shader);

    int glCreateProgram();

    int glCreateShader(int kind);

    void glDeleteBuffer(int buffer);

    void glDeleteFramebuffer(int framebuffer);

    void glDeleteProgram(int program);

    void glDeleteShader(int shader);

    void glDeleteTexture(int texture);

    void glDetachShader(int program, int shader);

    void glDisable(int capability);

    void glDisableVertexAttribArray(int location);

    void glDrawArrays(int mode, int first, int count);

    void glEnableVertexAttribArray(int location);

    void glFinish();

    void glFramebufferTexture2D(int target, int attachment, int textureTarget, int texture, int level);

    int glGenBuffer();

    int glGenFramebuffer();

    int glGenTexture();

    int glGetError();

    int glGetInteger(int name);

    int glGetProgram(int program, int name);

    String glGetProgramInfoLog(int program);

    int glGetShader(int shader, int name);

    String glGetShaderInfoLog(int shader);

    String glGetString(int name);

    int glGetUniformLocation(int program, String name);

    void glLinkProgram(int program);

    void glPixelStorei(int name, int value);

    void glReadPixels(int x, int y, int width, int height, int format, int type, ByteBuffer pixels);

    void glShaderSource(int shader, String source);

    void glTexImage2D(
            int target, int level, int internal, int width, int height, int border, int format, int type,
            ByteBuffer pixels);

    void glTexParameteri(int target, int name, int value);

    void glTexSubImage2D(
            int target, int level, int x, int y, int width, int height, int format, int type, ByteBuffer pixels);

    void glUniform1fv(int location, int count, FloatBuffer values);

    void glUniform1i(int location, int value);

    void glUniform2fv(int location, int count, FloatBuffer values);

    void glUniform3fv(int location, int count, FloatBuffer values);

    void glUniform4fv(int location, int count, FloatBuffer values);

    void glUniformMatrix4fv(int location, float[] columns);

    void glUseProgram(int program);

    void glVertexAttribPointer(int location, int size, int type, boolean normalized, int stride, int offset);

    void glViewport(int x, int y, int width, int height);
}
