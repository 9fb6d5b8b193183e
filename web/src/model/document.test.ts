import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  apply,
  between,
  type Edit,
  EditError,
  type Json,
  type PageDocument,
  readWire,
  wireText,
} from "./document.ts";
import { line } from "./samples.ts";

const page = {
  blocks: { a: { op: "A" }, b: { op: "B" }, c: { op: "C" } },
  list: [1, 2, 3],
} as unknown as PageDocument;

function result(...edits: Edit[]): PageDocument {
  return apply(page, edits).document;
}

describe("an edit", () => {
  test("takes the place of what an object has, where it stands", () => {
    expect(Object.entries(result({ path: ["blocks", "b"], value: { op: "X" } }).blocks ?? {})).toEqual([
      ["a", { op: "A" }],
      ["b", { op: "X" }],
      ["c", { op: "C" }],
    ]);
  });

  test("puts a new key before another, or last", () => {
    const before = result({ path: ["blocks", "n"], value: { op: "N" }, before: "b" });
    expect(Object.keys(before.blocks ?? {})).toEqual(["a", "n", "b", "c"]);
    const missing = result({ path: ["blocks", "n"], value: { op: "N" }, before: "gone" });
    expect(Object.keys(missing.blocks ?? {})).toEqual(["a", "b", "c", "n"]);
  });

  test("takes away, and its inverse puts back where it was", () => {
    const { document, inverse } = apply(page, [{ path: ["blocks", "b"] }]);
    expect(Object.keys(document.blocks ?? {})).toEqual(["a", "c"]);
    expect(inverse).toEqual([{ path: ["blocks", "b"], value: { op: "B" }, before: "c" }]);
  });

  test("is a new item in a list, and moves those behind it", () => {
    expect(result({ path: ["list", 1], value: 9 }).list).toEqual([1, 9, 2, 3]);
    expect(result({ path: ["list", 3], value: 9 }).list).toEqual([1, 2, 3, 9]);
    expect(result({ path: ["list", 0] }).list).toEqual([2, 3]);
  });

  test("can put null", () => {
    expect(result({ path: ["blocks", "a", "initial"], value: null }).blocks?.a).toEqual({
      op: "A",
      initial: null,
    });
  });

  test.each<[string, Edit]>([
    ["through what is not there", { path: ["layout", "blocks", "a"], value: [0, 0] }],
    ["into what is no object", { path: ["blocks", "a", "op", "x"], value: 1 }],
    ["beyond the end of a list", { path: ["list", 4], value: 1 }],
    ["to take away what is not there", { path: ["blocks", "d"] }],
    ["to take away behind the end of a list", { path: ["list", 3] }],
    ["to a place in an object", { path: ["blocks", 0], value: 1 }],
    ["to the prototype of an object", { path: ["blocks", "__proto__"], value: {} }],
    ["through the prototype of an object", { path: ["blocks", "constructor", "x"], value: 1 }],
    ["without a path", { path: [], value: {} }],
  ])("is refused %s, and nothing has changed", (_, edit) => {
    const before = JSON.stringify(page);
    expect(() => result({ path: ["blocks", "a", "op"], value: "X" }, edit)).toThrow(EditError);
    expect(JSON.stringify(page)).toBe(before);
  });
});

test("what is not edited is shared with the document before", () => {
  const { document } = apply(line, [{ path: ["blocks", "x", "about"], value: "points" }]);
  expect(document.blocks?.y).toBe(line.blocks?.y);
  expect(document.layout).toBe(line.layout);
  expect(document.blocks?.x?.attrs).toBe(line.blocks?.x?.attrs);
});

/** Edits that fit, made step by step for the document that the last one gave. */
function fitting(document: PageDocument, choices: readonly [number, number, Json][]): Edit[] {
  const edits: Edit[] = [];
  let now = document;
  for (const [where, what, value] of choices) {
    const containers = paths(now as Json);
    const path = containers[where % containers.length] as (string | number)[];
    const holder = path.reduce<Json>((here, key) => (here as never)[key], now as Json);
    const edit = editIn(path, holder, what, value);
    now = apply(now, [edit]).document;
    edits.push(edit);
  }
  return edits;
}

function editIn(path: (string | number)[], holder: Json, what: number, value: Json): Edit {
  if (Array.isArray(holder)) {
    const place = what % (holder.length + 1);
    return what % 2 && place < holder.length ? { path: [...path, place] } : { path: [...path, place], value };
  }
  const keys = Object.keys(holder as object);
  const key = what % 3 && keys.length ? (keys[what % keys.length] as string) : `k${what % 7}`;
  const before = keys[(what >> 3) % Math.max(1, keys.length)];
  if (what % 5 === 0 && keys.includes(key)) return { path: [...path, key] };
  return { path: [...path, key], value, ...(before !== undefined && { before }) };
}

/** The paths of all objects and lists. */
function paths(value: Json, here: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Array.isArray(value) ? value.entries() : Object.entries(value);
  return [here, ...[...inside].flatMap(([key, each]) => paths(each as Json, [...here, key]))];
}

test("the inverse of any edits gives the document to the letter, and the inverse of that the other one", () => {
  const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), fc.nat(), json), { maxLength: 30, size: "max" }), (choices) => {
      const edits = fitting(line, choices);
      const there = apply(line, edits);
      const back = apply(there.document, there.inverse);
      expect(JSON.stringify(back.document)).toBe(JSON.stringify(line));
      expect(JSON.stringify(apply(back.document, back.inverse).document)).toBe(
        JSON.stringify(there.document),
      );
    }),
    { numRuns: 300 },
  );
});

test("one document is made of another, section by section", () => {
  const empty = { format: 1, blocks: {} };
  expect(JSON.stringify(apply(empty, between(empty, line)).document)).toBe(JSON.stringify(line));
  expect(between(line, { ...line, title: "Other" })).toEqual([{ path: ["title"], value: "Other" }]);
  expect(between(line, line)).toEqual([]);
  const { run: _, ...without } = line;
  expect(between(line, without)).toEqual([{ path: ["run"] }]);
});

test("wires are read and written alike", () => {
  for (const text of ["a", "a:b", "a:b[2]", "scope/a.b-c:out[0]"])
    expect(wireText(readWire(text))).toBe(text);
  expect(readWire("slope:dx[12]")).toEqual({ block: "slope", pin: "dx", index: 12 });
});
