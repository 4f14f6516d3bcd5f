/** CSV tables, included in the page as text by the build. */
declare module "*.csv" {
  const text: string;
  export default text;
}
