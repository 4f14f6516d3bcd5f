package android.os;

/** Fake without behaviour; callbacks run on the {@link glslinfer.fake.Phone}'s queue. */
public class Handler {
    public Handler(Looper looper) {}
}
