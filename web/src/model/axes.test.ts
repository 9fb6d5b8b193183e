import { expect, test } from "vitest";
import { axisNames, pictureAxes } from "./axes.ts";
import type { PageDocument } from "./document.ts";
import { graphOf } from "./graph.ts";
import { type OpInfo, Ops } from "./ops.ts";

/** Pins are "name" or "name axes". */
function info(name: string, inputs: string[], outputs: string[], format?: string): OpInfo {
  const pin = (each: string) => {
    const [called = "", axes] = each.split(" ");
    return {
      name: called,
      count: "one" as const,
      type: "T",
      dtypes: ["float32"],
      ranks: null,
      ...(axes && { axes }),
    };
  };
  const attr = {
    name: "data_format",
    kind: "choice",
    options: [],
    default: format ?? "",
    required: false,
    about: "",
  };
  return {
    name,
    group: "nn",
    group_title: "Neural networks",
    summary: "",
    documentation: "",
    inputs: inputs.map(pin),
    outputs: outputs.map(pin),
    attrs: format ? [attr] : [],
    stateful: false,
    files: "",
    writes: [],
    holds: false,
    fed: false,
    differences: [],
    cases: [],
    aliases: [],
    gradient: "",
    gradients: [],
  };
}

const ops = new Ops([
  info("Const", [], ["output"]),
  info("Relu", ["features"], ["activations"]),
  info("Transpose", ["x", "perm"], ["y"]),
  info("Conv3D", ["input data_format", "filter DHWIO"], ["output data_format"], "NDHWC"),
  info("DepthwiseConv2dNative", ["input data_format", "filter HWCM"], ["output data_format"], "NHWC"),
]);

const document: PageDocument = {
  blocks: {
    volume: { op: "Const" },
    soft: { op: "Relu", in: { features: "volume:output" } },
    filter: { op: "Const" },
    conv: { op: "Conv3D", in: { input: "soft:activations", filter: "filter:output" } },
    other: { op: "Conv3D", attrs: { data_format: "NCDHW" }, in: {} },
    after: { op: "Relu", in: { features: "conv:output" } },
    turned: { op: "Transpose", in: { x: "after:activations" } },
    mask: { op: "Const" },
    depthwise: { op: "DepthwiseConv2dNative", in: { filter: "mask:output" } },
  },
};
const volume = { dtype: "float32", shape: [1, 4, 4, 4, 1] };
const graph = graphOf(document, ops, {
  kind: "checked",
  page: 1,
  revision: 1,
  inputs: {},
  problems: [],
  pins: Object.fromEntries(
    ["volume:output", "soft:activations", "conv:output", "after:activations", "turned:y"].map((pin) => [
      pin,
      volume,
    ]),
  ),
});

test.each([
  ["conv", "output", 5, "NDHWC"],
  ["other", "output", 5, "NCDHW"],
  ["soft", "activations", 5, "NDHWC"],
  ["volume", "output", 5, "NDHWC"],
  ["after", "activations", 5, "NDHWC"],
  ["filter", "output", 5, "DHWIO"],
  ["mask", "output", 4, "HWCM"],
])("the axes of %s:%s are named", (block, pin, rank, names) => {
  expect(axisNames(graph, block, pin, rank).join("")).toBe(names);
});

test("axes that nobody names, or that were put in another order, have numbers", () => {
  expect(axisNames(graph, "turned", "y", 5)).toEqual(["0", "1", "2", "3", "4"]);
  expect(axisNames(graph, "conv", "output", 2)).toEqual(["0", "1"]);
});

test("a picture has H and W as rows and columns, whatever the format", () => {
  expect(pictureAxes(graph, "volume:output")).toEqual([2, 3]);
  const first = graphOf(document, ops, {
    kind: "checked",
    page: 1,
    revision: 1,
    inputs: {},
    problems: [],
    pins: {
      "other:output": { dtype: "float32", shape: ["N", 2, 4, 4, 1] },
      "conv:output": { dtype: "float32", shape: [2, 1, 1, 1, 8] },
    },
  });
  expect(pictureAxes(first, "other:output")).toEqual([3, 4]);
  expect(pictureAxes(first, "conv:output")).toBeUndefined();
  expect(pictureAxes(graph, "turned:y")).toBeUndefined();
});
