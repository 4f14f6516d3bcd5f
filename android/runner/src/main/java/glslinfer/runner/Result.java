package glslinfer.runner;

/** The numbers of an output, and their shape. */
public final class Result {
    /** Of the output. */
    public final String name;

    /** All numbers: the last axis first, so pixel by pixel and row by row. */
    public final float[] data;

    private final int[] shape;

    Result(String name, int[] shape, float[] data) {
        this.name = name;
        this.shape = shape;
        this.data = data;
    }

    /** Returns the lengths of the axes: none for a single number; (height, width, channels) of a map. */
    public int[] shape() {
        return shape.clone();
    }
}
