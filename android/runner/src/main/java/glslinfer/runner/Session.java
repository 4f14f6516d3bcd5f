package glslinfer.runner;

import glslinfer.runner.Layout.FixedPoint;
import glslinfer.runner.Layout.Tiles;
import glslinfer.runner.Layout.Value;
import glslinfer.runner.Program.Pass;
import glslinfer.runner.Program.ShaderProgram;
import glslinfer.runner.Program.Texture;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A bundle, compiled and ready on the OpenGL ES 2.0 context that is current in this thread.
 *
 * <p>Either {@link #run} whole pictures, or, where the picture is on the GPU already and a screen wants its share: draw
 * into {@link #inputFramebuffer()}, then {@link #drawJob} for each of {@link #jobs()}, then {@link #readLogits}.
 */
public final class Session {
    public final Bundle bundle;

    private final Device device;
    private final Gl gl;
    private final GlObjects objects;
    private final Map<String, Texture> textures = new HashMap<String, Texture>();
    private final Frame.Handles handles = new Frame.Handles();
    private final Map<String, Frame.Calls> layerCalls = new HashMap<String, Frame.Calls>();
    private final Frame.Calls[] jobs;
    private final Frame.Calls frame;
    private final int varyings;
    private final int vertexBuffer;
    private final ByteBuffer picture;
    private final ByteBuffer result;
    private int inputFramebuffer;
    private boolean checked;
    private boolean closed;

    /**
     * Checks the driver's limits, compiles every program and makes every texture.
     *
     * @throws Errors.LimitError the driver's limits are too small
     * @throws Errors.ShaderError the driver refuses a shader; names the layer and quotes the driver
     * @throws Errors.GlError the driver reports an error
     */
    public Session(Device device, Bundle bundle) {
        this.bundle = bundle;
        this.device = device;
        this.gl = device.gl;
        this.objects = new GlObjects(gl);
        Manifest manifest = bundle.manifest;
        int most = 0;
        for (ShaderProgram program : manifest.programs) {
            most = Math.max(most, program.varyings);
        }
        varyings = most;
        for (Texture texture : manifest.textures) {
            textures.put(texture.name, texture);
        }
        int size = manifest.input.size;
        picture = GlObjects.direct(4 * size * size);
        result = GlObjects.direct(resultBytes());
        try {
            DriverLimits.require(manifest.limits, device);
            compile();
            device.touched();
            makeTextures();
            vertexBuffer = objects.buffer(Frame.vertices(manifest.passes, textures, varyings, handles));
            Frame.Recorder recorder = new Frame.Recorder(bundle, handles, textures);
            recorder.constantUniforms(manifest.passes).replay(gl);
            frame = recorder.record(manifest.passes);
            jobs = recordJobs(recorder);
            recordLayers(recorder);
            GlObjects.check(gl, "after preparing the model");
        } catch (RuntimeException error) {
            objects.close();
            throw error;
        }
    }

    // Running ----------------------------------------------------------------------------------

    /**
     * Returns the output for a picture: logits (classes), or a feature map (height, width, channels), row by row.
     *
     * @param rgb {@code 3 * size * size} bytes: red, green, blue of each pixel, top row first; see {@link Preprocess}
     * @throws Errors.ImageError another number of bytes
     * @throws Errors.GlError the driver reports an error in the first frame
     */
    public float[] run(byte[] rgb) {
        enter();
        upload(rgb);
        frame.replay(gl);
        float[] out = read(bundle.manifest.output);
        if (!checked) {
            GlObjects.check(gl, "in the first frame");
            checked = true;
        }
        return out;
    }

    /** Returns how many jobs (changes of render target) a frame has. */
    public int jobs() {
        return jobs.length;
    }

    /**
     * Makes the context's vertex arrays and fixed state this session's; before {@link #drawJob} where others draw too.
     */
    public void enter() {
        if (closed) {
            throw new Errors.RunError("the session is closed");
        }
        if (device.owner == this) {
            return;
        }
        device.owner = this;
        objects.fixedState();
        gl.glBindBuffer(Gl.GL_ARRAY_BUFFER, vertexBuffer);
        int stride = 4 * (2 + 4 * varyings);
        gl.glVertexAttribPointer(0, 2, Gl.GL_FLOAT, false, stride, 0);
        gl.glEnableVertexAttribArray(0);
        for (int i = 0; i < varyings; i++) {
            gl.glVertexAttribPointer(1 + i, 4, Gl.GL_FLOAT, false, stride, 4 * (2 + 4 * i));
            gl.glEnableVertexAttribArray(1 + i);
        }
    }

    /** Draws one job of a frame, 0 to {@code jobs() - 1} in order; {@link #enter} comes before. */
    public void drawJob(int index) {
        jobs[index].replay(gl);
    }

    /**
     * Returns a framebuffer that renders into the picture's texture; the picture is the square of
     * {@code manifest.input.size} pixels from ({@code input.x}, {@code input.y}) on, top row first, with alpha 255.
     */
    public int inputFramebuffer() {
        if (inputFramebuffer == 0) {
            inputFramebuffer = objects.framebuffer(handles.textures.get(bundle.manifest.input.texture));
        }
        return inputFramebuffer;
    }

    /**
     * Reads the logits of the last frame, after its last job and before another job of the next: without allocating.
     *
     * @param out takes as many numbers as there are classes
     */
    public void readLogits(float[] out) {
        FixedPoint value = (FixedPoint) bundle.manifest.output;
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, handles.framebuffers.get(value.texture));
        gl.glReadPixels(0, 0, value.width(), value.height(), Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, result);
        Texels.unpack(result, value, out);
    }

    // Layer by layer ----------------------------------------------------------------------------------

    /** Uploads a picture for {@link #drawLayer}. */
    public void start(byte[] rgb) {
        enter();
        upload(rgb);
    }

    /** Draws the passes of one layer; those of the layers before it come first, in order. */
    public void drawLayer(String layer) {
        Frame.Calls calls = layerCalls.get(layer);
        if (calls != null) {
            calls.replay(gl);
        }
    }

    /** Returns a layer's output as numbers; directly after its passes, for later layers may share its textures. */
    public float[] readLayer(String layer) {
        return read(bundle.manifest.layer(layer).output);
    }

    /** Returns a texture that passes render into, as it is now: 4 bytes a texel, row 0 first. */
    public ByteBuffer readTexture(String name) {
        Texture texture = textures.get(name);
        if (texture == null || !texture.isTarget()) {
            throw new Errors.InputError("no texture '" + name + "' is rendered into");
        }
        ByteBuffer texels = GlObjects.direct(4 * texture.width * texture.height);
        gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, handles.framebuffers.get(name));
        gl.glReadPixels(0, 0, texture.width, texture.height, Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, texels);
        return texels;
    }

    /**
     * Runs the probe through all layers, then as a whole frame, and returns every layer's error.
     *
     * @throws Errors.SelfCheckError naming the first layer that is further off than its tolerance
     */
    public List<Probe.LayerError> selfCheck() {
        Manifest manifest = bundle.manifest;
        start(Probe.picture(manifest.input.size));
        List<Probe.LayerError> errors = new ArrayList<Probe.LayerError>();
        float[] before = new float[0];
        for (Manifest.Layer layer : manifest.layers) {
            if (layerCalls.containsKey(layer.name)) {
                drawLayer(layer.name);
                errors.add(compare(layer));
            }
            if (layer.name.equals(manifest.outputLayer)) {
                before = read(layer.output);
            }
        }
        float[] whole = run(Probe.picture(manifest.input.size));
        double off = 0;
        for (int i = 0; i < whole.length; i++) {
            off = Math.max(off, Math.abs(whole[i] - (manifest.classes() > 0 ? manifest.probe.logits[i] : before[i])));
        }
        if (!(off <= manifest.probe.maxError)) {
            throw new Errors.SelfCheckError(
                    "every layer comes out right, but the output of a whole frame is off by "
                            + off
                            + ", where "
                            + manifest.probe.maxError
                            + " is tolerated");
        }
        return errors;
    }

    private Probe.LayerError compare(Manifest.Layer layer) {
        Map<String, ByteBuffer> texels = new HashMap<String, ByteBuffer>();
        Map<String, Integer> widths = new HashMap<String, Integer>();
        for (String name : layer.output.textures()) {
            texels.put(name, readTexture(name));
            widths.put(name, textures.get(name).width);
        }
        byte[] member = bundle.member(bundle.manifest.probe.member);
        Probe.LayerError error = Probe.compare(bundle.manifest, member, layer.name, texels, widths);
        if (!error.passed()) {
            throw new Errors.SelfCheckError(
                    "layer '"
                            + layer.name
                            + "' comes out wrong on this driver ("
                            + device.renderer()
                            + "): off by up to "
                            + error.worst
                            + " ("
                            + error.mean
                            + " in the mean), where "
                            + error.allowed.maxError
                            + " ("
                            + error.allowed.meanError
                            + " in the mean) is tolerated; please report it with the device's name");
        }
        return error;
    }

    /** Returns how many GL calls a frame takes between upload and read-back. */
    public int callsPerFrame() {
        return frame.count();
    }

    /**
     * Deletes every GL object; further calls do nothing. Where the context is lost with all in it, just drop it.
     */
    public void close() {
        if (!closed) {
            closed = true;
            device.owner = device.owner == this ? null : device.owner;
            objects.close();
        }
    }

    // Preparing ----------------------------------------------------------------------------------

    private int resultBytes() {
        Value output = bundle.manifest.output;
        return output instanceof FixedPoint ? 4 * ((FixedPoint) output).width() : 0;
    }

    private void compile() {
        Map<String, String[]> sources = new HashMap<String, String[]>();
        Map<String, Integer> started = new LinkedHashMap<String, Integer>();
        String prelude = text(Program.PRELUDE) + device.deviceLines();
        String[] attributes = new String[1 + varyings];
        attributes[0] = "position";
        for (int i = 0; i < varyings; i++) {
            attributes[1 + i] = "corner" + i;
        }
        for (ShaderProgram entry : bundle.manifest.programs) {
            String[] source = {text(entry.vertex), prelude + text(entry.fragment)};
            sources.put(entry.name, source);
            started.put(entry.name, objects.startProgram(source[0], source[1], attributes));
        }
        Map<String, String> users = new HashMap<String, String>();
        for (Pass pass : bundle.manifest.passes) {
            users.put(pass.program, users.containsKey(pass.program) ? users.get(pass.program) : pass.layer);
        }
        for (ShaderProgram entry : bundle.manifest.programs) {
            int name = started.get(entry.name);
            String user = users.containsKey(entry.name) ? users.get(entry.name) : entry.name;
            String[] source = sources.get(entry.name);
            objects.checkProgram(name, source[0], source[1], "layer '" + user + "' on " + device.renderer());
            gl.glUseProgram(name);
            for (int unit = 0; unit < entry.samplers.size(); unit++) {
                gl.glUniform1i(gl.glGetUniformLocation(name, entry.samplers.get(unit)), unit);
            }
            Map<String, Integer> locations = new HashMap<String, Integer>();
            for (String uniform : entry.uniforms.keySet()) {
                locations.put(uniform, gl.glGetUniformLocation(name, uniform));
            }
            handles.programs.put(entry.name, new Frame.Linked(name, locations));
        }
        objects.dropShaders();
    }

    private String text(String member) {
        return Json.text(bundle.member(member));
    }

    private void makeTextures() {
        gl.glActiveTexture(Gl.GL_TEXTURE0);
        for (Texture texture : bundle.manifest.textures) {
            ByteBuffer texels = GlObjects.direct(4 * texture.width * texture.height);
            if (texture.member != null) {
                texels.duplicate().put(bundle.member(texture.member));
            } else {
                fill(texels, texture.clear);
            }
            int name = objects.texture(texture.width, texture.height, texels);
            handles.textures.put(texture.name, name);
            if (texture.isTarget()) {
                handles.framebuffers.put(texture.name, objects.framebuffer(name));
            }
        }
    }

    /** Fills a new buffer, which is all zeros, with one texel. */
    private static void fill(ByteBuffer texels, int[] texel) {
        if (!Arrays.equals(texel, new int[4])) {
            for (int i = 0; i < texels.capacity(); i++) {
                texels.put(i, (byte) texel[i % 4]);
            }
        }
    }

    private Frame.Calls[] recordJobs(Frame.Recorder recorder) {
        List<Frame.Calls> calls = new ArrayList<Frame.Calls>();
        List<Pass> passes = bundle.manifest.passes;
        for (int start = 0; start < passes.size(); ) {
            int end = start + 1;
            while (end < passes.size() && !passes.get(end).clear) {
                end++;
            }
            calls.add(recorder.record(passes.subList(start, end)));
            start = end;
        }
        return calls.toArray(new Frame.Calls[0]);
    }

    private void recordLayers(Frame.Recorder recorder) {
        Map<String, List<Pass>> byLayer = new LinkedHashMap<String, List<Pass>>();
        for (Pass pass : bundle.manifest.passes) {
            if (!byLayer.containsKey(pass.layer)) {
                byLayer.put(pass.layer, new ArrayList<Pass>());
            }
            byLayer.get(pass.layer).add(pass);
        }
        for (Map.Entry<String, List<Pass>> one : byLayer.entrySet()) {
            layerCalls.put(one.getKey(), recorder.record(Collections.unmodifiableList(one.getValue())));
        }
    }

    // Textures ----------------------------------------------------------------------------------

    private void upload(byte[] rgb) {
        Manifest.Input input = bundle.manifest.input;
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

    private float[] read(Value value) {
        float[] out = new float[value.count()];
        if (value instanceof FixedPoint) {
            FixedPoint point = (FixedPoint) value;
            ByteBuffer texels = GlObjects.direct(4 * point.width() * point.height());
            gl.glBindFramebuffer(Gl.GL_FRAMEBUFFER, handles.framebuffers.get(point.texture));
            gl.glReadPixels(0, 0, point.width(), point.height(), Gl.GL_RGBA, Gl.GL_UNSIGNED_BYTE, texels);
            Texels.unpack(texels, point, out);
            return out;
        }
        Tiles tiles = (Tiles) value;
        Map<String, ByteBuffer> whole = new HashMap<String, ByteBuffer>();
        for (String name : tiles.textures()) {
            whole.put(name, textures.get(name).isTarget() ? readTexture(name) : uploaded());
        }
        for (int i = 0; i < tiles.views.size(); i++) {
            String name = tiles.views.get(i).texture;
            Texels.unpack(whole.get(name), textures.get(name).width, tiles, i, out);
        }
        return out;
    }

    /** Returns the texels of the picture's texture, as the picture was uploaded: of a layer that only renames them. */
    private ByteBuffer uploaded() {
        Manifest.Input input = bundle.manifest.input;
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
