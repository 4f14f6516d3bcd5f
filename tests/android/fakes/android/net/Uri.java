package android.net;

public class Uri {
    public final String path;

    public Uri(String path) {
        this.path = path;
    }

    public String getLastPathSegment() {
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
