/** Readers of npy, npz and safetensors files, for arrays that are dropped on the canvas. */

import { elementCount } from "../../model/indexing.ts";
import type { ViewStrings } from "../../text/view.en.ts";

export interface ArrayFile {
  name: string;
  dtype: string;
  shape: number[];
  /** Elements in row-major order; numbers that JSON lacks are texts, as in pages. */
  elements: (number | string | boolean)[];
}

export const MAX_ELEMENTS = 1 << 18;

type Faults = ViewStrings["arrayFaults"];

/** A file, or an array in one, that cannot be read, with the reason from a dictionary. */
export class ArrayFileError extends Error {
  constructor(
    readonly file: string,
    readonly why: (faults: Faults) => string,
  ) {
    super(`${file} cannot be read`);
  }
}

export async function readArrays(name: string, bytes: Uint8Array): Promise<ArrayFile[]> {
  const stem = name.replace(/\.[^.]*$/, "");
  if (/\.npy$/i.test(name)) return [readNpy(stem, bytes)];
  if (/\.npz$/i.test(name)) return readNpz(name, bytes);
  if (/\.safetensors$/i.test(name)) return readSafetensors(name, bytes);
  throw new ArrayFileError(name, (faults) => faults.other);
}

type Read = (view: DataView, at: number) => number | string | boolean;

/** Readers by type of NumPy or safetensors: dtype of pages, size in bytes, reader of one element. */
const TYPES: Record<string, [dtype: string, bytes: number, read: Read]> = {
  f2: ["float16", 2, (v, at) => cell(half(v.getUint16(at, true)))],
  f4: ["float32", 4, (v, at) => cell(single(v.getFloat32(at, true)))],
  f8: ["float64", 8, (v, at) => cell(v.getFloat64(at, true))],
  bf2: ["bfloat16", 2, (v, at) => cell(bfloat(v.getUint16(at, true)))],
  // np.save writes bfloat16 as raw bytes.
  V2: ["bfloat16", 2, (v, at) => cell(bfloat(v.getUint16(at, true)))],
  i1: ["int8", 1, (v, at) => v.getInt8(at)],
  i2: ["int16", 2, (v, at) => v.getInt16(at, true)],
  i4: ["int32", 4, (v, at) => v.getInt32(at, true)],
  i8: ["int64", 8, (v, at) => whole(v.getBigInt64(at, true))],
  u1: ["uint8", 1, (v, at) => v.getUint8(at)],
  u2: ["uint16", 2, (v, at) => v.getUint16(at, true)],
  u4: ["uint32", 4, (v, at) => v.getUint32(at, true)],
  u8: ["uint64", 8, (v, at) => whole(v.getBigUint64(at, true))],
  b1: ["bool", 1, (v, at) => v.getUint8(at) !== 0],
  c8: [
    "complex64",
    8,
    (v, at) => complex(single(v.getFloat32(at, true)), single(v.getFloat32(at + 4, true))),
  ],
  c16: ["complex128", 16, (v, at) => complex(v.getFloat64(at, true), v.getFloat64(at + 8, true))],
};

const SAFETENSORS_TYPES: Record<string, string> = {
  F16: "f2",
  BF16: "bf2",
  F32: "f4",
  F64: "f8",
  BOOL: "b1",
  I8: "i1",
  I16: "i2",
  I32: "i4",
  I64: "i8",
  U8: "u1",
  U16: "u2",
  U32: "u4",
  U64: "u8",
};

function cell(value: number): number | string {
  if (Number.isNaN(value)) return "nan";
  return Number.isFinite(value) ? value : value > 0 ? "inf" : "-inf";
}

/** The shortest decimal that is the same float32. */
function single(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

function whole(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function complex(real: number, imaginary: number): string {
  const sign = imaginary < 0 || Object.is(imaginary, -0) ? "" : "+";
  return `${cell(real)}${sign}${cell(imaginary)}j`;
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const part = bits & 1023;
  if (exponent === 31) return part ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent === 0 ? part * 2 ** -24 : (1024 + part) * 2 ** (exponent - 25));
}

function bfloat(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, bits << 16);
  return view.getFloat32(0);
}

function elementsOf(
  name: string,
  type: string,
  shape: number[],
  data: Uint8Array,
  fortran: boolean,
): ArrayFile {
  const known = TYPES[type];
  if (known === undefined) throw new ArrayFileError(name, (faults) => faults.type(type));
  const [dtype, bytes, read] = known;
  const count = elementCount(shape);
  if (count > MAX_ELEMENTS) throw new ArrayFileError(name, (faults) => faults.large(count, MAX_ELEMENTS));
  if (data.byteLength < count * bytes) throw new ArrayFileError(name, (faults) => faults.short);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const elements = Array.from({ length: count }, (_, i) =>
    read(view, (fortran ? columnMajor(i, shape) : i) * bytes),
  );
  return { name, dtype, shape, elements };
}

function columnMajor(i: number, shape: number[]): number {
  let place = 0;
  let stride = elementCount(shape);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = shape[axis] as number;
    stride /= size;
    place += (i % size) * stride;
    i = Math.floor(i / size);
  }
  return place;
}

function readNpy(name: string, bytes: Uint8Array): ArrayFile {
  const magic = String.fromCharCode(...bytes.subarray(0, 6));
  if (magic !== "\x93NUMPY") throw new ArrayFileError(name, (faults) => faults.noNpy);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const long = (bytes[6] ?? 1) > 1;
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = long ? 12 : 10;
  const header = new TextDecoder("latin1").decode(bytes.subarray(start, start + length));
  const descr = /'descr'\s*:\s*'([<>|=])([a-zV])(\d+)'/.exec(header);
  const shape = /'shape'\s*:\s*\(([^)]*)\)/.exec(header)?.[1];
  if (descr === null || shape === undefined) throw new ArrayFileError(name, (faults) => faults.noNumbers);
  if (descr[1] === ">") throw new ArrayFileError(name, (faults) => faults.bigEndian);
  const sizes = shape
    .split(",")
    .filter((s) => s.trim() !== "")
    .map(Number);
  return elementsOf(
    name,
    `${descr[2]}${descr[3]}`,
    sizes,
    bytes.subarray(start + length),
    /'fortran_order'\s*:\s*True/.test(header),
  );
}

async function readNpz(file: string, bytes: Uint8Array): Promise<ArrayFile[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new ArrayFileError(file, (faults) => faults.noZip);
  const files: ArrayFile[] = [];
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    const method = view.getUint16(at + 10, true);
    const packed = view.getUint32(at + 20, true);
    const size = view.getUint32(at + 24, true);
    const nameLength = view.getUint16(at + 28, true);
    const local = view.getUint32(at + 42, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (size > MAX_ELEMENTS * 16 + 1024) throw new ArrayFileError(name, (faults) => faults.manyBytes(size));
    const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const raw = bytes.subarray(from, from + packed);
    files.push(readNpy(name.replace(/\.npy$/, ""), method === 0 ? raw : await inflated(name, raw, size)));
  }
  return files;
}

/** Inflates exactly `size` bytes, against zip bombs. */
async function inflated(name: string, raw: Uint8Array, size: number): Promise<Uint8Array> {
  const out = new Uint8Array(size);
  let at = 0;
  const stream = new Blob([new Uint8Array(raw)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  for await (const part of stream as unknown as AsyncIterable<Uint8Array>) {
    if (at + part.length > size) throw new ArrayFileError(name, (faults) => faults.broken);
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function readSafetensors(file: string, bytes: Uint8Array): ArrayFile[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length < 8 ? Number.POSITIVE_INFINITY : Number(view.getBigUint64(0, true));
  if (length + 8 > bytes.length) throw new ArrayFileError(file, (faults) => faults.short);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  return Object.entries(header)
    .filter(([name]) => name !== "__metadata__")
    .map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [from, to],
        },
      ]) =>
        elementsOf(
          name,
          SAFETENSORS_TYPES[dtype] ?? dtype,
          shape,
          bytes.subarray(8 + length + from, 8 + length + to),
          false,
        ),
    );
}

/** The elements as nested lists, as a page has them. */
export function nested(shape: number[], elements: ArrayFile["elements"]): unknown {
  if (shape.length === 0) return elements[0];
  const [size, ...rest] = shape as [number, ...number[]];
  const part = size === 0 ? 0 : elements.length / size;
  return Array.from({ length: size }, (_, i) => nested(rest, elements.slice(i * part, (i + 1) * part)));
}
