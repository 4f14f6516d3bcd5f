/** Little-endian values in bytes. */

/** Return functions that read a value at a byte offset; they throw if it ends beyond the bytes. */
export function littleEndian(bytes: Uint8Array): Record<"u8" | "u16" | "i16" | "u32" | "f32", (at: number) => number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    u8: (at) => view.getUint8(at),
    u16: (at) => view.getUint16(at, true),
    i16: (at) => view.getInt16(at, true),
    u32: (at) => view.getUint32(at, true),
    f32: (at) => view.getFloat32(at, true),
  };
}
