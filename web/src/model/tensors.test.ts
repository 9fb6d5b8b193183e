import { describe, expect, test } from "vitest";
import { ops } from "../testing/fixtures.ts";
import { apply, type PageDocument } from "./document.ts";
import { graphOf } from "./graph.ts";
import { pinsOf, tensorAt } from "./tensors.ts";

const document: PageDocument = {
  blocks: {
    a: { op: "Const", attrs: { value: { dtype: "float32", value: [1, 2] } } },
    b: { op: "AddV2", in: { x: "a:output", y: { dtype: "float32", value: [3, 4] } } },
  },
};
const graph = graphOf(document, ops);

describe("what can be looked at", () => {
  test("of a block are its outputs, then what is typed into it and what comes in", () => {
    expect(pinsOf(graph, new Set(["block/b"]))).toEqual(["b:z", "b:y", "a:output"]);
  });
  test("of a wire is what flows on it", () => {
    expect(pinsOf(graph, new Set(["wire/b:x"]))).toEqual(["a:output"]);
  });
  test("is nothing where nothing is selected", () => {
    expect(pinsOf(graph, new Set())).toEqual([]);
  });
});

describe("a constant can be changed where it stands", () => {
  test.each([
    ["a:output", (changed: PageDocument) => changed.blocks?.a?.attrs?.value],
    ["b:y", (changed: PageDocument) => changed.blocks?.b?.in?.y],
  ])("at %s", (pin, found) => {
    const action = tensorAt(graph, pin)?.constant?.put(document, 7);
    expect(found(apply(document, action?.edits ?? []).document)).toBe(7);
  });
  test("what a run gives cannot", () => {
    expect(tensorAt(graph, "b:z")).toEqual({ pin: "b:z", block: "b", name: "z" });
    expect(tensorAt(graph, "b:x")).toBeUndefined();
    expect(tensorAt(graph, "gone:output")).toBeUndefined();
  });
});
