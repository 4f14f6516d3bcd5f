package glslinfer.runner;

/** The elements of an output, and their shape. */
public final class Result {
    /** Name of the output. */
    public final String name;

    /** All elements in row-major order. */
    public final float[] data;

    private final int[] shape;

    Result(String name, int[] shape, float[] data) {
        this.name = name;
        this.shape = shape;
        this.data = data;
    }

    /** Returns the shape: empty for a scalar; (height, width, channels) of a map. */
    public int[] shape() {
        return shape.clone();
    }
}
