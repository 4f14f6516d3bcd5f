package glslinfer.app;

import android.content.res.Configuration;

/** The app's colours, for day and night. */
final class Palette {
    private static final Palette DAY =
            new Palette(0xF0FBFAF7, 0xFF16232E, 0xFF566573, 0xFF0A6C96, 0x2416232E, 0xFFFFFFFF);
    private static final Palette NIGHT =
            new Palette(0xE0111A22, 0xFFF3F6F8, 0xFFA7B4BF, 0xFF5CC8EE, 0x33FFFFFF, 0xFF0B1218);

    /** Background of cards and of the bar of buttons, slightly transparent. */
    final int panel;

    final int text;
    final int faint;
    final int accent;

    /** Background of a bar. */
    final int track;

    /** Text on the accent colour. */
    final int onAccent;

    private Palette(int panel, int text, int faint, int accent, int track, int onAccent) {
        this.panel = panel;
        this.text = text;
        this.faint = faint;
        this.accent = accent;
        this.track = track;
        this.onAccent = onAccent;
    }

    /** Returns the colours for the system's setting. */
    static Palette of(Configuration configuration) {
        int night = configuration.uiMode & Configuration.UI_MODE_NIGHT_MASK;
        return night == Configuration.UI_MODE_NIGHT_YES ? NIGHT : DAY;
    }
}
