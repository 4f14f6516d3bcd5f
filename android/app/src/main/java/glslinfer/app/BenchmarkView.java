package glslinfer.app;

import android.content.Context;
import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.RectF;
import android.view.View;
import java.util.List;

/** A card for each test: its input and output images, its time, and the time of a Pixel 2. */
final class BenchmarkView extends View {
    private static final int BACKGROUND = 0xFF000000;

    private static final int FAILURE_LINES = 4;

    private final Ink ink;
    private final List<BenchmarkTest> tests;
    private final RectF target = new RectF();
    private volatile boolean done;

    BenchmarkView(Context context, Ink ink, List<BenchmarkTest> tests) {
        super(context);
        this.ink = ink;
        this.tests = tests;
        setContentDescription("AI Benchmark");
    }

    /** Updates the view, from any thread; {@code ended}: all tests have ended. */
    void changed(boolean ended) {
        done = ended;
        postInvalidate();
    }

    @Override
    protected void onDraw(Canvas canvas) {
        float unit = ink.unit;
        ink.paint.setColor(BACKGROUND);
        canvas.drawRect(0, 0, getWidth(), getHeight(), ink.paint);
        int columns = getWidth() > getHeight() ? 2 : 1;
        int rows = Math.max(1, (tests.size() + columns - 1) / columns);
        float gap = 8 * unit;
        float titleHeight = 40 * ink.text;
        ink.begin().append("AI Benchmark").append(done ? ": done" : " ...");
        ink.write(canvas, 2 * gap, gap + 0.65f * titleHeight, getWidth() - 4 * gap, 20 * ink.text, true, 0xFFFFFFFF);
        float cardHeight = Math.min((getHeight() - titleHeight - 2 * gap) / rows - gap, 150 * ink.text);
        float cardWidth = (getWidth() - gap) / columns - gap;
        for (int i = 0; i < tests.size(); i++) {
            float left = gap + i % columns * (cardWidth + gap);
            float top = titleHeight + gap + i / columns * (cardHeight + gap);
            drawTest(canvas, tests.get(i), left, top, cardWidth, cardHeight);
        }
    }

    private void drawTest(Canvas canvas, BenchmarkTest test, float left, float top, float width, float height) {
        float gap = 8 * ink.unit;
        ink.round(canvas, left, top, left + width, top + height, 16 * ink.unit, ink.palette.panel);
        float side = Math.min(height - 2 * gap, 0.28f * width);
        float middle = top + (height - side) / 2;
        drawPicture(canvas, test.before(), left + gap, middle, side);
        drawPicture(canvas, test.after(), left + 2 * gap + side, middle, side);
        float lineHeight = Math.min(height / 6, 24 * ink.text);
        ink.begin().append(test.label());
        float labelWidth = side - 2 * gap;
        float labelX = left + 3 * gap + side;
        ink.write(canvas, labelX, middle + side / 2, labelWidth, 0.6f * lineHeight, true, ink.palette.text);
        float x = left + 3 * gap + 2 * side;
        float maxWidth = left + width - gap - x;
        float y = top + (height - 5 * lineHeight) / 2 - 0.25f * lineHeight;
        ink.begin().append(test.title);
        ink.write(canvas, x, y += lineHeight, maxWidth, 0.75f * lineHeight, true, ink.palette.text);
        ink.begin().append(test.network);
        ink.write(canvas, x, y += lineHeight, maxWidth, 0.6f * lineHeight, false, ink.palette.faint);
        if (!test.failed().isEmpty()) {
            drawLines(canvas, test.failed(), x, y, maxWidth, 0.8f * lineHeight);
            return;
        }
        ink.begin();
        if (test.mean() > 0) {
            ink.tenths(test.mean()).append(" ms");
        } else {
            ink.line.append(test.first() > 0 ? "first image done" : "waiting");
        }
        ink.write(canvas, x, y += lineHeight, maxWidth, 0.75f * lineHeight, test.mean() > 0, ink.palette.accent);
        ink.begin().append("Pixel 2: ").append(Math.round(test.reference)).append(" ms");
        ink.write(canvas, x, y += lineHeight, maxWidth, 0.6f * lineHeight, false, ink.palette.faint);
        ink.begin().append(test.pictures()).append(" done");
        ink.write(canvas, x, y + lineHeight, maxWidth, 0.6f * lineHeight, false, ink.palette.faint);
    }

    /** Draws a message in a few lines, shortened if it is longer. */
    private void drawLines(Canvas canvas, String text, float x, float y, float maxWidth, float lineHeight) {
        int lines = 0;
        ink.begin();
        for (String word : text.split(" ")) {
            int before = ink.line.length();
            ink.line.append(before == 0 ? "" : " ").append(word);
            if (before > 0 && lines < FAILURE_LINES - 1 && ink.width(0.75f * lineHeight, false) > maxWidth) {
                ink.line.setLength(before);
                ink.write(canvas, x, y += lineHeight, maxWidth, 0.75f * lineHeight, false, ink.palette.text);
                ink.begin().append(word);
                lines += 1;
            }
        }
        ink.write(canvas, x, y + lineHeight, maxWidth, 0.75f * lineHeight, false, ink.palette.text);
    }

    /** Draws an image into a square, as large as possible, or an empty square. */
    private void drawPicture(Canvas canvas, Bitmap picture, float left, float top, float side) {
        if (picture == null) {
            ink.round(canvas, left, top, left + side, top + side, 6 * ink.unit, ink.palette.track);
            return;
        }
        float scale = side / Math.max(picture.getWidth(), picture.getHeight());
        target.left = left + (side - scale * picture.getWidth()) / 2;
        target.top = top + (side - scale * picture.getHeight()) / 2;
        target.right = target.left + scale * picture.getWidth();
        target.bottom = target.top + scale * picture.getHeight();
        ink.paint.setFilterBitmap(true);
        canvas.drawBitmap(picture, null, target, ink.paint);
    }
}
