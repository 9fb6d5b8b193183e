/** Fixtures: the ops, pages and check results that unit tests share. */

import { readdirSync, readFileSync } from "node:fs";
import type { PageDocument } from "../model/document.ts";
import { parseExact, unmarkNumbers } from "../model/exact-json.ts";
import { type Graph, graphOf } from "../model/graph.ts";
import { type OpInfo, Ops } from "../model/ops.ts";
import type { Checked } from "../net/generated.ts";

export const ops = new Ops(
  (JSON.parse(readFileSync(new URL("ops.fixture.json", import.meta.url), "utf8")) as { ops: OpInfo[] }).ops,
);

const EXAMPLES = new URL("../../../src/backblocks/examples/", import.meta.url);

/** The JSON texts of the example pages. */
export const exampleTexts: ReadonlyMap<string, string> = new Map(
  readdirSync(EXAMPLES)
    .filter((name) => name.endsWith(".page.json"))
    .sort()
    .map((name) => [name.replace(".page.json", ""), readFileSync(new URL(name, EXAMPLES), "utf8")]),
);

export function example(name: string): PageDocument {
  return unmarkNumbers(parseExact(exampleTexts.get(name) as string), []) as PageDocument;
}

/** Linear regression: a small page with every section that a page can have. */
export const linePage: PageDocument = {
  format: 1,
  title: "A line",
  blocks: {
    x: { op: "Const", attrs: { value: { dtype: "float32", value: [[1], [2], [3]] } } },
    y: { op: "Const", attrs: { value: { dtype: "float32", value: [[5], [7], [9]] } } },
    w: { op: "VariableV2", initial: { dtype: "float32", value: [[0]] } },
    b: { op: "VariableV2", initial: { dtype: "float32", value: [0] } },
    product: { op: "MatMul", in: { a: "x:output", b: "w:ref" } },
    guess: { op: "AddV2", in: { x: "product:product", y: "b:ref" } },
    error: { op: "SquaredDifference", in: { x: "guess:z", y: "y:output" } },
    loss: { op: "Mean", in: { input: "error:z", axis: [0, 1] } },
    slope: { op: "gradients", in: { ys: ["loss:output"], xs: ["w:ref", "b:ref"] } },
    learn_w: { op: "ApplyGradientDescent", in: { var: "w:ref", alpha: 0.1, delta: "slope:dx[0]" } },
    learn_b: {
      op: "ApplyGradientDescent",
      in: { var: "b:ref", alpha: 0.1, delta: "slope:dx[1]" },
      after: ["learn_w"],
    },
  },
  frames: { forward: { title: "Forward", blocks: ["product", "guess", "error", "loss"] } },
  notes: { what: { text: "**A line** through points." } },
  monitors: { curve: { kind: "trend", shows: [{ pin: "loss:output" }, { pin: "w:ref", element: [0, 0] }] } },
  run: { fetch: ["loss:output", "w:ref"], targets: ["learn_w", "learn_b"], steps: 500, until: "loss:output" },
  ports: { outputs: { loss: { pin: "loss:output", dtype: "float32", shape: [] } } },
  layout: {
    blocks: { x: [0, 0], y: [0, 300], w: [0, 600], product: [320, 0], guess: [640, 0] },
    wires: { "guess:x": [[560, 80]], "slope:xs[1]": [[900, 500]] },
  },
};

/** A check result as the server would send it, with these types of outputs. */
export function checkedMessage(pins: Checked["pins"], more: Partial<Checked> = {}): Checked {
  return { kind: "checked", page: 1, revision: 1, pins, inputs: {}, problems: [], ...more };
}

const MATRIX = { dtype: "float32", shape: [3, 1] };

export const linePageChecked = checkedMessage({
  "x:output": MATRIX,
  "y:output": MATRIX,
  "w:ref": { dtype: "float32", shape: [1, 1] },
  "b:ref": { dtype: "float32", shape: [1] },
  "product:product": MATRIX,
  "guess:z": MATRIX,
  "error:z": MATRIX,
  "loss:output": { dtype: "float32", shape: [] },
  "slope:dx[0]": { dtype: "float32", shape: [1, 1] },
  "slope:dx[1]": { dtype: "float32", shape: [1] },
});

export function graphWith(document: PageDocument, checked?: Checked): Graph {
  return graphOf(document, ops, checked);
}
