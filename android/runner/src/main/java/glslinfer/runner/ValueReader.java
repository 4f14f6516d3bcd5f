package glslinfer.runner;

import glslinfer.runner.Errors.BundleError;
import glslinfer.runner.Layout.FeatureMap;
import glslinfer.runner.Layout.FineMap;
import glslinfer.runner.Layout.FixedMap;
import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import java.util.ArrayList;
import java.util.List;

/** Strict reader of values in manifest.json: their layout in textures, and their encoding. */
final class ValueReader {
    private ValueReader() {}

    /** Reads a value of any kind; {@code where} is its name in messages. */
    static Value read(Object data, String where) {
        Fields fields = new Fields(data, where);
        Value value = value(fields);
        fields.done();
        return value;
    }

    /** Reads the value of an input or an output: any kind except partial sums. */
    static Value readEnd(Object data, String where) {
        Value value = read(data, where);
        if (value instanceof FixedPoint && !((FixedPoint) value).isVector()) {
            throw new BundleError(where + ": partial sums ('columns' " + ((FixedPoint) value).columns
                    + "); give a vector ('columns' 0) or a map");
        }
        return value;
    }

    private static Value value(Fields fields) {
        if (!fields.has("views")) {
            String texture = fields.text("texture");
            int columns = fields.integer("columns", FormatConstants.COORDINATE_RANGE);
            return new FixedPoint(
                    texture, columns, fields.integer("length", FormatConstants.COUNT_RANGE), scale(fields));
        }
        int height = fields.integer("height", FormatConstants.SIDE_RANGE);
        int width = fields.integer("width", FormatConstants.SIDE_RANGE);
        int channels = fields.integer("channels", FormatConstants.COUNT_RANGE);
        List<View> views = new ArrayList<View>();
        for (Object view : fields.items("views")) {
            views.add(view(view, fields.where + ".views[" + views.size() + "]"));
        }
        if (fields.has("scale")) {
            return new FixedMap(height, width, channels, scale(fields), views);
        }
        boolean fine = fields.has("bits");
        if (fine) {
            fields.integer("bits", FormatConstants.BITS_RANGE);
        }
        int gutter = fine ? 0 : fields.integer("gutter", FormatConstants.GUTTER_RANGE);
        double[] scales = fields.numbers("scales");
        if (fine) {
            return new FineMap(height, width, channels, views, scales, fields.numbers("zeros"));
        }
        return new FeatureMap(height, width, channels, gutter, views, scales, fields.numbers("zeros"));
    }

    private static View view(Object data, String where) {
        List<Object> entries = Fields.items(data, where);
        if (entries.size() != 3) {
            throw new BundleError(where + ": expected [texture, x, y]");
        }
        String texture = Fields.text(entries.get(0), where);
        int[] place = new int[2];
        for (int i = 0; i < place.length; i++) {
            place[i] = Fields.integer(entries.get(1 + i), where, FormatConstants.COORDINATE_RANGE);
        }
        return new View(texture, place[0], place[1]);
    }

    private static double scale(Fields fields) {
        double scale = fields.number("scale", 0.0);
        if (scale == 0) {
            throw new BundleError(fields.where + ": 'scale' is 0, not positive");
        }
        return scale;
    }
}
