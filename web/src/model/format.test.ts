import { expect, test } from "vitest";
import { en } from "../text/en.ts";
import { ko } from "../text/ko.ts";
import { dtypesText, problemText, reasonText, shortSpec, specText } from "./format.ts";
import { nameError, uniqueName } from "./names.ts";
import { snakeName } from "./ops.ts";

test("types are written in full and in short", () => {
  const spec = { dtype: "float32", shape: [2, "n", 3] };
  expect(specText(spec, en)).toBe("float32 [2, n, 3]");
  expect(shortSpec(spec)).toBe("f32 2×n×3");
  expect(shortSpec({ dtype: "uint8", shape: [] })).toBe("u8");
  expect(shortSpec({ dtype: "bool", shape: null })).toBe("bool ?");
  expect(shortSpec({ dtype: "float8_e5m2", shape: [2] })).toBe("f8_e5m2 2");
  expect(shortSpec({ dtype: "uint4", shape: [2] })).toBe("u4 2");
  expect(specText({ dtype: "int32" }, ko)).toBe("int32 모양 미정");
});

test("sets of types have names", () => {
  expect(dtypesText(["float32"], en)).toBe("float32");
  expect(dtypesText(["bfloat16", "float16", "float32", "float64"], en)).toBe("floats");
  expect(dtypesText(["bfloat16", "float16", "float32", "float64", "complex64"], en)).toBe(
    "floats or complex64",
  );
  expect(dtypesText([], en)).toBe("any type");
});

test("reasons are said in the language", () => {
  expect(reasonText({ kind: "rank", got: 2, expected: [4, 5] }, en)).toBe(
    "has 2 axes; this input takes 4 or 5",
  );
  expect(reasonText({ kind: "dtype", got: ["int32"], expected: ["float32"] }, en)).toBe(
    "is int32; this input takes float32",
  );
  expect(reasonText({ kind: "cycle" }, ko)).toBe("순환이 생깁니다");
  expect(problemText({ text: "must be 5-D.", hint: "Reshape it." })).toBe("must be 5-D. Reshape it.");
});

test("names", () => {
  expect(snakeName("MaxPool3DGrad")).toBe("max_pool_3d_grad");
  expect(snakeName("Conv3DBackpropInputV2")).toBe("conv_3d_backprop_input_v2");
  expect(snakeName("LRN")).toBe("lrn");
  expect(uniqueName("a", (name) => ["a", "a_2"].includes(name))).toBe("a_3");
  expect(uniqueName("a_7", (name) => name === "a_7")).toBe("a_8");
  expect(uniqueName("7", () => false)).toBe("7_2");
  expect(nameError("a b", {})).toBe("form");
  expect(nameError("12", {})).toBe("digits");
  expect(nameError("x", { x: 1 })).toBe("taken");
  expect(nameError("scope/x-1.b", {})).toBeUndefined();
});
