// A network of plain tfjs operations, from the file that web_runners.py writes: what its converter would make of the
// same Keras model. tfjs has no grouped convolutions, so each is one of two ways: "split", a convolution for each group,
// or "whole", one whose kernel is zero between groups.
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-webgl";

/** Load a network; returns a function from pixels (ImageData) to logits. */
export async function load(folder, grouped) {
  await tf.setBackend("webgl");
  await tf.ready();
  const [network, weights] = await Promise.all([
    fetch(`${folder}/model.json`).then((response) => response.json()),
    fetch(`${folder}/weights.bin`).then((response) => response.arrayBuffer()),
  ]);
  const layers = network.layers.map((layer) => ({ ...layer, run: operation(layer, weights, grouped) }));
  const forward = (pixels) =>
    tf.tidy(() => {
      const values = { [network.input]: tf.expandDims(tf.div(tf.cast(tf.browser.fromPixels(pixels), "float32"), 255)) };
      for (const { name, inputs, run } of layers) values[name] = run(...inputs.map((input) => values[input]));
      return values[network.output];
    });
  return async (pixels) => {
    const logits = forward(pixels);
    const numbers = await logits.data();
    logits.dispose();
    return numbers;
  };
}

function operation(layer, weights, grouped) {
  const tensor = ({ offset, shape }) =>
    tf.tensor(new Float32Array(weights, offset, shape.reduce((a, b) => a * b, 1)), shape);
  switch (layer.op) {
    case "conv2d":
      return convolution(layer, tensor(layer.kernel), tensor(layer.bias), grouped);
    case "channel_shuffle": {
      const order = tf.tensor1d(layer.order, "int32");
      return (x) => tf.gather(x, order, 3);
    }
    case "global_average_pool":
      return (x) => tf.mean(x, [1, 2]);
    case "dense": {
      const [kernel, bias] = [tensor(layer.kernel), tensor(layer.bias)];
      return (x) => tf.add(tf.matMul(x, kernel), bias);
    }
    default:
      throw new Error(`no operation ${layer.op}`);
  }
}

function convolution({ strides, pad, groups, residual, clamps }, kernel, bias, grouped) {
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
    let sum = tf.add(convolve(x), bias);
    if (other) sum = tf.add(sum, residual === 1 ? other : tf.mul(other, residual));
    let y = sum;
    for (const [factor, low, high] of clamps) {
      y = tf.add(y, tf.clipByValue(factor === 1 ? sum : tf.mul(sum, factor), low, high));
    }
    return tf.clipByValue(y, 0, 1);
  };
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
