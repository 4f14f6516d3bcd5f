package glslinfer.runner;

import glslinfer.runner.Program.ShaderProgram;
import glslinfer.runner.Program.Texture;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A compiled bundle, ready to run on the current OpenGL ES 2.0 context of this thread.
 *
 * <p>Either {@link #run} complete inputs, or, if the image is on the GPU and a screen shares its time: draw into {@link
 * #inputFramebuffer}, then {@link #drawJob} for each of {@link #jobs()}, then {@link #readLogits} or {@link
 * #readOutputs}.
 */
public final class Session {
    public final Bundle bundle;

    private final Device device;
    private final Gl gl;
    private final GlObjects objects;
    private final Map<String, Texture> textures = new HashMap<String, Texture>();
    private final Recordings recordings;
    private final int varyings;
    private final int vertexBuffer;
    private final Transfers transfers;
    private boolean checked;
    private boolean closed;

    /**
     * Checks the driver's limits, compiles all programs and creates all textures.
     *
     * @throws Errors.LimitError the driver's limits are too small
     * @throws Errors.ShaderError the driver refuses a shader; with the layer and the driver's log
     * @throws Errors.GlError the driver reports an error
     */
    public Session(Device device, Bundle bundle) {
        this.bundle = bundle;
        this.device = device;
        this.gl = device.gl;
        this.objects = new GlObjects(gl);
        Manifest manifest = bundle.manifest;
        int largest = 0;
        for (ShaderProgram program : manifest.programs) {
            largest = Math.max(largest, program.varyings);
        }
        varyings = largest;
        for (Texture texture : manifest.textures) {
            textures.put(texture.name, texture);
        }
        Frame.Handles handles = new Frame.Handles();
        transfers = new Transfers(gl, objects, manifest, textures, handles);
        try {
            DriverLimits.require(manifest.limits, device);
            handles.programs.putAll(Linker.link(bundle, device, objects, varyings));
            device.touched();
            transfers.makeTextures(bundle);
            int viewport = Frame.viewport(textures.values(), gl.glGetInteger(Gl.GL_MAX_TEXTURE_SIZE));
            vertexBuffer = objects.buffer(Frame.vertices(bundle.passes, textures, varyings, viewport, handles));
            Frame.Recorder recorder = new Frame.Recorder(bundle, handles, textures, viewport);
            recorder.constantUniforms(bundle.passes).replay(gl);
            recordings = new Recordings(recorder, bundle.passes);
            GlObjects.check(gl, "after preparing the model");
        } catch (RuntimeException error) {
            objects.close();
            throw error;
        }
    }

    // Running ----------------------------------------------------------------------------------

    /**
     * Returns the only output for the only input, an image: logits, or (height, width, channels) in row-major order.
     *
     * @param picture bytes in the input's size: the channels of each pixel, top row first
     * @throws Errors.InputError the model has other inputs or outputs, or another number of bytes
     * @throws Errors.GlError the driver reports an error in the first frame
     */
    public float[] run(byte[] picture) {
        return runOnly(picture);
    }

    /** Returns the only output for the only input, an image of any size, which the CPU fits. */
    public float[] run(Picture picture) {
        return runOnly(picture);
    }

    /** Returns the only output for the only input, an array of values. */
    public float[] run(float[] numbers) {
        return runOnly(numbers);
    }

    /**
     * Returns all outputs, by name, in the order of the manifest.
     *
     * @param inputs by name; for an image its bytes, or a {@link Picture} of any size; for values {@code float[]},
     *     {@code double[]} or {@code int[]}, rounded to the nearest stored values
     * @throws Errors.InputError an input is missing, unknown, of another size or type, or not a number
     * @throws Errors.GlError the driver reports an error in the first frame
     */
    public Map<String, Result> run(Map<String, ?> inputs) {
        upload(inputs);
        recordings.frame.replay(gl);
        return readOutputs();
    }

    /** Returns the number of jobs (changes of render target) in a frame. */
    public int jobs() {
        return recordings.jobs.length;
    }

    /**
     * Sets the context's vertex arrays and fixed state for this session; before {@link #drawJob} if other code draws
     * too.
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

    /** Draws a job of a frame, 0 to {@code jobs() - 1} in order, after {@link #activate}. */
    public void drawJob(int index) {
        recordings.jobs[index].replay(gl);
    }

    /**
     * Returns a framebuffer that renders into an image input's texture. The image starts at {@code input.view()}, top
     * row first, with alpha 255 unless alpha is a channel; a grey image has grey in red, and 0 in green and blue.
     *
     * @param input an image input of the model
     */
    public int inputFramebuffer(Input input) {
        return transfers.framebuffer(input.view().texture);
    }

    /**
     * Reads the classes of the last frame, between its last job and the next frame's first. Allocates nothing without
     * host steps.
     *
     * @param out receives a value for each class
     * @throws Errors.InputError the model has no classes
     */
    public void readLogits(float[] out) {
        Output classes = bundle.manifest.classesOutput();
        if (classes == null) {
            throw new Errors.InputError("the model has no output of classes; use readOutputs");
        }
        transfers.readLogits(classes, out);
    }

    /** Returns all outputs of the last frame after its last job, as {@link #run}. */
    public Map<String, Result> readOutputs() {
        Map<String, Result> out = new LinkedHashMap<String, Result>();
        for (Output output : bundle.manifest.outputs) {
            out.put(output.name, transfers.read(output));
        }
        checkOnce();
        return out;
    }

    // Layer by layer ----------------------------------------------------------------------------------

    /** Activates the session and uploads the only input, an image, for {@link #drawJob} or {@link #drawLayer}. */
    public void upload(byte[] picture) {
        upload(bundle.manifest.onlyInput().name, picture);
    }

    /** Activates the session and uploads inputs; as {@link #run(Map)}. If one is refused, none is uploaded. */
    public void upload(Map<String, ?> inputs) {
        write(Stored.all(bundle.manifest, inputs));
    }

    /** The same for one input; others are unchanged or drawn: see {@link #inputFramebuffer}. */
    public void upload(String name, Object value) {
        for (Input input : bundle.manifest.inputs) {
            if (input.name.equals(name)) {
                Stored stored = Stored.of(input, value);
                activate();
                transfers.write(input, stored);
                return;
            }
        }
        throw new Errors.InputError(
                "no input is called '" + name + "'; the model reads " + bundle.manifest.inputNames());
    }

    /** Activates the session and uploads the probe. */
    public void uploadProbe() {
        write(Probe.stored(bundle.manifest));
    }

    /** Draws a frame of the uploaded inputs. */
    public void drawFrame() {
        recordings.frame.replay(gl);
    }

    /** Draws the passes of a layer, after those of all earlier layers. */
    public void drawLayer(String layer) {
        recordings.drawLayer(gl, layer);
    }

    /**
     * Returns the elements of a layer's output, directly after its passes, because later layers can share its textures.
     *
     * @throws Errors.InputError the layer does not draw
     */
    public float[] readLayer(String layer) {
        Layout.Value value = bundle.manifest.valueOf(layer);
        if (value == null) {
            throw new Errors.InputError("no layer '" + layer + "' is drawn; manifest.layers has those that are");
        }
        return Texels.floats(transfers.read(value));
    }

    /** Returns the values of an output, before its steps. */
    List<HostStep.Array> readValues(Output output) {
        return transfers.readValues(output);
    }

    /** Returns the current content of a target or input texture: 4 bytes for each texel, row 0 first. */
    public ByteBuffer readTexture(String name) {
        if (!textures.containsKey(name) || textures.get(name).member != null) {
            throw new Errors.InputError("no texture '" + name + "' is rendered into or uploaded");
        }
        return transfers.texels(name);
    }

    int widthOf(String texture) {
        return textures.get(texture).width;
    }

    /** As {@link #examine}; throws {@link Errors.SelfCheckError} with the first wrong layer or output. */
    public List<Probe.LayerError> selfCheck() {
        return examine().require();
    }

    /** Runs the probe through all layers, then as a complete frame, and returns the errors. */
    public SelfCheck examine() {
        SelfCheck check = SelfCheck.of(this, device.renderer());
        checkOnce();
        return check;
    }

    /** Returns the number of GL calls of a frame between upload and read-back. */
    public int callsPerFrame() {
        return recordings.frame.count();
    }

    /** Deletes all GL objects; further calls have no effect. After a lost context, drop the session without closing. */
    public void close() {
        if (!closed) {
            closed = true;
            // The next draw would read enabled arrays without a buffer from the CPU's memory.
            for (int location = 0; location <= varyings; location++) {
                gl.glDisableVertexAttribArray(location);
            }
            device.touched();
            objects.close();
        }
    }

    // Inside ----------------------------------------------------------------------------------

    private void write(List<Stored> stored) {
        activate();
        for (int i = 0; i < stored.size(); i++) {
            transfers.write(bundle.manifest.inputs.get(i), stored.get(i));
        }
    }

    private void checkOnce() {
        if (!checked) {
            GlObjects.check(gl, "in the first frame");
            checked = true;
        }
    }

    private float[] runOnly(Object value) {
        Output output = bundle.manifest.onlyOutput();
        Input input = bundle.manifest.onlyInput();
        return run(Collections.singletonMap(input.name, value)).get(output.name).data;
    }
}
