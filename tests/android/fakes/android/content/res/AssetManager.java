package android.content.res;

import glslinfer.fake.Phone;
import java.io.IOException;
import java.io.InputStream;

/** The assets of the APK itself. */
public class AssetManager {
    public String[] list(String folder) throws IOException {
        return Phone.apk.stream()
                .map(entry -> entry.getName())
                .filter(name -> name.startsWith("assets/" + folder + "/"))
                .map(name -> name.substring(name.lastIndexOf('/') + 1))
                .toArray(String[]::new);
    }

    public InputStream open(String name) throws IOException {
        if (Phone.apk.getEntry("assets/" + name) == null) {
            throw new java.io.FileNotFoundException(name);
        }
        return Phone.apk.getInputStream(Phone.apk.getEntry("assets/" + name));
    }
}
