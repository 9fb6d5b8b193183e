import fc from "fast-check";
import { expect, test } from "vitest";
import { linePage } from "../testing/fixtures.ts";
import { apply, type Edit, type Json, type PageDocument, parseReference, referenceText } from "./document.ts";

test("what is not edited is shared with the document before", () => {
  const { document } = apply(linePage, [{ path: ["blocks", "x", "about"], value: "points" }]);
  expect(document.blocks?.y).toBe(linePage.blocks?.y);
  expect(document.layout).toBe(linePage.layout);
  expect(document.blocks?.x?.attrs).toBe(linePage.blocks?.x?.attrs);
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
      const edits = fitting(linePage, choices);
      const there = apply(linePage, edits);
      const back = apply(there.document, there.inverse);
      expect(JSON.stringify(back.document)).toBe(JSON.stringify(linePage));
      expect(JSON.stringify(apply(back.document, back.inverse).document)).toBe(
        JSON.stringify(there.document),
      );
    }),
    { numRuns: 300 },
  );
});

test("wires are read and written alike", () => {
  for (const text of ["a", "a:b", "a:b[2]", "scope/a.b-c:out[0]"])
    expect(referenceText(parseReference(text))).toBe(text);
  expect(parseReference("slope:dx[12]")).toEqual({ block: "slope", pin: "dx", index: 12 });
});
