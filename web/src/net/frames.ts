/** Binary frames: a JSON header and the bytes of a tensor, zero-copy where JavaScript has a typed array for the dtype. */

import type { Slice } from "./generated.ts";

/** Elements of a tensor. Complex ones are pairs, real part first; 64-bit integers are BigInt. */
export type Elements =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

export interface Frame {
  readonly header: Slice;
  readonly elements: Elements;
}

export function parseFrame(buffer: ArrayBuffer): Frame {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Slice;
  const start = Math.ceil((4 + length) / 8) * 8;
  return { header, elements: readElements(header.dtype, buffer, start) };
}

function readElements(dtype: string, buffer: ArrayBuffer, start: number): Elements {
  const left = buffer.byteLength - start;
  switch (dtype) {
    case "float32":
    case "complex64":
      return new Float32Array(buffer, start, left / 4);
    case "float64":
    case "complex128":
      return new Float64Array(buffer, start, left / 8);
    case "float16":
      return Float32Array.from(new Uint16Array(buffer, start, left / 2), halfToFloat);
    case "bfloat16":
      return bfloat16ToFloat(new Uint16Array(buffer, start, left / 2));
    case "int8":
      return new Int8Array(buffer, start, left);
    case "int16":
      return new Int16Array(buffer, start, left / 2);
    case "int32":
      return new Int32Array(buffer, start, left / 4);
    case "int64":
      return new BigInt64Array(buffer, start, left / 8);
    case "uint16":
      return new Uint16Array(buffer, start, left / 2);
    case "uint32":
      return new Uint32Array(buffer, start, left / 4);
    case "uint64":
      return new BigUint64Array(buffer, start, left / 8);
    case "uint8":
    case "bool":
      return new Uint8Array(buffer, start, left);
    default:
      throw new TypeError(`no elements of ${dtype} can be shown`);
  }
}

/** A 16-bit float: 1 sign bit, 5 of the exponent, 10 of the fraction. */
function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
}

/** bfloat16 is the upper half of a float32. */
function bfloat16ToFloat(halves: Uint16Array): Float32Array {
  return new Float32Array(Uint32Array.from(halves, (bits) => bits << 16).buffer);
}

/** Elements as numbers, for drawing. 64-bit integers are rounded, complex numbers are absolute values. */
export function asNumbers({ header, elements }: Frame): Float32Array | Float64Array {
  if (header.dtype.startsWith("complex")) {
    const pairs = elements as Float32Array | Float64Array;
    return Float64Array.from({ length: pairs.length / 2 }, (_, i) =>
      Math.hypot(pairs[2 * i] as number, pairs[2 * i + 1] as number),
    );
  }
  if (elements instanceof Float32Array || elements instanceof Float64Array) return elements;
  return Float64Array.from(elements as ArrayLike<number | bigint>, Number);
}

/** One element as exact text. */
export function elementText({ header, elements }: Frame, index: number): string {
  if (header.dtype.startsWith("complex")) {
    const [real, imaginary] = [elements[2 * index] as number, elements[2 * index + 1] as number];
    const digits = header.dtype === "complex128" ? DOUBLE : SINGLE;
    return `${numberText(real, digits)}${imaginary < 0 || Object.is(imaginary, -0) ? "-" : "+"}${numberText(Math.abs(imaginary), digits)}j`;
  }
  const value = elements[index] as number | bigint;
  if (header.dtype === "bool") return value ? "true" : "false";
  if (typeof value === "bigint" || !header.dtype.includes("float")) return String(value);
  return numberText(value, header.dtype === "float64" ? DOUBLE : SINGLE);
}

/** The significant digits that distinguish all numbers of a dtype. */
const [SINGLE, DOUBLE] = [9, 17];

/** The shortest decimal that rounds to the number, with at most so many digits. */
export function numberText(value: number, digits = SINGLE): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (Object.is(value, -0)) return "-0";
  if (digits === DOUBLE) return String(value);
  const short = Number(value.toPrecision(7));
  return String(Math.fround(short) === Math.fround(value) ? short : Number(value.toPrecision(digits)));
}

/** Decodes base64. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
