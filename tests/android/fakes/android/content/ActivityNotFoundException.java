package android.content;

/** Error of an intent that no other app accepts, as the real class. */
public class ActivityNotFoundException extends RuntimeException {
    private static final long serialVersionUID = 1L;
}
