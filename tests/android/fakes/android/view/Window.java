package android.view;

/** Fake window; flags have no effect. */
public class Window {
    public void addFlags(int flags) {}
}
