package glslinfer.app;

import android.graphics.Canvas;
import glslinfer.app.ResultsView.Stage;
import glslinfer.runner.Classifier;
import java.util.List;

/** The cards over the image: labels, times, messages. */
final class Cards {
    private static final float BEST_HEIGHT = 64;
    private static final float OTHER_HEIGHT = 32;

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
        boolean isLandscape = width > height;
        float edge = 10 * unit;
        float cardWidth = Math.min(width - 2 * edge, isLandscape ? Math.max(0.46f * width, 280 * unit) : 560 * unit);
        float left = isLandscape ? edge : (width - cardWidth) / 2;
        float cardHeight = BEST_HEIGHT * text + Math.max(0, count - 1) * OTHER_HEIGHT * text + 20 * unit;
        float top = height - edge - cardHeight;
        ink.round(canvas, left, top, left + cardWidth, top + cardHeight, 22 * unit, ink.palette.panel);
        left += 18 * unit;
        cardWidth -= 36 * unit;
        float y = top + 10 * unit;
        for (int i = 0; i < count; i++) {
            float size = (i == 0 ? 30 : 18) * text;
            float baseline = y + (i == 0 ? 34 : 21) * text;
            int colour = i == 0 ? ink.palette.text : ink.palette.faint;
            ink.begin().append(Classifier.label(labels, indices[i]));
            boolean tight = ink.width(size, i == 0) > 0.62f * cardWidth; // then the number is drawn smaller
            float numberSize = tight ? Math.min(size, 16 * text) : size;
            ink.begin();
            ink.tenths(100 * chances[i]).append(" %");
            float numberWidth = ink.width(numberSize, i == 0);
            int numberColour = i == 0 ? ink.palette.accent : colour;
            float numberX = left + cardWidth - numberWidth;
            ink.write(canvas, numberX, baseline, numberWidth + 1, numberSize, i == 0, numberColour);
            ink.begin().append(Classifier.label(labels, indices[i]));
            ink.write(canvas, left, baseline, cardWidth - numberWidth - 12 * unit, size, i == 0, colour);
            float bar = baseline + (i == 0 ? 12 : 5) * text;
            float thickness = (i == 0 ? 6 : 2.5f) * unit;
            ink.round(canvas, left, bar, left + cardWidth, bar + thickness, thickness / 2, ink.palette.track);
            float filledWidth = Math.max(thickness, (float) chances[i] * cardWidth);
            ink.round(canvas, left, bar, left + filledWidth, bar + thickness, thickness / 2, ink.palette.accent);
            y += (i == 0 ? BEST_HEIGHT : OTHER_HEIGHT) * text;
        }
    }

    /** Draws the results of a task in one line. */
    void drawFound(Canvas canvas, String words) {
        float edge = 10 * ink.unit;
        float size = 20 * ink.text;
        float cardHeight = 44 * ink.text;
        float cardWidth = Math.min(width - 2 * edge, 420 * ink.unit);
        float left = width > height ? edge : (width - cardWidth) / 2;
        float top = height - edge - cardHeight;
        ink.round(canvas, left, top, left + cardWidth, top + cardHeight, 22 * ink.unit, ink.palette.panel);
        ink.begin().append(words);
        ink.write(canvas, left + 18 * ink.unit, top + 29 * ink.text, cardWidth - 36 * ink.unit, size, true,
                ink.palette.text);
    }

    /** Draws the times of all stages at the top, next to their button. */
    void drawTimes(Canvas canvas, double[] stages, int steps, double resultRate, double screenRate) {
        float unit = ink.unit;
        float text = ink.text;
        float left = 8 * unit;
        float right = Math.min(width - 64 * unit, left + 320 * unit);
        ink.round(canvas, left, left, right, left + 16 * unit + 62 * text, 18 * unit, ink.palette.panel);
        float x = left + 14 * unit;
        float maxWidth = right - x - 10 * unit;
        float y = left + 8 * unit + 17 * text;
        ink.begin();
        ink.tenths(resultRate).append(" results/s, ");
        ink.tenths(screenRate).append(" frames/s");
        ink.write(canvas, x, y, maxWidth, 15 * text, true, ink.palette.text);
        ink.begin().append("network ");
        ink.tenths(stages[Stage.NETWORK]).append(" ms in ").append(steps).append(steps == 1 ? " step" : " steps");
        ink.write(canvas, x, y + 20 * text, maxWidth, 14 * text, false, ink.palette.faint);
        ink.begin().append("camera ");
        ink.tenths(stages[Stage.CAMERA]).append(", read ");
        ink.tenths(stages[Stage.READ]).append(", screen ");
        ink.tenths(stages[Stage.SCREEN]).append(" ms");
        ink.write(canvas, x, y + 39 * text, maxWidth, 14 * text, false, ink.palette.faint);
    }

    /** Draws a message in the centre, broken into lines at spaces; rare, so it can allocate. */
    void drawMessage(Canvas canvas, String message) {
        float unit = ink.unit;
        float size = 18 * ink.text;
        float cardWidth = Math.min(width - 32 * unit, 480 * unit);
        float left = (width - cardWidth) / 2;
        float maxWidth = cardWidth - 40 * unit;
        StringBuilder lines = new StringBuilder();
        for (String paragraph : message.split("\n")) {
            ink.begin();
            for (String word : paragraph.split(" ")) {
                int before = ink.line.length();
                ink.line.append(before == 0 ? "" : " ").append(word);
                if (before > 0 && ink.width(size, false) > maxWidth) {
                    lines.append(ink.line, 0, before).append('\n');
                    ink.begin().append(word);
                }
            }
            lines.append(ink.line).append('\n');
        }
        String[] messageLines = lines.toString().split("\n");
        float lineHeight = 25 * ink.text;
        float cardHeight = messageLines.length * lineHeight + 32 * unit;
        float top = Math.max(8 * unit, 0.42f * height - cardHeight / 2);
        ink.round(canvas, left, top, left + cardWidth, top + cardHeight, 22 * unit, ink.palette.panel);
        for (int i = 0; i < messageLines.length; i++) {
            ink.begin().append(messageLines[i]);
            float y = top + 16 * unit + i * lineHeight + 18 * ink.text;
            ink.write(canvas, left + 20 * unit, y, maxWidth, size, false, ink.palette.text);
        }
    }
}
