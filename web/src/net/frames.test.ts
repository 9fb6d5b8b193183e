import { expect, test } from "vitest";
import { asNumbers, elementText, fromBase64, parseFrame } from "./frames.ts";

/** A frame as the server makes it. */
function frame(dtype: string, bytes: Uint8Array, name = "x"): ArrayBuffer {
  const header = new TextEncoder().encode(
    JSON.stringify({ request: 7, pin: `${name}:output`, dtype, shape: [2], step: 3 }),
  );
  const start = Math.ceil((4 + header.length) / 8) * 8;
  const all = new Uint8Array(start + bytes.length);
  new DataView(all.buffer).setUint32(0, header.length, true);
  all.set(header, 4);
  all.set(bytes, start);
  return all.buffer;
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

test.each<[string, ArrayBufferView, (number | bigint)[]]>([
  ["float32", new Float32Array([1.5, -2]), [1.5, -2]],
  ["float64", new Float64Array([0.1, 1e300]), [0.1, 1e300]],
  ["int8", new Int8Array([-1, 5]), [-1, 5]],
  ["int16", new Int16Array([-300, 5]), [-300, 5]],
  ["int32", new Int32Array([-70000, 5]), [-70000, 5]],
  ["int64", new BigInt64Array([-9007199254740993n, 5n]), [-9007199254740993n, 5n]],
  ["uint8", new Uint8Array([255, 5]), [255, 5]],
  ["uint16", new Uint16Array([65535, 5]), [65535, 5]],
  ["uint32", new Uint32Array([4294967295, 5]), [4294967295, 5]],
  ["uint64", new BigUint64Array([18446744073709551615n, 5n]), [18446744073709551615n, 5n]],
  ["bool", new Uint8Array([1, 0]), [1, 0]],
  ["complex64", new Float32Array([1, -2]), [1, -2]],
  ["float16", new Uint16Array([0x3c00, 0xc000, 0x7c00, 0x0001, 0x8000]), [1, -2, Infinity, 2 ** -24, -0]],
  ["bfloat16", new Uint16Array([0x3f80, 0xc000, 0xff80, 0x8000]), [1, -2, -Infinity, -0]],
])("%s elements are read", (dtype, given, expected) => {
  for (const name of ["x", "xy", "xyz", "some_longer_name"]) {
    const { header, elements } = parseFrame(frame(dtype, bytesOf(given), name));
    expect(header).toMatchObject({ request: 7, dtype, step: 3 });
    expect([...elements]).toEqual(expected);
  }
});

test("a half that is no number is none", () => {
  expect(parseFrame(frame("float16", bytesOf(new Uint16Array([0x7e00])))).elements[0]).toBeNaN();
});

test("a type that has no numbers is refused", () => {
  expect(() => parseFrame(frame("string", new Uint8Array(8)))).toThrow("string");
});

test("elements are written as precisely as their type", () => {
  const text = (dtype: string, given: ArrayBufferView, index = 0): string =>
    elementText(parseFrame(frame(dtype, bytesOf(given))), index);
  expect(text("float32", new Float32Array([0.1]))).toBe("0.1");
  expect(text("float32", new Float32Array([-Infinity]))).toBe("-inf");
  expect(text("float32", new Float32Array([-0]))).toBe("-0");
  expect(text("float64", new Float64Array([0.1 + 0.2]))).toBe("0.30000000000000004");
  expect(text("int64", new BigInt64Array([9007199254740993n]))).toBe("9007199254740993");
  expect(text("complex64", new Float32Array([1, -2.5]))).toBe("1-2.5j");
  expect(text("bool", new Uint8Array([0, 1]), 1)).toBe("true");
});

test("all numbers can be drawn", () => {
  expect([...asNumbers(parseFrame(frame("int64", bytesOf(new BigInt64Array([3n])))))]).toEqual([3]);
  expect([...asNumbers(parseFrame(frame("complex64", bytesOf(new Float32Array([3, 4])))))]).toEqual([5]);
});

test("base64 gives bytes", () => {
  expect([...fromBase64("AAH/")]).toEqual([0, 1, 255]);
});
