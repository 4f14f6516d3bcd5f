package android.net;

/** Fake address: the path of a file. */
public class Uri {
    public final String path;

    public Uri(String path) {
        this.path = path;
    }

    public String getLastPathSegment() {
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
