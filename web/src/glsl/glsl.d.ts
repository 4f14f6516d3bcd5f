/** Shaders, imported as text; build.mjs removes their comments and indentation. */
declare module "*.frag" {
  const text: string;
  export default text;
}
declare module "*.vert" {
  const text: string;
  export default text;
}
