package android.content;

/** Type of a parameter of {@link Context#registerReceiver}; always null here. */
public abstract class BroadcastReceiver {}
