/** Shapes, types, reasons and problems in words. */

import type { Problem, Spec } from "../net/generated.ts";
import type { Texts } from "../text/index.ts";
import type { ConnectionError } from "./connections.ts";

/** A shape as the library writes it: [2, n, 3]. */
export function shapeText(shape: Spec["shape"], words: Texts): string {
  return shape ? `[${shape.join(", ")}]` : words.types.unknownShape;
}

export function specText(spec: Spec, words: Texts): string {
  return `${spec.dtype} ${shapeText(spec.shape, words)}`;
}

const SHORT: Readonly<Record<string, string>> = {
  bfloat16: "bf16",
  float16: "f16",
  float32: "f32",
  float64: "f64",
  complex64: "c64",
  complex128: "c128",
  string: "str",
  resource: "res",
};

/** As it stands on a wire: "f32 2×n×3". */
export function shortSpec(spec: Spec): string {
  const dtype =
    SHORT[spec.dtype] ?? spec.dtype.replace("float8", "f8").replace("uint", "u").replace("int", "i");
  if (!spec.shape) return `${dtype} ?`;
  return spec.shape.length ? `${dtype} ${spec.shape.join("×")}` : dtype;
}

const FLOATS = ["bfloat16", "float16", "float32", "float64"];
const INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];

/** Sets of types by their names, where they have one. */
export function dtypesText(dtypes: readonly string[], words: Texts): string {
  const has = (set: readonly string[]): boolean => set.every((each) => dtypes.includes(each));
  const [floats, integers] = [has(FLOATS), has(INTEGERS)];
  const rest = dtypes.filter(
    (each) => !((floats && FLOATS.includes(each)) || (integers && INTEGERS.includes(each))),
  );
  const { types } = words;
  if (!dtypes.length || (floats && integers && rest.length >= 4)) return types.anything;
  const named =
    floats && integers ? [types.numbers] : floats ? [types.floats] : integers ? [types.integers] : [];
  return [...named, ...rest].join(types.or);
}

export function reasonText(reason: ConnectionError, words: Texts): string {
  const { reasons } = words;
  switch (reason.kind) {
    case "dtype":
    case "same type":
      return reasons[reason.kind](dtypesText(reason.got, words), dtypesText(reason.wanted, words));
    case "rank":
      return reasons.rank(reason.got, reason.wanted.join(words.types.or));
    default:
      return reasons[reason.kind];
  }
}

/** A problem with what to do about it. */
export function problemText(problem: Problem): string {
  return problem.hint ? `${problem.text} ${problem.hint}` : problem.text;
}
