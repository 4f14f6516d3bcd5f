package android.content;

import android.net.Uri;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;

/** Fake that opens the file whose path an {@link Uri} has. */
public class ContentResolver {
    public final OutputStream openOutputStream(Uri uri) throws FileNotFoundException {
        return new FileOutputStream(uri.path);
    }

    public final InputStream openInputStream(Uri uri) throws FileNotFoundException {
        return new FileInputStream(uri.path);
    }
}
