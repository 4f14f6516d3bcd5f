package glslinfer.runner;

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
    private final Transfers transfers;
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
        transfers = new Transfers(gl, manifest, textures, handles);
        try {
            DriverLimits.require(manifest.limits, device);
            handles.programs.putAll(Linker.link(bundle, device, objects, varyings));
            device.touched();
            makeTextures();
            vertexBuffer = objects.buffer(Frame.vertices(bundle.passes, textures, varyings, handles));
            Frame.Recorder recorder = new Frame.Recorder(bundle, handles, textures);
            recorder.constantUniforms(bundle.passes).replay(gl);
            frame = recorder.record(bundle.passes);
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
        upload(rgb);
        frame.replay(gl);
        float[] out = transfers.read(bundle.manifest.output.value);
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
    public void activate() {
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

    /** Draws one job of a frame, 0 to {@code jobs() - 1} in order; {@link #activate} comes before. */
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
        transfers.readLogits(out);
    }

    // Layer by layer ----------------------------------------------------------------------------------

    /** Activates the session and uploads a picture, for {@link #drawLayer}; as {@link #run}. */
    public void upload(byte[] rgb) {
        activate();
        transfers.writePicture(rgb);
    }

    /** Draws the passes of one layer; those of the layers before it come first, in order. */
    public void drawLayer(String layer) {
        Frame.Calls calls = layerCalls.get(layer);
        if (calls != null) {
            calls.replay(gl);
        }
    }

    /**
     * Returns a layer's output as numbers; directly after its passes, for later layers may share its textures.
     *
     * @throws Errors.InputError no such layer is drawn
     */
    public float[] readLayer(String layer) {
        Layout.Value value = bundle.manifest.valueOf(layer);
        if (value == null) {
            throw new Errors.InputError("no layer '" + layer + "' is drawn; manifest.layers has those that are");
        }
        return transfers.read(value);
    }

    /** Returns the result as numbers, after the last layer's passes; {@link #run} does it all. */
    public float[] readOutput() {
        return transfers.read(bundle.manifest.output.value);
    }

    /** Returns a texture that passes render into, as it is now: 4 bytes a texel, row 0 first. */
    public ByteBuffer readTexture(String name) {
        return transfers.readTexture(name);
    }

    /** Returns a texture that passes render into, as it is now, or the picture's, as it was uploaded. */
    ByteBuffer texels(String name) {
        return transfers.texels(name);
    }

    int widthOf(String texture) {
        return textures.get(texture).width;
    }

    /**
     * Runs the probe through all layers, then as a whole frame, and returns every layer's error.
     *
     * @throws Errors.SelfCheckError naming the first layer that is further off than its tolerance
     */
    public List<Probe.LayerError> selfCheck() {
        return SelfCheck.check(this, device.renderer());
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
            // Arrays that stay enabled without their buffer would be read from the CPU's memory by the next draw.
            for (int location = 0; location <= varyings; location++) {
                gl.glDisableVertexAttribArray(location);
            }
            device.touched();
            objects.close();
        }
    }

    // Preparing ----------------------------------------------------------------------------------

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
        List<Pass> passes = bundle.passes;
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
        for (Pass pass : bundle.passes) {
            if (!byLayer.containsKey(pass.layer)) {
                byLayer.put(pass.layer, new ArrayList<Pass>());
            }
            byLayer.get(pass.layer).add(pass);
        }
        for (Map.Entry<String, List<Pass>> one : byLayer.entrySet()) {
            layerCalls.put(one.getKey(), recorder.record(Collections.unmodifiableList(one.getValue())));
        }
    }
}
