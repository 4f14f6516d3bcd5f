package glslinfer.runner;

import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Layout.View;
import glslinfer.runner.Program.Texture;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Transfers between textures and the CPU's memory: uploads of inputs, and reads of outputs. */
final class Transfers {
    private final Gl gl;
    private final GlObjects objects;
    private final Map<String, Texture> textures;
    private final Frame.Handles handles;
    private final ByteBuffer upload;

    /** Vector of classes and its texels, if {@link #readLogits} can avoid allocation. */
    private final FixedPoint logits;

    private final ByteBuffer logitTexels;
    private final double[] logitNumbers;

    Transfers(Gl gl, GlObjects objects, Manifest manifest, Map<String, Texture> textures, Frame.Handles handles) {
        this.gl = gl;
        this.objects = objects;
        this.textures = textures;
        this.handles = handles;
        int largest = 0;
        for (Input input : manifest.inputs) {
            int[] size = sizeOfView(input.value);
            largest = Math.max(largest, size[0] * size[1]);
        }
        upload = GlObjects.direct(4 * largest);
        Output classes = manifest.classesOutput();
        logits = classes == null || !classes.steps.isEmpty() ? null : classes.vector();
        logitTexels = GlObjects.direct(logits == null ? 0 : 4 * logits.width());
        logitNumbers = new double[logits == null ? 0 : logits.length];
    }

    /** Creates all textures, and a framebuffer for each target. */
    void makeTextures(Bundle bundle) {
        gl.glActiveTexture(Gl.GL_TEXTURE0);
        for (Texture texture : bundle.manifest.textures) {
            byte[] member = texture.member == null ? null : bundle.member(texture.member);
            handles.textures.put(texture.name, objects.texture(texture.width, texture.height, texture.texels(member)));
            if (texture.isTarget()) {
                framebuffer(texture.name);
            }
        }
    }

    /** Returns the width and height in texels of each view of a map, or of a packed vector. */
    private static int[] sizeOfView(Value value) {
        if (value instanceof Tiles) {
            return new int[] {((Tiles) value).width, ((Tiles) value).height};
        }
        return new int[] {((FixedPoint) value).width(), ((FixedPoint) value).height()};
    }

    /** Uploads an input: only the rectangles of its views. */
    void write(Input input, Stored stored) {
        gl.glActiveTexture(Gl.GL_TEXTURE0);
        if (input.value instanceof FixedPoint) {
            stored.write(input, 0, upload);
            writeTexels(((FixedPoint) input.value).texture, 0, 0, sizeOfView(input.value));
            return;
        }
        List<View> views = ((Tiles) input.value).views;
        for (int i = 0; i < views.size(); i++) {
            stored.write(input, i, upload);
            writeTexels(views.get(i).texture, views.get(i).x, views.get(i).y, sizeOfView(input.value));
        }
    }

    private void writeTexels(String texture, int x, int y, int[] size) {
        gl.glBindTexture(Gl.GL_TEXTURE_2D, handles.textures.get(texture));
        gl.glTexSubImage2D(
                Gl.GL_TEXTURE_2D, 0, x, y, size[0], size[1], Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, upload);
    }

    /**
     * Returns the elements of a value: (columns, length), (length), or (height, width, channels) in row-major order.
     */
    double[] read(Value value) {
        if (value.count() > FormatConstants.MAX_RESULT) {
            throw new Errors.InputError("a value of " + value.count() + " numbers is too large to read");
        }
        double[] out = new double[(int) value.count()];
        if (value instanceof FixedPoint) {
            FixedPoint point = (FixedPoint) value;
            ByteBuffer texels = GlObjects.direct(4 * point.width() * point.height());
            readTexels(point.texture, point.width(), point.height(), texels);
            Texels.unpack(texels, point, out);
            return out;
        }
        Tiles tiles = (Tiles) value;
        Map<String, ByteBuffer> texelsByName = new HashMap<String, ByteBuffer>();
        for (String name : tiles.textures()) {
            texelsByName.put(name, texels(name));
        }
        for (int i = 0; i < tiles.views.size(); i++) {
            String name = tiles.views.get(i).texture;
            Texels.unpack(texelsByName.get(name), textures.get(name).width, tiles, i, out);
        }
        return out;
    }

    /** Returns the values of an output, before its steps. */
    List<HostStep.Array> readValues(Output output) {
        List<HostStep.Array> arrays = new ArrayList<HostStep.Array>();
        for (Value value : output.values) {
            arrays.add(new HostStep.Array(value.shape(), read(value)));
        }
        return arrays;
    }

    /** Returns an output, after its steps. */
    Result read(Output output) {
        HostStep.Array result = HostStep.apply(output.steps, readValues(output));
        return new Result(output.name, result.shape, Texels.floats(result.data));
    }

    /** Reads the classes, without allocation if they are a vector without steps. */
    void readLogits(Output classes, float[] out) {
        if (logits == null) {
            float[] data = read(classes).data;
            System.arraycopy(data, 0, out, 0, data.length);
            return;
        }
        readTexels(logits.texture, logits.width(), logits.height(), logitTexels);
        Texels.unpack(logitTexels, logits, logitNumbers);
        for (int i = 0; i < logitNumbers.length; i++) {
            out[i] = (float) logitNumbers[i];
        }
    }

    /** Returns the current content of a target or input texture: 4 bytes for each texel, row 0 first. */
    ByteBuffer texels(String name) {
        Texture texture = textures.get(name);
        ByteBuffer texels = GlObjects.direct(4 * texture.width * texture.height);
        readTexels(name, texture.width, texture.height, texels);
        return texels;
    }

    /** Returns a framebuffer that renders into a target or an input texture. */
    int framebuffer(String texture) {
        Integer framebuffer = handles.framebuffers.get(texture);
        if (framebuffer == null) {
            framebuffer = objects.framebuffer(handles.textures.get(texture));
            handles.framebuffers.put(texture, framebuffer);
        }
        return framebuffer;
    }

    private void readTexels(String texture, int width, int height, ByteBuffer texels) {
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, framebuffer(texture));
        gl.glReadPixels(0, 0, width, height, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, texels);
    }
}
