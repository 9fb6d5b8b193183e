import { expect, test } from "vitest";
import { convolution, pooling, poolingGradient, type Sample, type Sliding } from "../testing/window-ops.ts";
import { derive } from "./contributions.ts";
import { differenceApplies } from "./difference-rules.ts";
import type { Json } from "./document.ts";
import { explainedBlock } from "./highlights.ts";
import { ravelIndex } from "./indexing.ts";
import type { ReadCell } from "./loop-nest.ts";

const NAN = Number.NaN;
const INF = Number.POSITIVE_INFINITY;
/** Two windows of three cells each, over a row of five. */
const row: Sliding = { batch: 1, sizes: [5], channels: 1, window: [3], stride: 2, dilation: 1, pad: 0 };

function asked(
  at: string,
  { accessMaps, shapes }: Sample,
  held: Record<string, readonly number[]>,
  [name, ...cell]: [string, ...number[]],
  given: { dtype?: string; settings?: Record<string, Json> } = {},
): boolean | undefined {
  const tensors = Object.fromEntries(
    Object.entries(shapes).map(([each, shape]) => [
      each,
      { pin: each, dtype: given.dtype ?? "float32", shape: [...shape] },
    ]),
  );
  const explained = {
    kind: "explained",
    request: 1,
    block: "b",
    op: "Op",
    step: 1,
    tensors,
    outputs: [name],
    accessMaps: [...accessMaps],
  } as const;
  const made = explainedBlock({ ...explained, outputs: [name], access_maps: [...accessMaps] });
  const readCell: ReadCell = (tensor, place) => held[tensor]?.[place];
  const offset = ravelIndex(cell, shapes[name] as number[]);
  const derivations = derive(made.nests, name, offset, readCell);
  const setting = (attr: string): Json | undefined => given.settings?.[attr];
  return differenceApplies(at, { row: made, name, offset, derivations, readCell, setting });
}

const max = pooling(row, "max");
const back = poolingGradient(row);
const conv = convolution({ ...row, pad: 1, stride: 1 }, 1);

test.each([
  ["nan", max, { x: [1, NAN, 2, 3, 4] }, ["y", 0, 0, 0], true],
  ["nan", max, { x: [1, NAN, 2, 3, 4] }, ["y", 0, 1, 0], false],
  ["later nan", max, { x: [1, NAN, 2, 3, 4] }, ["y", 0, 0, 0], true],
  ["later nan", max, { x: [NAN, 1, 2, 3, 4] }, ["y", 0, 0, 0], false],
  // NaN gets the gradient here, and the largest number in TensorFlow; the third cell in neither.
  ["later nan", back, { x: [1, NAN, 2, 0, 0], dy: [1, 1] }, ["dx", 0, 1, 0], true],
  ["later nan", back, { x: [1, NAN, 2, 0, 0], dy: [1, 1] }, ["dx", 0, 2, 0], true],
  ["later nan", back, { x: [1, NAN, 2, 0, 0], dy: [1, 1] }, ["dx", 0, 0, 0], false],
  ["nan wins", back, { x: [1, NAN, 2, 0, 0], dy: [1, 1] }, ["dx", 0, 1, 0], true],
  ["nan wins", back, { x: [1, NAN, 2, 0, 0], dy: [1, 1] }, ["dx", 0, 2, 0], false],
  ["inf wins", back, { x: [1, INF, 2, 0, 0], dy: [1, 1] }, ["dx", 0, 1, 0], true],
  ["inf wins", back, { x: [1, 5, 2, 0, 0], dy: [1, 1] }, ["dx", 0, 1, 0], false],
  ["-inf", max, { x: [-INF, -INF, -INF, 0, 0] }, ["y", 0, 0, 0], true],
  ["-inf", max, { x: [-INF, -INF, -INF, 0, 0] }, ["y", 0, 1, 0], false],
  ["padded -inf", max, { x: [-INF, -INF, -INF, 0, 0] }, ["y", 0, 0, 0], false],
  ["padded -inf", pooling({ ...row, pad: 1 }, "max"), { x: [-INF, -INF, 0, 0, 0] }, ["y", 0, 0, 0], true],
  // Equal to the largest within 0.00001, and not the first.
  ["tie", back, { x: [1, 3, 3 - 5e-6, 0, 0], dy: [1, 1] }, ["dx", 0, 2, 0], true],
  ["tie", back, { x: [1, 3, 3 - 5e-5, 0, 0], dy: [1, 1] }, ["dx", 0, 0, 0], false],
  ["tie", back, { x: [1, 3, 3, 0, 0], dy: [1, 1] }, ["dx", 0, 1, 0], false],
  ["tie", back, { x: [1, 3, 3, 9, 0], dy: [0, 1] }, ["dx", 0, 2, 0], false],
  ["padding", conv, { x: [1, 2, 3, 4, 5], w: [NAN, 1, 1] }, ["y", 0, 0, 0], true],
  ["padding", conv, { x: [1, 2, 3, 4, 5], w: [NAN, 1, 1] }, ["y", 0, 1, 0], false],
  ["padding", conv, { x: [1, 2, 3, 4, 5], w: [1, 1, INF] }, ["y", 0, 0, 0], false],
  ["no cell", pooling({ ...row, pad: 3 }, "max"), { x: [1, 2, 3, 4, 5] }, ["y", 0, 0, 0], true],
  ["no cell", max, { x: [1, 2, 3, 4, 5] }, ["y", 0, 0, 0], false],
  ["later image", pooling({ ...row, batch: 2 }, "max"), {}, ["y", 1, 0, 0], true],
  ["later image", pooling({ ...row, batch: 2 }, "max"), {}, ["y", 0, 1, 0], false],
] as [string, Sample, Record<string, number[]>, [string, ...number[]], boolean][])(
  "%s %#",
  (at, sample, held, cell, expected) => {
    expect(asked(at, sample, held, cell)).toBe(expected);
  },
);

test("half types are touched where several numbers are added up", () => {
  const mean = pooling(row, "mean");
  const held = { x: [1, 2, 3, 0, 0] };
  expect(asked("half", mean, held, ["y", 0, 0, 0], { dtype: "bfloat16" })).toBe(true);
  expect(asked("half", mean, held, ["y", 0, 1, 0], { dtype: "bfloat16" })).toBe(false);
  expect(asked("half", mean, held, ["y", 0, 0, 0])).toBe(false);
});

test("what a block's settings decide holds for all of its cells", () => {
  const at = (rule: string, settings: Record<string, Json>, sample = max) =>
    asked(rule, sample, { x: [1, 2, 3, 4, 5] }, ["y", 0, 0, 0], { settings });
  const apart = pooling({ ...row, window: [2], stride: 3 }, "max");
  expect(at("apart", { padding: "SAME" }, apart)).toBe(true);
  expect(at("apart", { padding: "VALID" }, apart)).toBe(false);
  expect(at("apart", { padding: "SAME" })).toBe(false);
  expect(at("layout", { data_format: "NCDHW" })).toBe(true);
  expect(at("layout", { data_format: "NDHWC", padding: "EXPLICIT" })).toBe(true);
  expect(at("layout", { data_format: "NDHWC", padding: "SAME" })).toBe(false);
  expect(at("dilated", { dilations: [1, 2, 1, 1] })).toBe(true);
  expect(at("dilated", { dilations: [1, 1, 1, 1] })).toBe(false);
  expect(at("channel windows", { ksize: [1, 1, 1, 2], strides: [1, 2, 1, 2] })).toBe(true);
  expect(at("channel windows", { ksize: [1, 1, 1, 2], strides: [1, 1, 1, 2] })).toBe(false);
});

test("a difference without a rule is about no cell", () => {
  expect(asked("", max, { x: [1, 2, 3, 4, 5] }, ["y", 0, 0, 0])).toBeUndefined();
});
