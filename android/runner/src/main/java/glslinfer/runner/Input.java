package glslinfer.runner;

import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;

/** What a model reads: a picture, or numbers. */
public final class Input {
    static final String PICTURE = "picture";
    static final String NUMBERS = "numbers";

    public final String name;

    /** How any picture becomes this one; null where the input takes numbers. */
    public final Fit fit;

    /** Where the input lies in textures, and what the stored bytes stand for. */
    public final Value value;

    /**
     * @param fit null where the input takes numbers
     * @param value for a picture, a feature map of one view
     */
    Input(String name, Fit fit, Value value) {
        this.name = name;
        this.fit = fit;
        this.value = value;
    }

    /** Returns whether this is a picture; else it is numbers. */
    public boolean isPicture() {
        return fit != null;
    }

    /** Returns the length of a vector, or the height, width and channels of a picture or map. */
    public int[] shape() {
        return value.shape();
    }

    /** Returns the height of the picture, in pixels. */
    public int height() {
        return tiles().height;
    }

    /** Returns the width of the picture, in pixels. */
    public int width() {
        return tiles().width;
    }

    /** Returns the channels of the picture: 1 (grey), 3 (red, green, blue) or 4 (and alpha). */
    public int channels() {
        return tiles().channels;
    }

    /** Returns the texture of the picture, and its texel of the top left pixel. */
    public View view() {
        return tiles().views.get(0);
    }

    private Tiles tiles() {
        if (!isPicture()) {
            throw new Errors.InputError("input '" + name + "' takes numbers, not a picture");
        }
        return (Tiles) value;
    }
}
