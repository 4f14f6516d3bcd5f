package android.view;

/** Fake manager of the only {@link Display}. */
public interface WindowManager {
    Display getDefaultDisplay();
}
