package glslinfer.app;

import android.graphics.Canvas;
import android.graphics.Paint;
import android.graphics.Path;
import android.graphics.RectF;

/** Icons of buttons, drawn with lines in a square of 24 units. */
enum Icon {
    MODEL("M12 3 21 8 12 13 3 8Z M3 12.5 12 17.5 21 12.5 M3 17 12 22 21 17"),
    PHOTO("M3 5 21 5 21 19 3 19Z M4.5 17.5 10 11 13 14.5 15.5 12 19.5 17.5 O15.5 8.6 1.3"),
    CAMERA("M3 7.5 8 7.5 9.7 5 14.3 5 16 7.5 21 7.5 21 19.5 3 19.5Z O12 13.2 3.6"),
    TURN("A12 12 8 200 140 A12 12 8 20 140 M19.9 4.6 19.6 9.3 15 8.9 M4.1 19.4 4.4 14.7 9 15.1"),
    LIGHT("M13 2.5 5.5 13.5 11 13.5 10.2 21.5 18.5 9.8 12.6 9.8Z"),
    PAUSE("M8.5 5 8.5 19 M15.5 5 15.5 19"),
    PLAY("M8 5 19 12 8 19Z"),
    SEND("M12 15 12 3 M7.5 7 12 2.8 16.5 7 M6 11 4 11 4 21 20 21 20 11 18 11"),
    SAVE("M12 3 12 15 M7.5 11 12 15.2 16.5 11 M4 16 4 21 20 21 20 16"),
    TIMES("A12 14 9 165 210 M12 14 16.4 8.6 O12 14 0.9");

    private static final float SIDE = 24;

    private final Path path = new Path();

    /**
     * @param drawing M: a line through points, closed by Z; O: a circle; A: an arc with centre, radius, start, sweep
     */
    Icon(String drawing) {
        for (String part : drawing.split(" (?=[MOA])")) {
            boolean closed = part.endsWith("Z");
            String[] words = part.substring(1, part.length() - (closed ? 1 : 0)).split(" ");
            float[] numbers = new float[words.length];
            for (int i = 0; i < words.length; i++) {
                numbers[i] = Float.parseFloat(words[i]);
            }
            if (part.charAt(0) == 'M') {
                path.moveTo(numbers[0], numbers[1]);
                for (int i = 2; i < numbers.length; i += 2) {
                    path.lineTo(numbers[i], numbers[i + 1]);
                }
                if (closed) {
                    path.close();
                }
            } else {
                float radius = numbers[2];
                RectF round = new RectF(numbers[0] - radius, numbers[1] - radius, numbers[0] + radius,
                        numbers[1] + radius);
                boolean arc = part.charAt(0) == 'A';
                path.addArc(round, arc ? numbers[3] : 0, arc ? numbers[4] : 359.9f);
            }
        }
    }

    /** Draws it centred at a point, {@code side} pixels wide. */
    void draw(Canvas canvas, Paint paint, float x, float y, float side, int colour) {
        paint.setStyle(Paint.Style.STROKE);
        paint.setStrokeWidth(1.9f);
        paint.setStrokeJoin(Paint.Join.ROUND);
        paint.setStrokeCap(Paint.Cap.ROUND);
        paint.setColor(colour);
        canvas.save();
        canvas.translate(x - side / 2, y - side / 2);
        canvas.scale(side / SIDE, side / SIDE);
        canvas.drawPath(path, paint);
        canvas.restore();
        paint.setStyle(Paint.Style.FILL);
    }
}
