// A network of plain tfjs operations, from the files of convert.ts: equivalent to the result of tfjs's own converter for
// the same Keras model. Grouped convolutions, which tfjs lacks, are computed in one of two ways: "split", a convolution
// for each group, or "whole", a convolution whose kernel is zero between groups.
import * as tf from "@tensorflow/tfjs-core";

/**
 * Load a network on an imported backend; return a function from pixels ({data, width, height}, RGBA bytes) to {shape,
 * data}: logits (classes,), or an image (height, width, channels).
 *
 * `folder` has model.json and weights.bin; `grouped` is "split" or "whole".
 */
export async function load(backend, folder, grouped) {
  if (!(await tf.setBackend(backend))) throw new Error(`tfjs has no backend '${backend}' here`);
  await tf.ready();
  const [network, weights] = await Promise.all([
    fetched(`${folder}/model.json`).then((response) => response.json()),
    fetched(`${folder}/weights.bin`).then((response) => response.arrayBuffer()),
  ]);
  const layers = network.layers.map((layer) => ({ ...layer, run: operation(layer, weights, grouped) }));
  const forward = (pixels) =>
    tf.tidy(() => {
      const values = { [network.input]: tf.expandDims(tf.div(tf.cast(tf.browser.fromPixels(pixels), "float32"), 255)) };
      for (const { name, inputs, run } of layers) values[name] = run(...inputs.map((input) => values[input]));
      return tf.squeeze(values[network.output], [0]);
    });
  return async (pixels) => {
    const result = forward(pixels);
    const data = await result.data();
    result.dispose();
    return { shape: result.shape, data };
  };
}

async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: HTTP status ${response.status}`);
  return response;
}

function operation(layer, weights, grouped) {
  const tensor = ({ offset, shape }) =>
    tf.tensor(new Float32Array(weights, offset, shape.reduce((a, b) => a * b, 1)), shape);
  switch (layer.op) {
    case "conv2d":
      return convolution(layer, tensor(layer.kernel), tensor(layer.bias), grouped);
    case "add":
      return (...maps) => activated(tf.addN(maps), layer);
    case "upsample_bilinear":
      return (x) => tf.image.resizeBilinear(x, [x.shape[1] * layer.size[0], x.shape[2] * layer.size[1]], false, true);
    case "depth_to_space":
      return (x) => tf.depthToSpace(x, layer.block);
    case "channel_shuffle": {
      const order = tf.tensor1d(layer.order, "int32");
      return (x) => tf.gather(x, order, 3);
    }
    case "global_average_pool":
      return (...maps) => tf.concat(maps.map((x) => tf.mean(x, [1, 2])), 1);
    case "dense": {
      const [kernel, bias] = [tensor(layer.kernel), tensor(layer.bias)];
      return (x) => tf.add(tf.matMul(x, kernel), bias);
    }
    default:
      throw new Error(`no operation ${layer.op}`);
  }
}

function convolution(layer, kernel, bias, grouped) {
  const { strides, groups, residual } = layer;
  const [top, bottom, left, right] = layer.padding;
  const pad = [[0, 0], [top, bottom], [left, right], [0, 0]];
  let convolve;
  if (groups === 1) convolve = (x) => tf.conv2d(x, kernel, strides, pad);
  else if (grouped === "whole") {
    const whole = tf.tidy(() => blockDiagonal(kernel, groups));
    convolve = (x) => tf.conv2d(x, whole, strides, pad);
  } else {
    const kernels = tf.split(kernel, groups, 3);
    convolve = (x) => tf.concat(tf.split(x, groups, 3).map((part, i) => tf.conv2d(part, kernels[i], strides, pad)), 3);
  }
  return (x, other) => {
    const sum = tf.add(convolve(x), bias);
    return activated(other ? tf.add(sum, residual === 1 ? other : tf.mul(other, residual)) : sum, layer);
  };
}

// x, plus clamped multiples of it, clipped to `low` and `high` (null: no limit).
function activated(x, { clamps, low, high }) {
  let y = x;
  for (const [factor, least, most] of clamps) {
    y = tf.add(y, tf.clipByValue(factor === 1 ? x : tf.mul(x, factor), least, most));
  }
  if (low === null) return y;
  return high === null ? tf.relu(y) : tf.clipByValue(y, low, high);
}

function blockDiagonal(kernel, groups) {
  const parts = tf.split(kernel, groups, 3);
  return tf.concat(
    parts.map((part, i) => {
      const channels = part.shape[2];
      return tf.pad(part, [[0, 0], [0, 0], [i * channels, (groups - 1 - i) * channels], [0, 0]]);
    }),
    3,
  );
}
