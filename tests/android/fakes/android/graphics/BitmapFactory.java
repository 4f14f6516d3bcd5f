package android.graphics;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import javax.imageio.ImageIO;

/** Decodes with ImageIO, which leaves a photograph as it lies in its file, as Android does. */
public class BitmapFactory {
    public static class Options {
        public boolean inJustDecodeBounds;
        public int inSampleSize = 1;
        public int outWidth = -1;
        public int outHeight = -1;
    }

    public static Bitmap decodeByteArray(byte[] data, int offset, int length, Options options) {
        BufferedImage read;
        try {
            read = ImageIO.read(new ByteArrayInputStream(data, offset, length));
        } catch (IOException error) {
            read = null;
        }
        if (read == null) {
            return null;
        }
        options.outWidth = read.getWidth() / options.inSampleSize;
        options.outHeight = read.getHeight() / options.inSampleSize;
        if (options.inJustDecodeBounds) {
            return null;
        }
        BufferedImage image = new BufferedImage(options.outWidth, options.outHeight, BufferedImage.TYPE_INT_ARGB);
        for (int y = 0; y < options.outHeight; y++) {
            for (int x = 0; x < options.outWidth; x++) {
                image.setRGB(x, y, read.getRGB(x * options.inSampleSize, y * options.inSampleSize));
            }
        }
        return new Bitmap(image);
    }
}
