package glslinfer.runner;

import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Program.Texture;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/** Between textures and the memory of the CPU: the picture up, outputs down. */
final class Transfers {
    private final Gl gl;
    private final Manifest manifest;
    private final Map<String, Texture> textures;
    private final Frame.Handles handles;
    private final ByteBuffer picture;
    private final ByteBuffer logits;

    Transfers(Gl gl, Manifest manifest, Map<String, Texture> textures, Frame.Handles handles) {
        this.gl = gl;
        this.manifest = manifest;
        this.textures = textures;
        this.handles = handles;
        picture = GlObjects.direct(4 * manifest.input.size * manifest.input.size);
        boolean vector = manifest.output.value instanceof FixedPoint;
        logits = GlObjects.direct(vector ? 4 * ((FixedPoint) manifest.output.value).width() : 0);
    }

    /** Uploads a picture, {@code 3 * size * size} bytes; {@link Errors.ImageError} if there are more or fewer. */
    void writePicture(byte[] rgb) {
        Manifest.Input input = manifest.input;
        int size = input.size;
        if (rgb.length != 3 * size * size) {
            throw new Errors.ImageError(
                    "the model reads "
                            + size
                            + " x "
                            + size
                            + " pixels of 3 bytes, "
                            + rgb.length
                            + " bytes were given; Preprocess.toSquare makes them of any picture");
        }
        for (int i = 0; i < size * size; i++) {
            picture.put(4 * i, rgb[3 * i]);
            picture.put(4 * i + 1, rgb[3 * i + 1]);
            picture.put(4 * i + 2, rgb[3 * i + 2]);
            picture.put(4 * i + 3, (byte) 255);
        }
        gl.glActiveTexture(Gl.GL_TEXTURE0);
        gl.glBindTexture(Gl.GL_TEXTURE_2D, handles.textures.get(input.texture));
        gl.glTexSubImage2D(
                Gl.GL_TEXTURE_2D, 0, input.x, input.y, size, size, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, picture);
    }

    /** Returns an output as numbers: (columns, length), (length), or (height, width, channels) row by row. */
    float[] read(Value value) {
        float[] out = new float[value.count()];
        if (value instanceof FixedPoint) {
            FixedPoint point = (FixedPoint) value;
            ByteBuffer texels = GlObjects.direct(4 * point.width() * point.height());
            readTexels(point.texture, point.width(), point.height(), texels);
            Texels.unpack(texels, point, out);
            return out;
        }
        Tiles tiles = (Tiles) value;
        Map<String, ByteBuffer> whole = new HashMap<String, ByteBuffer>();
        for (String name : tiles.textures()) {
            whole.put(name, texels(name));
        }
        for (int i = 0; i < tiles.views.size(); i++) {
            String name = tiles.views.get(i).texture;
            Texels.unpack(whole.get(name), textures.get(name).width, tiles, i, out);
        }
        return out;
    }

    /** Reads the result, a vector, without allocating. */
    void readLogits(float[] out) {
        FixedPoint value = (FixedPoint) manifest.output.value;
        readTexels(value.texture, value.width(), value.height(), logits);
        Texels.unpack(logits, value, out);
    }

    /** Returns a whole texture that passes render into: 4 bytes a texel, row 0 first. */
    ByteBuffer readTexture(String name) {
        Texture texture = textures.get(name);
        if (texture == null || !texture.isTarget()) {
            throw new Errors.InputError("no texture '" + name + "' is rendered into");
        }
        ByteBuffer texels = GlObjects.direct(4 * texture.width * texture.height);
        readTexels(name, texture.width, texture.height, texels);
        return texels;
    }

    /** Returns a whole texture that passes render into, or the picture's. */
    ByteBuffer texels(String name) {
        return textures.get(name).isTarget() ? readTexture(name) : uploaded();
    }

    private void readTexels(String texture, int width, int height, ByteBuffer texels) {
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, handles.framebuffers.get(texture));
        gl.glReadPixels(0, 0, width, height, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, texels);
    }

    /** Returns the texels of the picture's texture, as the picture was uploaded: of a layer that only renames them. */
    private ByteBuffer uploaded() {
        Manifest.Input input = manifest.input;
        Texture texture = textures.get(input.texture);
        ByteBuffer texels = GlObjects.direct(4 * texture.width * texture.height);
        for (int y = 0; y < input.size; y++) {
            for (int i = 0; i < 4 * input.size; i++) {
                texels.put(4 * ((input.y + y) * texture.width + input.x) + i, picture.get(4 * y * input.size + i));
            }
        }
        return texels;
    }
}
