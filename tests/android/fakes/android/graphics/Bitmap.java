package android.graphics;

import java.awt.image.BufferedImage;

/** Fake bitmap: a {@link BufferedImage} in ARGB. */
public class Bitmap {
    public enum Config {
        ARGB_8888
    }

    final BufferedImage image;

    Bitmap(BufferedImage image) {
        this.image = image;
    }

    public static Bitmap createBitmap(int[] argb, int width, int height, Config config) {
        BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        image.setRGB(0, 0, width, height, argb, 0, width);
        return new Bitmap(image);
    }

    public static Bitmap createBitmap(int width, int height, Config config) {
        return new Bitmap(new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB));
    }

    public int getWidth() {
        return image.getWidth();
    }

    public int getHeight() {
        return image.getHeight();
    }

    public void getPixels(int[] pixels, int offset, int stride, int x, int y, int width, int height) {
        image.getRGB(x, y, width, height, pixels, offset, stride);
    }

    public void setPixels(int[] pixels, int offset, int stride, int x, int y, int width, int height) {
        image.setRGB(x, y, width, height, pixels, offset, stride);
    }
}
