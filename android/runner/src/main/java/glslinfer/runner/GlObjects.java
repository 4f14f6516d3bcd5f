package glslinfer.runner;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Textures, framebuffers, buffers and programs of one user of a context, all deleted on close. */
public final class GlObjects {
    private final Gl gl;
    private final List<Integer> textures = new ArrayList<Integer>();
    private final List<Integer> framebuffers = new ArrayList<Integer>();
    private final List<Integer> buffers = new ArrayList<Integer>();
    private final List<Integer> programs = new ArrayList<Integer>();
    private final Map<String, Integer> shaders = new HashMap<String, Integer>();

    /** Programs with their attached shaders. */
    private final List<int[]> attached = new ArrayList<int[]>();

    public GlObjects(Gl gl) {
        this.gl = gl;
    }

    /** Disables features that change stored values (dithering is on by default) and sets pixel alignment. */
    public void fixedState() {
        gl.glDisable(Gl.GL_DITHER);
        gl.glDisable(Gl.GL_BLEND);
        gl.glDisable(Gl.GL_SCISSOR_TEST);
        gl.glDisable(Gl.GL_DEPTH_TEST);
        gl.glDisable(Gl.GL_STENCIL_TEST);
        gl.glDisable(Gl.GL_CULL_FACE);
        gl.glClearColor(0, 0, 0, 0);
        gl.glPixelStorei(Gl.GL_UNPACK_ALIGNMENT, 4);
        gl.glPixelStorei(Gl.GL_PACK_ALIGNMENT, 4);
    }

    /** Creates an RGBA8 texture of {@code 4 * width * height} bytes: nearest, clamped to the edge. */
    public int texture(int width, int height, ByteBuffer texels) {
        int name = gl.glGenTexture();
        textures.add(name);
        gl.glBindTexture(Gl.GL_TEXTURE_2D, name);
        gl.glTexImage2D(Gl.GL_TEXTURE_2D, 0, Gl.GL_RGBA, width, height, 0, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, texels);
        sampling(Gl.GL_TEXTURE_2D, Gl.GL_NEAREST);
        return name;
    }

    /** Creates a texture for external images (a camera): linear, clamped to the edge. */
    public int externalTexture() {
        int name = gl.glGenTexture();
        textures.add(name);
        gl.glBindTexture(Gl.GL_TEXTURE_EXTERNAL_OES, name);
        sampling(Gl.GL_TEXTURE_EXTERNAL_OES, Gl.GL_LINEAR);
        return name;
    }

    private void sampling(int target, int filter) {
        gl.glTexParameteri(target, Gl.GL_TEXTURE_MIN_FILTER, filter);
        gl.glTexParameteri(target, Gl.GL_TEXTURE_MAG_FILTER, filter);
        gl.glTexParameteri(target, Gl.GL_TEXTURE_WRAP_S, Gl.GL_CLAMP_TO_EDGE);
        gl.glTexParameteri(target, Gl.GL_TEXTURE_WRAP_T, Gl.GL_CLAMP_TO_EDGE);
    }

    /**
     * Creates a framebuffer that renders into a texture.
     *
     * @throws Errors.GlError the driver cannot render into it
     */
    public int framebuffer(int texture) {
        int name = gl.glGenFramebuffer();
        framebuffers.add(name);
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, name);
        gl.glFramebufferTexture2D(Gl.GL_FRAMEBUFFER, Gl.GL_COLOR_ATTACHMENT0, Gl.GL_TEXTURE_2D, texture, 0);
        int status = gl.glCheckFramebufferStatus(Gl.GL_FRAMEBUFFER);
        if (status != Gl.GL_FRAMEBUFFER_COMPLETE) {
            throw new Errors.GlError(
                    "the driver cannot render into an RGBA8 texture (framebuffer status 0x"
                            + Integer.toHexString(status) + ")");
        }
        return name;
    }

    /** Creates a vertex buffer. */
    public int buffer(ByteBuffer data) {
        int name = gl.glGenBuffer();
        buffers.add(name);
        gl.glBindBuffer(Gl.GL_ARRAY_BUFFER, name);
        gl.glBufferData(Gl.GL_ARRAY_BUFFER, data.capacity(), data, Gl.GL_STATIC_DRAW);
        return name;
    }

    /** Compiles, links and checks a program; see {@link #startProgram} and {@link #checkProgram}. */
    public int program(String vertex, String fragment, String[] attributes, String where) {
        int name = startProgram(vertex, fragment, attributes);
        checkProgram(name, vertex, fragment, where);
        return name;
    }

    /** Starts to compile and link; the k-th attribute has location k. No status is queried, so nothing waits. */
    int startProgram(String vertex, String fragment, String[] attributes) {
        int name = gl.glCreateProgram();
        programs.add(name);
        attach(name, shader(Gl.GL_VERTEX_SHADER, vertex));
        attach(name, shader(Gl.GL_FRAGMENT_SHADER, fragment));
        for (int location = 0; location < attributes.length; location++) {
            gl.glBindAttribLocation(name, location, attributes[location]);
        }
        gl.glLinkProgram(name);
        return name;
    }

    private void attach(int program, int shader) {
        gl.glAttachShader(program, shader);
        attached.add(new int[] {program, shader});
    }

    private int shader(int kind, String source) {
        Integer compiled = shaders.get(kind + source);
        if (compiled != null) {
            return compiled;
        }
        int shader = gl.glCreateShader(kind);
        shaders.put(kind + source, shader);
        gl.glShaderSource(shader, source);
        gl.glCompileShader(shader);
        return shader;
    }

    /**
     * Waits for a program.
     *
     * @param where its name in messages
     * @throws Errors.ShaderError it did not compile or link; with the driver's log
     */
    void checkProgram(int name, String vertex, String fragment, String where) {
        checkShader(shader(Gl.GL_VERTEX_SHADER, vertex), where + ": the driver refuses the vertex shader");
        checkShader(shader(Gl.GL_FRAGMENT_SHADER, fragment), where + ": the driver refuses the fragment shader");
        if (gl.glGetProgram(name, Gl.GL_LINK_STATUS) == 0) {
            throw new Errors.ShaderError(where + ": the driver cannot link the shaders"
                    + log(gl.glGetProgramInfoLog(name)));
        }
    }

    private void checkShader(int shader, String failure) {
        if (gl.glGetShader(shader, Gl.GL_COMPILE_STATUS) == 0) {
            throw new Errors.ShaderError(failure + log(gl.glGetShaderInfoLog(shader)));
        }
    }

    private static String log(String text) {
        return ":\n" + (text == null || text.trim().isEmpty() ? "(the driver gives no reason)" : text.trim());
    }

    /**
     * Deletes the shader objects, which linked programs do not need.
     *
     * <p>A driver keeps attached shaders, with their text and compiled form.
     */
    public void dropShaders() {
        for (int[] pair : attached) {
            gl.glDetachShader(pair[0], pair[1]);
        }
        attached.clear();
        for (int shader : shaders.values()) {
            gl.glDeleteShader(shader);
        }
        shaders.clear();
    }

    /** Deletes everything. */
    public void close() {
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, 0);
        gl.glUseProgram(0);
        dropShaders();
        for (int name : framebuffers) {
            gl.glDeleteFramebuffer(name);
        }
        for (int name : textures) {
            gl.glDeleteTexture(name);
        }
        for (int name : buffers) {
            gl.glDeleteBuffer(name);
        }
        for (int name : programs) {
            gl.glDeleteProgram(name);
        }
        framebuffers.clear();
        textures.clear();
        buffers.clear();
        programs.clear();
    }

    /**
     * Throws the driver's pending error, if any.
     *
     * @param when part of the message: "after preparing the model"
     */
    public static void check(Gl gl, String when) {
        int error = gl.glGetError();
        if (error != Gl.GL_NO_ERROR) {
            throw new Errors.GlError("the driver reports error 0x" + Integer.toHexString(error) + " " + when);
        }
    }

    /** Returns a direct buffer in native byte order. */
    public static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }
}
