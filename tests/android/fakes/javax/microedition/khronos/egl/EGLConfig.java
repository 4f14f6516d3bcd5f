package javax.microedition.khronos.egl;

/** Type of a parameter of GLSurfaceView's renderer; always null here. */
public abstract class EGLConfig {}
