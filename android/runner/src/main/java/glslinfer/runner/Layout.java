package glslinfer.runner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Positions of layers' outputs in textures, and the encoding of their values. */
public final class Layout {
    private Layout() {}

    /** The tile of one slice (4 channels): the texture's name and the texel of pixel (0, 0). */
    public static final class View {
        public final String texture;
        public final int x;
        public final int y;

        View(String texture, int x, int y) {
            this.texture = texture;
            this.x = x;
            this.y = y;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof View
                    && texture.equals(((View) other).texture)
                    && x == ((View) other).x
                    && y == ((View) other).y;
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(new Object[] {texture, x, y});
        }
    }

    /** An output: a {@link FeatureMap}, a {@link FixedMap} or {@link FixedPoint}. */
    public abstract static class Value {
        Value() {}

        /** Returns the names of its textures, without duplicates. */
        public abstract List<String> textures();

        /** Returns its shape: (length), (columns, length), or (height, width, channels). */
        public abstract int[] shape();

        /** Returns the number of its elements. */
        public final long count() {
            long count = 1;
            for (int length : shape()) {
                count *= length;
            }
            return count;
        }

        /** Returns all its properties, for comparisons. */
        abstract List<Object> parts();

        @Override
        public final boolean equals(Object other) {
            return other instanceof Value && getClass() == other.getClass() && parts().equals(((Value) other).parts());
        }

        @Override
        public final int hashCode() {
            return parts().hashCode();
        }
    }

    /** Tiles of height x width texels, one for each view. */
    public abstract static class Tiles extends Value {
        public final int height;
        public final int width;
        public final int channels;
        public final List<View> views;

        Tiles(int height, int width, int channels, List<View> views) {
            this.height = height;
            this.width = width;
            this.channels = channels;
            this.views = Collections.unmodifiableList(views);
        }

        /** Returns the number of channels in a view. */
        abstract int channelsOfView();

        @Override
        public List<String> textures() {
            Set<String> names = new LinkedHashSet<String>();
            for (View view : views) {
                names.add(view.texture);
            }
            return new ArrayList<String>(names);
        }

        @Override
        public int[] shape() {
            return new int[] {height, width, channels};
        }
    }

    /** Tiles with a range for each channel. */
    public abstract static class Ranged extends Tiles {
        final double[] scales;
        final double[] zeros;

        Ranged(int height, int width, int channels, List<View> views, double[] scales, double[] zeros) {
            super(height, width, channels, views);
            this.scales = scales;
            this.zeros = zeros;
        }

        /** Returns the range of a channel: the value of 255 steps. */
        public double scale(int channel) {
            return scales[scales.length == 1 ? 0 : channel];
        }

        /** Returns the byte of the value 0 in a channel. */
        public double zero(int channel) {
            return zeros[zeros.length == 1 ? 0 : channel];
        }
    }

    /** 8 bits: byte b of channel c has the value {@code scale(c) * (b - zero(c)) / 255}. */
    public static final class FeatureMap extends Ranged {
        public final int gutter;

        FeatureMap(int height, int width, int channels, int gutter, List<View> views, double[] scales, double[] zeros) {
            super(height, width, channels, views, scales, zeros);
            this.gutter = gutter;
        }

        @Override
        int channelsOfView() {
            return 4;
        }

        @Override
        List<Object> parts() {
            return Arrays.<Object>asList(
                    height, width, channels, gutter, views, Arrays.toString(scales), Arrays.toString(zeros));
        }
    }

    /** 16 bits: n of channel c, from 0 to 65280, has the value {@code scale(c) * (n / 256 - zero(c)) / 255}. */
    public static final class FineMap extends Ranged {
        /** Result of {@link Texels#fixed16} for the bytes of n = 0. */
        static final int FIRST = -32768;

        FineMap(int height, int width, int channels, List<View> views, double[] scales, double[] zeros) {
            super(height, width, channels, views, scales, zeros);
        }

        @Override
        int channelsOfView() {
            return 2;
        }

        @Override
        List<Object> parts() {
            return Arrays.<Object>asList(
                    height, width, channels, views, Arrays.toString(scales), Arrays.toString(zeros));
        }
    }

    /** 16-bit fixed point in a map, two channels in a texel, as multiples of scale / 256. */
    public static final class FixedMap extends Tiles {
        public final double scale;

        FixedMap(int height, int width, int channels, double scale, List<View> views) {
            super(height, width, channels, views);
            this.scale = scale;
        }

        @Override
        int channelsOfView() {
            return 2;
        }

        @Override
        List<Object> parts() {
            return Arrays.<Object>asList(height, width, channels, scale, views);
        }
    }

    /** 16-bit fixed point, two values in a texel: a vector ({@code columns} 0), or partial sums. */
    public static final class FixedPoint extends Value {
        public final String texture;
        public final int columns;
        public final int length;
        public final double scale;

        FixedPoint(String texture, int columns, int length, double scale) {
            this.texture = texture;
            this.columns = columns;
            this.length = length;
            this.scale = scale;
        }

        /** Returns the width of its rectangle, in texels. */
        public int width() {
            return columns > 0 ? columns : slicesOf(length, 2);
        }

        /** Returns the height of its rectangle, in texels. */
        public int height() {
            return columns > 0 ? slicesOf(length, 2) : 1;
        }

        @Override
        public List<String> textures() {
            return Collections.singletonList(texture);
        }

        /** Returns whether it is a vector, not partial sums. */
        public boolean isVector() {
            return columns == 0;
        }

        @Override
        public int[] shape() {
            return isVector() ? new int[] {length} : new int[] {columns, length};
        }

        @Override
        List<Object> parts() {
            return Arrays.<Object>asList(texture, columns, length, scale);
        }
    }

    /** Returns the number of texels for {@code values} values, {@code perTexel} in each. */
    static int slicesOf(int values, int perTexel) {
        return (values + perTexel - 1) / perTexel;
    }
}
