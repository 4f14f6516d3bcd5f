package glslinfer.runner;

import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;

/** An input of a model: an image, or an array of values. */
public final class Input {
    static final String PICTURE = "picture";
    static final String NUMBERS = "numbers";

    public final String name;

    /** Fitting of an image to the input; null for values. */
    public final Fit fit;

    /** Layout of the input in textures, and the encoding of its values. */
    public final Value value;

    /**
     * @param fit null for values
     * @param value for an image, a feature map with one view
     */
    Input(String name, Fit fit, Value value) {
        this.name = name;
        this.fit = fit;
        this.value = value;
    }

    /** Returns whether this is an image; otherwise it is values. */
    public boolean isPicture() {
        return fit != null;
    }

    /** Returns the length of a vector, or the height, width and channels of an image or map. */
    public int[] shape() {
        return value.shape();
    }

    /** Returns the height of the image, in pixels. */
    public int height() {
        return tiles().height;
    }

    /** Returns the width of the image, in pixels. */
    public int width() {
        return tiles().width;
    }

    /** Returns the channels of the image: 1 (grey), 3 (red, green, blue) or 4 (and alpha). */
    public int channels() {
        return tiles().channels;
    }

    /** Returns the texture of the image, and its texel of the top left pixel. */
    public View view() {
        return tiles().views.get(0);
    }

    /** @throws Errors.InputError this is not an image */
    void requireImage() {
        if (!isPicture()) {
            throw new Errors.InputError("input '" + name + "' takes numbers, not an image");
        }
    }

    private Tiles tiles() {
        requireImage();
        return (Tiles) value;
    }
}
