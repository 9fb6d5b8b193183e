/** Texts of shapes, dtypes, connection errors and problems. */

import type { Problem, Spec } from "../net/generated.ts";
import type { CoreStrings } from "../text/index.ts";
import type { ConnectionError } from "./connections.ts";

/** A shape as the library writes it: [2, n, 3]. */
export function shapeText(shape: Spec["shape"], strings: CoreStrings): string {
  return shape ? `[${shape.join(", ")}]` : strings.types.unknownShape;
}

export function specText(spec: Spec, strings: CoreStrings): string {
  return `${spec.dtype} ${shapeText(spec.shape, strings)}`;
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

/** The label of a wire: "f32 2×n×3". */
export function shortSpec(spec: Spec): string {
  const dtype =
    SHORT[spec.dtype] ?? spec.dtype.replace("float8", "f8").replace("uint", "u").replace("int", "i");
  if (!spec.shape) return `${dtype} ?`;
  return spec.shape.length ? `${dtype} ${spec.shape.join("×")}` : dtype;
}

const FLOATS = ["bfloat16", "float16", "float32", "float64"];
const INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];

/** A set of dtypes, with common sets named. */
export function dtypesText(dtypes: readonly string[], strings: CoreStrings): string {
  const has = (set: readonly string[]): boolean => set.every((each) => dtypes.includes(each));
  const [floats, integers] = [has(FLOATS), has(INTEGERS)];
  const rest = dtypes.filter(
    (each) => !((floats && FLOATS.includes(each)) || (integers && INTEGERS.includes(each))),
  );
  const { types } = strings;
  if (!dtypes.length || (floats && integers && rest.length >= 4)) return types.anything;
  const named =
    floats && integers ? [types.numbers] : floats ? [types.floats] : integers ? [types.integers] : [];
  return [...named, ...rest].join(types.or);
}

export function reasonText(reason: ConnectionError, strings: CoreStrings): string {
  const { reasons } = strings;
  switch (reason.kind) {
    case "dtype":
    case "same type":
      return reasons[reason.kind](dtypesText(reason.got, strings), dtypesText(reason.expected, strings));
    case "rank":
      return reasons.rank(reason.got, reason.expected.join(strings.types.or));
    default:
      return reasons[reason.kind];
  }
}

/** A problem with its hint. */
export function problemText(problem: Problem): string {
  return problem.hint ? `${problem.text} ${problem.hint}` : problem.text;
}
