/** GPU resources of a model, which are lost with the context. */

import type { Bundle } from "./bundle.ts";
import { textOf } from "./container.ts";
import { clearing, recorderOf, vertices, type Call, type Handles, type Linked } from "./frame.ts";
import type { Context } from "./gl/context.ts";
import { objectsOf, type Objects } from "./gl/objects.ts";
import { areaOf } from "./layout.ts";
import { PRELUDE, type Pass } from "./manifest.ts";
import { preprocessorOf, type Preprocessor } from "./preprocess.ts";

/**
 * Fragments of a frame below which a program has loops on SwiftShader, a GPU emulated by the CPU: it compiles them sooner,
 * but draws them slower. All results are the same.
 */
const FEW = 3e4;

/** Result of `prepare`, with a method that deletes its objects. */
export interface Prepared {
  /** Generation of the context at creation. */
  readonly generation: number;
  readonly objects: Objects;
  readonly handles: Handles;
  readonly frame: readonly Call[];
  /** The calls of each drawing layer, in order. */
  readonly layerCalls: ReadonlyMap<string, readonly Call[]>;
  /** Functions that draw images of any size into each image input. */
  readonly preprocess: ReadonlyMap<string, Preprocessor>;
  /** Set the context's vertex arrays and fixed state for this model. */
  readonly activate: () => void;
}

/**
 * Compile a bundle's shaders, create its textures, and compute its frame.
 *
 * @throws ShaderError the driver refuses a shader; with the layer and the driver's log.
 * @throws GlError the driver cannot create an object.
 */
export function prepare({ manifest, passes, members }: Bundle, context: Context): Prepared {
  const { gl, generation } = context;
  const varyings = manifest.limits.varying_vectors;
  const objects = objectsOf(gl);

  function compile(prelude: string): Map<string, Linked> {
    const attributes = ["position", ...Array.from({ length: varyings }, (_, index) => `corner${index}`)];
    const emulated = context.renderer.includes("SwiftShader");
    const started = manifest.programs.map((entry) => {
      const vertex = textOf(entry.vertex, members);
      const few = emulated && areaOf(passes.flatMap((pass) => (pass.program === entry.name ? pass.quads : []))) < FEW;
      const loops = few ? "#define ROLLED_FETCHES\n" : "";
      const fragment = prelude + loops + textOf(entry.fragment, members);
      return { entry, vertex, fragment, program: objects.startProgram(vertex, fragment, attributes) };
    });
    const users = new Map([...passes].reverse().map((pass) => [pass.program, pass.layer]));
    const linked = new Map<string, Linked>();
    for (const { entry, vertex, fragment, program } of started) {
      objects.checkProgram(program, vertex, fragment, `layer '${users.get(entry.name) ?? entry.name}' on ${context.renderer}`);
      gl.useProgram(program);
      entry.samplers.forEach((sampler, unit) => gl.uniform1i(gl.getUniformLocation(program, sampler), unit));
      const locations = new Map([...entry.uniforms.keys()].map((name) => [name, gl.getUniformLocation(program, name)]));
      linked.set(entry.name, { program, locations });
    }
    objects.dropShaders();
    return linked;
  }

  /** Create textures, and framebuffers for all except constants, filled with their `clear`. */
  function allocate(programs: Map<string, Linked>): Handles {
    const textures = new Map<string, WebGLTexture>();
    const framebuffers = new Map<string, WebGLFramebuffer>();
    for (const { name, width, height, kind, member, clear } of manifest.textures) {
      const texels = member === undefined ? null : members.get(member)!;
      const texture = objects.texture(width, height, texels);
      textures.set(name, texture);
      if (kind === "constant") continue;
      framebuffers.set(name, objects.framebuffer(texture));
      clearing(gl, clear!)();
    }
    return { programs, textures, framebuffers };
  }

  function activate(vertexBuffer: WebGLBuffer): void {
    objects.setFixedState();
    gl.bindBuffer(gl.ARRAY_BUFFER, vertexBuffer);
    const stride = 4 * (2 + 4 * varyings);
    const attributes = gl.getParameter(gl.MAX_VERTEX_ATTRIBS) as number;
    for (let index = 0; index < attributes; index++) {
      if (index > varyings) {
        gl.disableVertexAttribArray(index); // belongs to another session, whose buffer can be deleted
        continue;
      }
      const [size, offset] = index ? [4, 4 * (2 + 4 * (index - 1))] : [2, 0]; // the position first, then the sources
      gl.vertexAttribPointer(index, size, gl.FLOAT, false, stride, offset);
      gl.enableVertexAttribArray(index);
    }
  }

  try {
    const prelude = textOf(PRELUDE, members) + context.deviceLines;
    objects.setFixedState();
    const handles = allocate(compile(prelude));
    const largest = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    const { viewport, data, first } = vertices(manifest, passes, varyings, largest);
    const vertexBuffer = objects.buffer(data);
    const record = recorderOf(gl, handles, manifest, passes, members, first, viewport);
    const byLayer = new Map<string, Pass[]>();
    for (const pass of passes) {
      const drawn = byLayer.get(pass.layer);
      if (drawn) drawn.push(pass);
      else byLayer.set(pass.layer, [pass]);
    }
    const preprocess = new Map<string, Preprocessor>();
    for (const input of manifest.inputs) {
      if (input.kind !== "picture") continue;
      const framebuffer = handles.framebuffers.get(input.value.views[0]!.texture)!;
      preprocess.set(input.name, preprocessorOf(gl, objects, prelude, input.fit, framebuffer, input.value));
    }
    return {
      generation,
      objects,
      handles,
      frame: record(passes),
      layerCalls: new Map([...byLayer].map(([name, drawn]) => [name, record(drawn)])),
      preprocess,
      activate: () => activate(vertexBuffer),
    };
  } catch (error) {
    objects.close();
    throw error;
  }
}
