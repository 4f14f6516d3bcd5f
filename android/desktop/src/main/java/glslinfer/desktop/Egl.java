package glslinfer.desktop;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;

/**
 * An OpenGL ES 2.0 context on Mesa's surfaceless platform, without a window or display server.
 *
 * <p>With a size it has a pbuffer as its screen; without, drawing to framebuffer 0 is an error.
 */
public final class Egl {
    static {
        Native.register(Egl.class, "libEGL.so.1");
    }

    private static final int PLATFORM_SURFACELESS_MESA = 0x31DD;
    private static final int OPENGL_ES_API = 0x30A0;
    private static final int NONE = 0x3038;
    private static final int RENDERABLE_TYPE = 0x3040;
    private static final int OPENGL_ES2_BIT = 4;
    private static final int SURFACE_TYPE = 0x3033;
    private static final int PBUFFER_BIT = 1;
    private static final int CONTEXT_CLIENT_VERSION = 0x3098;
    private static final int WIDTH = 0x3057;
    private static final int HEIGHT = 0x3056;
    private static final int GL_TEXTURE_2D_KHR = 0x30B1;

    private final Pointer display;
    private final Pointer context;
    private final Pointer config;
    private Pointer surface;

    private static native Pointer eglGetPlatformDisplay(int platform, Pointer display, Pointer attributes);

    private static native int eglInitialize(Pointer display, int[] major, int[] minor);

    private static native int eglBindAPI(int api);

    private static native int eglChooseConfig(Pointer display, int[] attributes, Pointer configs, int size,
            int[] count);

    private static native Pointer eglCreateContext(Pointer display, Pointer config, Pointer share, int[] attributes);

    private static native Pointer eglCreatePbufferSurface(Pointer display, Pointer config, int[] attributes);

    private static native int eglMakeCurrent(Pointer display, Pointer draw, Pointer read, Pointer context);

    private static native int eglDestroyContext(Pointer display, Pointer context);

    private static native int eglDestroySurface(Pointer display, Pointer surface);

    private static native int eglGetError();

    private static native Pointer eglGetProcAddress(String name);

    /** Creates a context without a screen, current in this thread. */
    public Egl() {
        this(0, 0);
    }

    /**
     * Creates a context with a pbuffer of that size as screen, current in this thread.
     *
     * @throws IllegalStateException the machine has no such EGL
     */
    public Egl(int width, int height) {
        boolean screen = width > 0;
        display = eglGetPlatformDisplay(PLATFORM_SURFACELESS_MESA, null, null);
        if (display == null || eglInitialize(display, new int[1], new int[1]) == 0) {
            throw failed("no surfaceless display");
        }
        eglBindAPI(OPENGL_ES_API);
        Memory configs = new Memory(Native.POINTER_SIZE);
        int[] count = new int[1];
        int[] attributes = {RENDERABLE_TYPE, OPENGL_ES2_BIT, SURFACE_TYPE, screen ? PBUFFER_BIT : 0, NONE};
        if (eglChooseConfig(display, attributes, configs, 1, count) == 0 || count[0] < 1) {
            throw failed("no configuration");
        }
        config = configs.getPointer(0);
        context = eglCreateContext(display, config, null, new int[] {CONTEXT_CLIENT_VERSION, 2, NONE});
        surface = screen ? pbuffer(width, height) : null;
        if (context == null || eglMakeCurrent(display, surface, surface, context) == 0) {
            throw failed("no context");
        }
    }

    private static IllegalStateException failed(String call) {
        return new IllegalStateException("EGL: " + call + ": 0x" + Integer.toHexString(eglGetError()));
    }

    private Pointer pbuffer(int width, int height) {
        return eglCreatePbufferSurface(display, config, new int[] {WIDTH, width, HEIGHT, height, NONE});
    }

    /** Replaces the screen by one of another size; objects of the context remain. */
    public void resize(int width, int height) {
        Pointer before = surface;
        surface = pbuffer(width, height);
        if (surface == null || eglMakeCurrent(display, surface, surface, context) == 0) {
            throw failed("no surface");
        }
        if (before != null) {
            eglDestroySurface(display, before);
        }
    }

    /** Lets the external texture bound to GL_TEXTURE_EXTERNAL_OES show an ordinary texture, as a camera's does. */
    public void showExternally(int texture) {
        Function create = Function.getFunction(eglGetProcAddress("eglCreateImageKHR"));
        Function target = Function.getFunction(eglGetProcAddress("glEGLImageTargetTexture2DOES"));
        Object[] arguments = {display, context, GL_TEXTURE_2D_KHR, Pointer.createConstant(texture), null};
        Pointer image = (Pointer) create.invoke(Pointer.class, arguments);
        if (image == null) {
            throw failed("no image of a texture");
        }
        target.invoke(new Object[] {glslinfer.runner.Gl.GL_TEXTURE_EXTERNAL_OES, image});
    }

    /** Destroys the context with all objects. */
    public void close() {
        eglMakeCurrent(display, null, null, null);
        eglDestroyContext(display, context);
        if (surface != null) {
            eglDestroySurface(display, surface);
        }
    }
}
