package javax.microedition.khronos.opengles;

/** Type of a parameter of GLSurfaceView's renderer; always null here. */
public interface GL10 {}
