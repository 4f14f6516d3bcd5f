package android.content;

/** Fake without behaviour; {@link Context#registerReceiver} answers every filter alike. */
public class IntentFilter {
    public IntentFilter(String action) {}
}
