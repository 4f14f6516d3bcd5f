/** The operators of a bundle: which attributes each has, and which draw nothing. The runner executes none of them. */

const WINDOW = ["pool", "strides", "padding"];
const RANGE = ["scales", "zeros"];
const CONVOLUTION = ["strides", "padding", "groups"];

const ATTRIBUTES: ReadonlyMap<string, readonly string[]> = new Map([
  ["input", ["shape", ...RANGE]],
  ["conv2d", [...CONVOLUTION, "activation", "alpha", ...RANGE]],
  ["convolution_products", [...CONVOLUTION, "block", "scale"]],
  ["convolution_sum", ["blocks", "activation", ...RANGE]],
  ["add", ["activation", ...RANGE]],
  ["activation", ["function", ...RANGE]],
  ["max_pool", WINDOW],
  ["average_pool", [...WINDOW, ...RANGE]],
  ["upsample_nearest", ["size"]],
  ["upsample_bilinear", ["size", ...RANGE]],
  ["depth_to_space", ["block"]],
  ["zero_padding", ["padding"]],
  ["channel_shuffle", ["step"]],
  ["concat", []],
  ["concat_copy", []],
  ["global_average_pool", ["scale"]],
  ["flatten", ["scale"]],
  ["dense_products", ["columns", "scale"]],
  ["dense_sum", ["count", "last", "activation", "scale", "bias_scale", "row_unit"]],
]);

/** Return the attributes that an operator must have (`fused` may stand with any), or undefined for an unknown one. */
export function attributesOf(op: string): readonly string[] | undefined {
  return ATTRIBUTES.get(op);
}
