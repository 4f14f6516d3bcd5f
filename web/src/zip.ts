/** Reader of zip files: the directory, and single members, which are never unpacked beyond their declared size. */

import { MAX_DIRECTORY_BYTES } from "./formatConstants.ts";
import { inflate } from "./inflate.ts";
import { littleEndian } from "./littleEndian.ts";
import { refuse, short } from "./refusal.ts";

/** A member, as described by the directory at the end of the file. */
export interface Entry {
  readonly name: string;
  /** 0: stored, 8: deflated; others are not supported. */
  readonly method: number;
  readonly flags: number;
  readonly crc: number;
  /** Bytes in the file, compressed. */
  readonly packed: number;
  /** Bytes after unpacking. */
  readonly size: number;
  /** Position of its local header. */
  readonly offset: number;
  /** Position of its directory entry. */
  readonly entryOffset: number;
}

const END = 0x06054b50;
const END_LENGTH = 22;
const ENTRY = 0x02014b50;
const ENTRY_LENGTH = 46;
const LOCAL = 0x04034b50;
const LOCAL_LENGTH = 30;
const FLAGS = 0x0806; // compression level, and the flag of UTF-8 names

/**
 * Return all members, in the order of the directory; names can be repeated.
 *
 * @throws Error the file is not a zip file, or is incomplete.
 * @throws BundleError the directory exceeds `MAX_DIRECTORY_BYTES`, or has more members than a bundle.
 */
export function directory(file: Uint8Array): Entry[] {
  const { u16, u32 } = littleEndian(file);
  const end = file.length - END_LENGTH;
  if (end < 0 || u32(end) !== END) throw new Error("it has no directory at its end");
  if (u32(end + 12) > MAX_DIRECTORY_BYTES) {
    refuse(`the directory of the zip is larger than ${MAX_DIRECTORY_BYTES / 2 ** 20} MiB, which no model's is`);
  }
  const count = u16(end + 10);
  let at = u32(end + 16);
  if (u32(end + 4) || u16(end + 8) !== count || u16(end + 20) || at + u32(end + 12) !== end) throw new Error("it is cut off");
  const entries: Entry[] = [];
  for (let i = 0; i < count; i++) {
    if (at + ENTRY_LENGTH > end || u32(at) !== ENTRY) throw new Error("its directory is damaged");
    const nameLength = u16(at + 28);
    if (u32(at + 30) || at + ENTRY_LENGTH + nameLength > end) {
      refuse("the directory of the zip has more than a model's: extra fields or comments");
    }
    entries.push({
      name: new TextDecoder("latin1").decode(file.subarray(at + ENTRY_LENGTH, at + ENTRY_LENGTH + nameLength)),
      flags: u16(at + 8),
      method: u16(at + 10),
      crc: u32(at + 16),
      packed: u32(at + 20),
      size: u32(at + 24),
      offset: u32(at + 42),
      entryOffset: at,
    });
    at += ENTRY_LENGTH + nameLength;
  }
  if (at !== end) throw new Error("its directory is damaged");
  return entries;
}

/**
 * Refuse a file with data before, between or after members, or with contradictory descriptions of a member.
 *
 * @throws BundleError with the member.
 */
export function checkLayout(file: Uint8Array, entries: readonly Entry[]): void {
  const { u32 } = littleEndian(file);
  let at = 0;
  for (const { name, flags, offset, entryOffset, packed } of entries) {
    if (flags & ~FLAGS) refuse(`member '${short(name)}' is encrypted, or its size is after it`);
    const length = LOCAL_LENGTH + name.length;
    const isAsListed = (byte: number, k: number): boolean =>
      byte === file[entryOffset + k + (k < 26 ? 6 : ENTRY_LENGTH - 26)];
    if (offset !== at || at + length > file.length || u32(at) !== LOCAL || !file.subarray(at + 4, at + length).every(isAsListed)) {
      refuse(`member '${short(name)}' differs from the directory in place or description`);
    }
    at += length + packed;
  }
  if (u32(file.length - 6) !== at) refuse("there are bytes between the members and the directory of the zip");
}

/**
 * Return the bytes of a member.
 *
 * @throws Error it is truncated, damaged, or has another size than its entry declares.
 */
export function unpack(file: Uint8Array, entry: Entry): Uint8Array {
  const begin = entry.offset + LOCAL_LENGTH + entry.name.length;
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
