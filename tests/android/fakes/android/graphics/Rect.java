package android.graphics;

/** Type of a parameter of {@link Canvas}; always null here. */
public class Rect {}
