package glslinfer.runner;

/**
 * A decoded image of any size, upright and in sRGB; a {@link Session} fits it to a model's input.
 *
 * <p>The caller is responsible for decoding, EXIF orientation and colour profiles: on Android, with {@code
 * BitmapFactory} and {@code ExifInterface}.
 */
public final class Picture {
    public final int width;
    public final int height;
    final int[] argb;

    /**
     * @param argb pixels: alpha (not premultiplied), red, green, blue from the highest byte; top row first. Not copied
     * @throws Errors.ImageError there are not width x height pixels, or none
     */
    public Picture(int[] argb, int width, int height) {
        if (width < 1 || height < 1 || argb.length != (long) width * height) {
            throw new Errors.ImageError(argb.length + " pixels are not an image of " + width + " x " + height);
        }
        this.argb = argb;
        this.width = width;
        this.height = height;
    }
}
