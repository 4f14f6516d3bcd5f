package android.content.pm;

/** Fake that returns the app's own {@link PackageInfo} for every name. */
public class PackageManager {
    public static class NameNotFoundException extends Exception {
        private static final long serialVersionUID = 1;
    }

    public PackageInfo getPackageInfo(String name, int flags) throws NameNotFoundException {
        return new PackageInfo();
    }
}
