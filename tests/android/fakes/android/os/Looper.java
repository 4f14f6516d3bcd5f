package android.os;

/** Fake without members; the app only passes it on. */
public final class Looper {}
