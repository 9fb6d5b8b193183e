/** What Python's evaluator of the same declarations finds, for real calls of ops. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AccessMap } from "../net/generated.ts";
import { derive, totalOf } from "./contributions.ts";
import { ravelIndex, unravelIndex } from "./indexing.ts";
import { LoopNest } from "./loop-nest.ts";

interface Call {
  op: string;
  shapes: Record<string, number[]>;
  types: Record<string, string>;
  outputs: string[];
  /** Row-major; what JSON has no number for is text. */
  held: Record<string, (number | string)[]>;
  access_maps: AccessMap[];
  linked: [pin: string, cell: number[], cells: Record<string, number[][]>][];
  values: [pin: string, cell: number[], value: number | string | null][];
}

const calls = JSON.parse(
  readFileSync(new URL("../testing/cells.fixture.json", import.meta.url), "utf8"),
) as Call[];

test("the fixture has cells and values of many calls", () => {
  expect(calls.length).toBeGreaterThan(50);
  expect(calls.filter(({ linked, values }) => !linked.length || !values.length)).toEqual([]);
  const known = calls.flatMap(({ values }) => values).filter(([, , value]) => value !== null);
  expect(known.length).toBeGreaterThan(200);
});

describe.each(calls.map((call, i) => [`${i} ${call.op}`, call] as const))("%s", (_, call) => {
  const { shapes, held } = call;
  const nests = call.access_maps.map((accessMap) => new LoopNest(accessMap, shapes, call.types));
  const readCell = (tensor: string, place: number): number | undefined => {
    const value = held[tensor]?.[place];
    return value === undefined ? undefined : Number(value);
  };

  test("the same cells belong together", () => {
    for (const [pin, cell, cells] of call.linked) {
      const place = ravelIndex(cell, shapes[pin] as number[]);
      const found: Record<string, number[][]> = {};
      for (const nest of nests) {
        for (const other of nest.tensors) {
          const places = nest.has(pin) && other !== pin ? nest.relatedCells(pin, place, other, readCell) : [];
          for (const each of places)
            found[other] = [...(found[other] ?? []), unravelIndex(each, shapes[other] as number[])];
        }
      }
      expect(sorted(found), `${pin}[${cell}]`).toEqual(sorted(cells));
    }
  });

  test("the rules give the same values", () => {
    for (const [pin, cell, value] of call.values) {
      const total = totalOf(derive(nests, pin, ravelIndex(cell, shapes[pin] as number[]), readCell));
      if (value === null) expect(total, `${pin}[${cell}]`).toBeUndefined();
      else if (value === "NaN") expect(total, `${pin}[${cell}]`).toBeNaN();
      else expect(total, `${pin}[${cell}]`).toBeCloseTo(Number(value), 5);
    }
  });
});

function sorted(cells: Record<string, number[][]>): Record<string, string[]> {
  const all = Object.entries(cells).map(([pin, each]) => [pin, [...new Set(each.map(String))].sort()]);
  return Object.fromEntries(all);
}
