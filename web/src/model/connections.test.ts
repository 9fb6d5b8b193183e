import { describe, expect, test } from "vitest";
import { checkedMessage, graphWith, linePage, linePageChecked, ops } from "../testing/fixtures.ts";
import {
  bestInput,
  bestOutput,
  candidateInputs,
  candidateOutputs,
  connectionError,
  matchInput,
  matchOutput,
  outputType,
} from "./connections.ts";
import type { PageDocument } from "./document.ts";
import type { InputPin } from "./graph.ts";
import type { OpInfo } from "./ops.ts";

const page: PageDocument = {
  blocks: {
    image: { op: "Const", attrs: { value: { dtype: "float32", value: 0 } } },
    count: { op: "Const", attrs: { value: { dtype: "int32", value: 0 } } },
    pool: { op: "MaxPool3D" },
    conv: { op: "Conv3D", in: { input: "image:output" } },
    double: { op: "Const", attrs: { value: { dtype: "float64", value: 0 } } },
  },
};
const checked = checkedMessage({
  "image:output": { dtype: "float32", shape: [1, "n", 4, 4, 1] },
  "count:output": { dtype: "int32", shape: [2, 2] },
  "double:output": { dtype: "float64", shape: [1, 1, 1, 1, 1] },
});
const graph = graphWith(page, checked);

function op(name: string): OpInfo {
  return ops.get(name) as OpInfo;
}

describe("a wire fits", () => {
  test("where type and number of axes do", () => {
    expect(connectionError(graph, { block: "image" }, { block: "pool", pin: "input" })).toBeUndefined();
  });

  test("not where the number of axes is another", () => {
    expect(connectionError(graph, { block: "count" }, { block: "pool", pin: "input" })).toEqual({
      kind: "rank",
      got: 2,
      expected: [5],
    });
  });

  test("not where the type is none of those that are taken", () => {
    expect(connectionError(graph, { block: "count" }, { block: "conv", pin: "filter" })).toMatchObject({
      kind: "dtype",
      got: ["int32"],
    });
  });

  test("not where the other inputs have another type", () => {
    expect(connectionError(graph, { block: "double" }, { block: "conv", pin: "filter" })).toEqual({
      kind: "same type",
      got: ["float64"],
      expected: ["float32"],
    });
    expect(connectionError(graph, { block: "double" }, { block: "conv", pin: "input" })).toBeUndefined();
  });

  test("not where it would create a cycle", () => {
    const lined = graphWith(linePage, linePageChecked);
    expect(connectionError(lined, { block: "loss" }, { block: "product", pin: "a" })).toEqual({
      kind: "cycle",
    });
    expect(connectionError(lined, { block: "loss" }, { block: "loss", pin: "input" })).toEqual({
      kind: "cycle",
    });
  });

  test("at what a block changes only if it comes from a variable, or from a block that gives it on", () => {
    const lined = graphWith(linePage, linePageChecked);
    expect(connectionError(lined, { block: "x" }, { block: "learn_w", pin: "var" })).toEqual({
      kind: "variable",
    });
    expect(connectionError(lined, { block: "b" }, { block: "learn_w", pin: "var" })).toBeUndefined();
    expect(connectionError(lined, { block: "learn_w" }, { block: "learn_b", pin: "var" })).toBeUndefined();
  });

  test("not at a pin that is not there", () => {
    expect(connectionError(graph, { block: "image" }, { block: "pool", pin: "other" })).toEqual({
      kind: "no pin",
    });
  });
});

test("of the inputs that fit, the one that misses a value is taken", () => {
  expect(bestInput(graph, { block: "image" }, "conv")?.key).toBe("filter");
  expect(bestInput(graph, { block: "count" }, "pool")).toBeUndefined();
});

test("the output that an input can take is found", () => {
  const filter = graph.blocks.get("conv")?.inputs[1] as InputPin;
  expect(bestOutput(graph, "image", filter)?.key).toBe("output");
  expect(bestOutput(graph, "double", filter)).toBeUndefined();
});

test("all inputs are listed, those that fit first and the others with the reason", () => {
  const found = candidateInputs(graph, { block: "image" });
  const good = found.filter(({ reason }) => !reason).map(({ what }) => `${what.ref.block}:${what.key}`);
  expect(good).toEqual(["pool:input", "conv:filter", "conv:input"]);
  expect(found.slice(good.length).every(({ reason }) => reason)).toBe(true);
});

test("all outputs are listed for an input", () => {
  const found = candidateOutputs(graph, { block: "conv", pin: "filter" });
  expect(found.map(({ what, reason }) => `${what.ref.block} ${reason?.kind ?? "fits"}`)).toEqual([
    "image fits",
    "pool fits",
    "count dtype",
    "conv cycle",
    "double same type",
  ]);
});

describe("an op fits", () => {
  test("with the first input that takes what is offered", () => {
    const offer = outputType(graph, { block: "image" });
    expect(matchInput(offer, op("MaxPool3D")).pin?.name).toBe("input");
    expect(matchInput(offer, op("Relu")).pin?.name).toBe("features");
    expect(matchInput(offer, op("MatMul")).reason).toMatchObject({ kind: "rank", got: 5, expected: [2] });
    expect(matchInput(offer, op("Const")).reason).toEqual({ kind: "no pin" });
  });

  test("with the first output that an input takes", () => {
    expect(matchOutput(graph, { block: "pool", pin: "input" }, op("Conv3D")).pin?.name).toBe("output");
    expect(matchOutput(graph, { block: "pool", pin: "input" }, op("MatMul")).reason).toMatchObject({
      kind: "rank",
      got: 2,
    });
    expect(matchOutput(graph, { block: "pool", pin: "input" }, op("Const")).pin?.name).toBe("output");
  });
});
