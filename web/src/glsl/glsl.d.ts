/** Shaders are imported as text; build.mjs leaves their comments and indentation out. */
declare module "*.frag" {
  const text: string;
  export default text;
}
declare module "*.vert" {
  const text: string;
  export default text;
}
