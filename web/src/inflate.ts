/** Inflate, the inverse of deflate, by RFC 1951. */

/** Largest length of a code in bits. */
const MAX_BITS = 15;
/** Order of the lengths of the code lengths' codes in a block. */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Decoded symbol for the next MAX_BITS bits, as `symbol * 16 + bits of its code`; 0 for invalid codes. */
type Table = Uint16Array;

/** Lengths or distances: smallest value of each symbol, and the number of extra bits added to it. */
type Steps = [base: number, extra: number][];

// 257 to 284 and 0 to 29: after the first few symbols, the step doubles every `each` symbols.
const LENGTHS = steps(3, 28, 4);
const DISTANCES = steps(1, 30, 2);
LENGTHS.push([258, 0]); // the largest length has its own symbol

const FIXED_LITERALS = tableOf(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)));
const FIXED_DISTANCES = tableOf(new Array<number>(32).fill(5));

/**
 * Return the inflated data.
 *
 * @param packed the deflated bytes.
 * @param size expected size of the result, which is also its limit.
 * @throws Error the data is damaged, truncated, or has another size.
 */
export function inflate(packed: Uint8Array, size: number): Uint8Array {
  const data = new Uint8Array(size);
  let length = 0;
  let at = 0; // position in bits

  /** Return the next bits, at most 16; zeros after the end. */
  function peek(count: number): number {
    const byte = at >>> 3;
    const ahead = packed[byte]! | (packed[byte + 1]! << 8) | (packed[byte + 2]! << 16);
    return (ahead >> (at & 7)) & ((1 << count) - 1);
  }

  function skip(count: number): void {
    at += count;
    if (at > 8 * packed.length) fail();
  }

  function bits(count: number): number {
    const value = peek(count);
    skip(count);
    return value;
  }

  function symbol(table: Table): number {
    const entry = table[peek(MAX_BITS) & (table.length - 1)]! || fail();
    skip(entry & 15);
    return entry >> 4;
  }

  function put(byte: number): void {
    if (length >= size) fail();
    data[length++] = byte;
  }

  function stored(): void {
    at = 8 * Math.ceil(at / 8);
    const count = bits(16);
    if (count !== (~bits(16) & 0xffff)) fail();
    for (let i = 0; i < count; i++) put(bits(8));
  }

  function tables(): [Table, Table] {
    const literals = 257 + bits(5);
    const distances = 1 + bits(5);
    const codeCount = 4 + bits(4);
    const codes = new Array<number>(ORDER.length).fill(0);
    for (const symbol of ORDER.slice(0, codeCount)) codes[symbol] = bits(3);
    if (literals > 286 || distances > 30) fail();
    const table = tableOf(codes, 0);
    const lengths: number[] = [];
    while (lengths.length < literals + distances) {
      const code = symbol(table);
      if (code < 16) {
        lengths.push(code);
        continue;
      }
      const [repeated, count] =
        code === 16 ? [lengths[lengths.length - 1] ?? fail(), 3 + bits(2)] : [0, code === 17 ? 3 + bits(3) : 11 + bits(7)];
      for (let i = 0; i < count; i++) lengths.push(repeated);
    }
    if (lengths.length > literals + distances || !lengths[256]) fail();
    return [tableOf(lengths.slice(0, literals)), tableOf(lengths.slice(literals))];
  }

  function compressed([literals, distances]: [Table, Table]): void {
    const value = (steps: Steps, index: number): number => {
      const [base, extra] = steps[index] ?? fail();
      return base + bits(extra);
    };
    for (let code = symbol(literals); code !== 256; code = symbol(literals)) {
      if (code < 256) {
        put(code);
        continue;
      }
      const count = value(LENGTHS, code - 257);
      const back = value(DISTANCES, symbol(distances));
      if (back > length) fail();
      for (let i = 0; i < count; i++) put(data[length - back]!);
    }
  }

  let last = 0;
  while (!last) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) stored();
    else if (kind === 1) compressed([FIXED_LITERALS, FIXED_DISTANCES]);
    else if (kind === 2) compressed(tables());
    else fail();
  }
  if (length !== size || Math.ceil(at / 8) !== packed.length) fail();
  return data;
}

function fail(): never {
  throw new Error("the compressed data is damaged");
}

function steps(first: number, count: number, each: number): Steps {
  let next = first;
  return Array.from({ length: count }, (_, i) => {
    const [base, extra] = [next, Math.max(0, Math.floor(i / each) - 1)];
    next += 2 ** extra;
    return [base, extra];
  });
}

/**
 * Return the decoding table of a code, from the length of each symbol's code in bits (0: unused symbol).
 *
 * A code with more than `loose` bits must be complete.
 */
function tableOf(lengths: readonly number[], loose = 1): Table {
  const longest = Math.max(...lengths); // most codes are shorter than MAX_BITS, and each block fills a table
  const table = new Uint16Array(1 << longest);
  let code = 0; // codes as if all had the largest length, with the first bit highest
  for (let bits = 1; bits <= longest; bits++) {
    lengths.forEach((length, symbol) => {
      if (length !== bits) return;
      if (code >= table.length) fail(); // more codes than possible
      let reversed = 0; // the stream has the lowest bit first, and the first bit of a code first
      for (let bit = 0; bit < bits; bit++) reversed |= ((code >> (longest - 1 - bit)) & 1) << bit;
      for (let ahead = reversed; ahead < table.length; ahead += 1 << bits) table[ahead] = symbol * 16 + bits;
      code += 1 << (longest - bits);
    });
  }
  if (longest > loose && code < table.length) fail();
  return table;
}
