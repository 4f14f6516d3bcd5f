package glslinfer.app;

import android.graphics.Canvas;
import glslinfer.app.ResultsView.Stage;
import glslinfer.runner.Classifier;
import java.util.List;

/** The cards over the image: labels, times, messages. */
final class Cards {
    private static final float BEST = 64;
    private static final float OTHER = 32;

    private final Ink ink;

    /** Area of the cards. */
    private float width;
    private float height;

    Cards(Ink ink) {
        this.ink = ink;
    }

    void setRoom(float width, float height) {
        this.width = width;
        this.height = height;
    }

    /** Draws the labels, the first one larger, each with a bar. */
    void drawLabels(Canvas canvas, List<String> labels, int[] indices, double[] chances, int count) {
        float unit = ink.unit;
        float text = ink.text;
        boolean wide = width > height;
        float edge = 10 * unit;
        float across = Math.min(width - 2 * edge, wide ? Math.max(0.46f * width, 280 * unit) : 560 * unit);
        float left = wide ? edge : (width - across) / 2;
        float high = BEST * text + Math.max(0, count - 1) * OTHER * text + 20 * unit;
        float top = height - edge - high;
        ink.round(canvas, left, top, left + across, top + high, 22 * unit, ink.palette.panel);
        left += 18 * unit;
        across -= 36 * unit;
        float y = top + 10 * unit;
        for (int i = 0; i < count; i++) {
            float size = (i == 0 ? 30 : 18) * text;
            float base = y + (i == 0 ? 34 : 21) * text;
            int colour = i == 0 ? ink.palette.text : ink.palette.faint;
            ink.begin().append(Classifier.label(labels, indices[i]));
            boolean tight = ink.width(size, i == 0) > 0.62f * across; // then the number is drawn smaller
            float number = tight ? Math.min(size, 16 * text) : size;
            ink.begin();
            ink.tenths(100 * chances[i]).append(" %");
            float room = ink.width(number, i == 0);
            int ofNumber = i == 0 ? ink.palette.accent : colour;
            ink.write(canvas, left + across - room, base, room + 1, number, i == 0, ofNumber);
            ink.begin().append(Classifier.label(labels, indices[i]));
            ink.write(canvas, left, base, across - room - 12 * unit, size, i == 0, colour);
            float bar = base + (i == 0 ? 12 : 5) * text;
            float thick = (i == 0 ? 6 : 2.5f) * unit;
            ink.round(canvas, left, bar, left + across, bar + thick, thick / 2, ink.palette.track);
            float full = Math.max(thick, (float) chances[i] * across);
            ink.round(canvas, left, bar, left + full, bar + thick, thick / 2, ink.palette.accent);
            y += (i == 0 ? BEST : OTHER) * text;
        }
    }

    /** Draws the results of a task in one line. */
    void drawFound(Canvas canvas, String words) {
        float edge = 10 * ink.unit;
        float size = 20 * ink.text;
        float high = 44 * ink.text;
        float across = Math.min(width - 2 * edge, 420 * ink.unit);
        float left = width > height ? edge : (width - across) / 2;
        float top = height - edge - high;
        ink.round(canvas, left, top, left + across, top + high, 22 * ink.unit, ink.palette.panel);
        ink.begin().append(words);
        ink.write(canvas, left + 18 * ink.unit, top + 29 * ink.text, across - 36 * ink.unit, size, true,
                ink.palette.text);
    }

    /** Draws the times of all stages at the top, next to their button. */
    void drawTimes(Canvas canvas, double[] stages, int steps, double networkFrames, double screenFrames) {
        float unit = ink.unit;
        float text = ink.text;
        float left = 8 * unit;
        float right = Math.min(width - 64 * unit, left + 320 * unit);
        ink.round(canvas, left, left, right, left + 16 * unit + 62 * text, 18 * unit, ink.palette.panel);
        float x = left + 14 * unit;
        float most = right - x - 10 * unit;
        float y = left + 8 * unit + 17 * text;
        ink.begin();
        ink.tenths(networkFrames).append(" results/s, ");
        ink.tenths(screenFrames).append(" frames/s");
        ink.write(canvas, x, y, most, 15 * text, true, ink.palette.text);
        ink.begin().append("network ");
        ink.tenths(stages[Stage.NETWORK]).append(" ms in ").append(steps).append(steps == 1 ? " step" : " steps");
        ink.write(canvas, x, y + 20 * text, most, 14 * text, false, ink.palette.faint);
        ink.begin().append("camera ");
        ink.tenths(stages[Stage.CAMERA]).append(", read ");
        ink.tenths(stages[Stage.READ]).append(", screen ");
        ink.tenths(stages[Stage.SCREEN]).append(" ms");
        ink.write(canvas, x, y + 39 * text, most, 14 * text, false, ink.palette.faint);
    }

    /** Draws a message in the centre, broken into lines at spaces; rare, so it can allocate. */
    void drawMessage(Canvas canvas, String message) {
        float unit = ink.unit;
        float size = 18 * ink.text;
        float across = Math.min(width - 32 * unit, 480 * unit);
        float left = (width - across) / 2;
        float room = across - 40 * unit;
        StringBuilder lines = new StringBuilder();
        for (String paragraph : message.split("\n")) {
            ink.begin();
            for (String word : paragraph.split(" ")) {
                int before = ink.line.length();
                ink.line.append(before == 0 ? "" : " ").append(word);
                if (before > 0 && ink.width(size, false) > room) {
                    lines.append(ink.line, 0, before).append('\n');
                    ink.begin().append(word);
                }
            }
            lines.append(ink.line).append('\n');
        }
        String[] broken = lines.toString().split("\n");
        float step = 25 * ink.text;
        float high = broken.length * step + 32 * unit;
        float top = Math.max(8 * unit, 0.42f * height - high / 2);
        ink.round(canvas, left, top, left + across, top + high, 22 * unit, ink.palette.panel);
        for (int i = 0; i < broken.length; i++) {
            ink.begin().append(broken[i]);
            float y = top + 16 * unit + i * step + 18 * ink.text;
            ink.write(canvas, left + 20 * unit, y, room, size, false, ink.palette.text);
        }
    }
}
