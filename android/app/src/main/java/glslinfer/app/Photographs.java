package glslinfer.app;

import android.app.Activity;
import android.content.ActivityNotFoundException;
import android.content.ContentResolver;
import android.content.Intent;
import android.graphics.Bitmap;
import android.graphics.BitmapFactory;
import android.net.Uri;
import glslinfer.runner.Picture;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Photographs selected by the user: the system's file picker, and reading in the background. */
final class Photographs {
    /** Receives the outcome on the main thread. */
    interface Listener {
        void onPhotograph(Photograph photograph);

        void onPhotographFailed(String message);
    }

    /** An upright photograph: for the screen, and as input of a network. */
    static final class Photograph {
        final Bitmap bitmap;
        final Picture picture;

        Photograph(Bitmap bitmap, Picture picture) {
            this.bitmap = bitmap;
            this.picture = picture;
        }
    }

    private static final int OPEN = 3;

    /** Largest side in pixels: more would not fit old GPUs. */
    private static final int MAX_SIDE = 2048;

    private static final int MOST_BYTES = 100 << 20;

    private final Activity activity;
    private final Listener listener;
    private final LatestRead latest;

    Photographs(Activity activity, Listener listener) {
        this.activity = activity;
        this.listener = listener;
        latest = new LatestRead(activity, "photograph");
    }

    /** Shows the system's file picker for images. */
    void choose() {
        Intent intent = new Intent(Intent.ACTION_OPEN_DOCUMENT);
        intent.addCategory(Intent.CATEGORY_OPENABLE);
        intent.setType("image/*");
        try {
            activity.startActivityForResult(intent, OPEN);
        } catch (ActivityNotFoundException error) {
            listener.onPhotographFailed("This device has no app to choose photographs with.");
        }
    }

    /** Starts to read the file in the activity's result; returns whether it is for photographs. */
    boolean read(int code, int result, Intent data) {
        if (code != OPEN) {
            return false;
        }
        final Uri uri = result == Activity.RESULT_OK && data != null ? data.getData() : null;
        if (uri == null) {
            return true;
        }
        latest.start(
                new LatestRead.Reading() {
                    @Override
                    public Runnable read() {
                        String name = uri.getLastPathSegment() == null ? "the file" : uri.getLastPathSegment();
                        try {
                            Photograph photograph = decode(bytes(activity.getContentResolver(), uri));
                            String refused = " cannot be read as an image on this device; choose another one";
                            return delivery(photograph, name + refused);
                        } catch (IOException error) {
                            return delivery(null, name + " cannot be read (" + error.getMessage() + ")");
                        } catch (SecurityException error) {
                            return delivery(null, name + " may not be read (" + error.getMessage() + ")");
                        } catch (OutOfMemoryError error) {
                            return delivery(null, name + " is too large for this device's memory");
                        }
                    }
                });
        return true;
    }

    private static byte[] bytes(ContentResolver resolver, Uri uri) throws IOException {
        InputStream stream = resolver.openInputStream(uri);
        if (stream == null) {
            throw new IOException("it cannot be opened");
        }
        try {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] chunk = new byte[1 << 16];
            for (int count = stream.read(chunk); count >= 0; count = stream.read(chunk)) {
                out.write(chunk, 0, count);
                if (out.size() > MOST_BYTES) {
                    throw new IOException("it has more than " + (MOST_BYTES >> 20) + " MiB");
                }
            }
            return out.toByteArray();
        } finally {
            stream.close();
        }
    }

    /** Returns a photograph from a file's bytes; null if they are not an image. */
    private static Photograph decode(byte[] file) {
        BitmapFactory.Options options = new BitmapFactory.Options();
        options.inJustDecodeBounds = true;
        BitmapFactory.decodeByteArray(file, 0, file.length, options);
        if (options.outWidth < 1 || options.outHeight < 1) {
            return null;
        }
        options.inJustDecodeBounds = false;
        options.inSampleSize = 1;
        while (Math.max(options.outWidth, options.outHeight) / options.inSampleSize > MAX_SIDE) {
            options.inSampleSize *= 2;
        }
        Bitmap decoded = BitmapFactory.decodeByteArray(file, 0, file.length, options);
        if (decoded == null) {
            return null;
        }
        int width = decoded.getWidth();
        int height = decoded.getHeight();
        int[] pixels = new int[width * height];
        decoded.getPixels(pixels, 0, width, 0, 0, width, height);
        int orientation = Exif.orientation(file);
        int[] upright = Exif.upright(pixels, width, height, orientation);
        int uprightWidth = Exif.swapsSides(orientation) ? height : width;
        int uprightHeight = Exif.swapsSides(orientation) ? width : height;
        Bitmap bitmap = Bitmap.createBitmap(upright, uprightWidth, uprightHeight, Bitmap.Config.ARGB_8888);
        return new Photograph(bitmap, new Picture(upright, uprightWidth, uprightHeight));
    }

    private Runnable delivery(final Photograph photograph, final String failure) {
        return new Runnable() {
            @Override
            public void run() {
                if (photograph != null) {
                    listener.onPhotograph(photograph);
                } else {
                    listener.onPhotographFailed(failure);
                }
            }
        };
    }
}
