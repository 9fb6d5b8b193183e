import { describe, expect, test } from "vitest";
import { graphWith, linePage, ops } from "../testing/fixtures.ts";
import { matchInput } from "./connections.ts";
import type { OpInfo } from "./ops.ts";
import { OpSearch, searchBlocks } from "./search.ts";

const search = new OpSearch(ops);

function first(query: string): string | undefined {
  return search.search(query)[0]?.op.name;
}

describe("an op is found", () => {
  test.each([
    ["MaxPool3D", "MaxPool3D"],
    ["maxpool3d", "MaxPool3D"],
    ["max pool 3d", "MaxPool3D"],
    ["max_pool_3d_grad", "MaxPool3DGrad"],
    ["relu", "Relu"],
    ["matmul", "MatMul"],
    ["mtmul", "MatMul"],
    ["convolution", "Conv3D"],
    ["backpropagation", "gradients"],
    ["subgraph", "page"],
    ["constant", "Const"],
  ])("%j gives %s", (query, name) => expect(first(query)).toBe(name));

  test("by its meaning", () => {
    expect(search.search("largest value window").map(({ op }) => op.name)).toContain("MaxPool3D");
  });
});

test("nothing typed gives everything, what was used lately first", () => {
  const found = search.search("", { recent: ["Relu", "Cast"], most: 1000 });
  expect(found).toHaveLength(ops.all.length);
  expect(found.slice(0, 2).map(({ op }) => op.name)).toEqual(["Relu", "Cast"]);
});

test("of two that are alike, the one that was used lately comes first", () => {
  const names = (recent: string[]): string[] => search.search("pool", { recent }).map(({ op }) => op.name);
  const [before] = names([]);
  const other = names([]).find(
    (name) => name !== before && name.includes("Pool3D") && !name.includes("Grad"),
  ) as string;
  expect(names([other]).indexOf(other)).toBeLessThan(names([]).indexOf(other));
});

test("what fits comes first, the rest with the reason", () => {
  const offer = { dtypes: ["float32"], rank: 2 };
  const found = search.search("m", { fitOf: (op) => matchInput(offer, op) });
  const fitting = found.findIndex(({ reason }) => reason);
  expect(fitting).toBeGreaterThan(0);
  expect(found.slice(fitting).every(({ reason }) => reason)).toBe(true);
  expect(found.find(({ op }) => op.name === "MatMul")?.pin).toBe("a");
  expect(found.find(({ op }) => op.name === "MaxPool3D")?.reason?.kind).toBe("rank");
});

test("what takes just such tensors comes before what takes all, and what was used lately before both", () => {
  const wanted = { fitOf: (op: OpInfo) => matchInput({ dtypes: ["float32"], rank: 5 }, op) };
  const names = (recent: string[]) => search.search("", { ...wanted, recent }).map(({ op }) => op.name);
  expect(names([])[0]).toMatch(/3D/);
  expect(names([]).indexOf("MaxPool3D")).toBeLessThan(names([]).indexOf("BiasAdd"));
  expect(names(["Relu"])[0]).toBe("Relu");
});

test("blocks are found by name, op and what is said of them", () => {
  const graph = graphWith({
    ...linePage,
    blocks: { ...linePage.blocks, z: { op: "NoOp", about: "Does nothing." } },
  });
  expect(searchBlocks(graph, "LEARN")).toEqual(["learn_w", "learn_b"]);
  expect(searchBlocks(graph, "matmul")).toEqual(["product"]);
  expect(searchBlocks(graph, "nothing")).toEqual(["z"]);
  expect(searchBlocks(graph, "w")[0]).toBe("w");
});
