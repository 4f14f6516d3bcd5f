/** Zip files: their directory, and one member at a time, which never unpacks to more than the directory declares. */

import { MAX_DIRECTORY_BYTES } from "./formatConstants.ts";
import { inflate } from "./inflate.ts";
import { littleEndian } from "./littleEndian.ts";
import { refuse } from "./refusal.ts";

/** One member, as the directory at the end of the file describes it. */
export interface Entry {
  readonly name: string;
  /** 0: stored, 8: deflated; others are not supported. */
  readonly method: number;
  readonly encrypted: boolean;
  readonly crc: number;
  /** Bytes in the file. */
  readonly packed: number;
  /** Bytes when unpacked. */
  readonly size: number;
  /** Where its local header begins. */
  readonly offset: number;
}

const END = 0x06054b50;
const END_LENGTH = 22;
const ENTRY = 0x02014b50;
const ENTRY_LENGTH = 46;
const LOCAL = 0x04034b50;
const LOCAL_LENGTH = 30;
const LOCATOR = 0x07064b50; // of a 64-bit end record
const LOCATOR_LENGTH = 20;
const MAX_COMMENT = 65535;

/**
 * Return all members, in the order of the directory; a name may occur twice.
 *
 * @throws Error the file is no zip file, or not whole.
 * @throws BundleError the directory declares more than `MAX_DIRECTORY_BYTES`, or is a 64-bit one: those begin at 4 GiB.
 */
export function directory(file: Uint8Array): Entry[] {
  const { u16, u32 } = littleEndian(file);
  let end = file.length - END_LENGTH;
  const last = Math.max(0, end - MAX_COMMENT);
  while (end >= last && u32(end) !== END) end -= 1;
  if (end < last) throw new Error("it has no directory at its end");
  const long = end >= LOCATOR_LENGTH && u32(end - LOCATOR_LENGTH) === LOCATOR;
  if (long || u32(end + 12) > MAX_DIRECTORY_BYTES) {
    refuse(`the directory of the zip is larger than ${MAX_DIRECTORY_BYTES / 2 ** 20} MiB, which no model's is`);
  }
  const count = u16(end + 10);
  let at = u32(end + 16);
  const entries: Entry[] = [];
  for (let i = 0; i < count; i++) {
    if (u32(at) !== ENTRY) throw new Error("its directory is damaged");
    const nameLength = u16(at + 28);
    entries.push({
      name: new TextDecoder().decode(file.subarray(at + ENTRY_LENGTH, at + ENTRY_LENGTH + nameLength)),
      method: u16(at + 10),
      encrypted: (u16(at + 8) & 1) !== 0,
      crc: u32(at + 16),
      packed: u32(at + 20),
      size: u32(at + 24),
      offset: u32(at + 42),
    });
    at += ENTRY_LENGTH + nameLength + u16(at + 30) + u16(at + 32);
  }
  return entries;
}

/**
 * Return the bytes of a member.
 *
 * @throws Error it is cut off, damaged, or longer or shorter than its entry declares.
 */
export function unpack(file: Uint8Array, entry: Entry): Uint8Array {
  const { u16, u32 } = littleEndian(file);
  const at = entry.offset;
  if (u32(at) !== LOCAL) throw new Error(`member '${entry.name}' is not where it should be`);
  const begin = at + LOCAL_LENGTH + u16(at + 26) + u16(at + 28);
  if (begin + entry.packed > file.length) throw new Error(`member '${entry.name}' ends beyond the file`);
  const packed = file.subarray(begin, begin + entry.packed);
  const data = entry.method === 0 ? packed.slice() : inflate(packed, entry.size);
  if (data.length !== entry.size || crc32(data) !== entry.crc) throw new Error(`member '${entry.name}' is damaged`);
  return data;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crc32(data: Uint8Array): number {
  let crc = -1;
  for (const byte of data) crc = TABLE[(crc ^ byte) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
