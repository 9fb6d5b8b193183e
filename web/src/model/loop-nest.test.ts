import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccessMap, Coordinate } from "../net/generated.ts";
import { convolution, pooling, poolingGradient, type Sample, type Sliding } from "../testing/window-ops.ts";
import { elementCount, ravelIndex, unravelIndex } from "./indexing.ts";
import { LoopNest, type ReadCell, type Shapes } from "./loop-nest.ts";

const nothing: ReadCell = () => undefined;

function sizeOf(shape: readonly number[]): number {
  return elementCount(shape);
}

/** Every point of a accessMap by walking all of its loops: for each tensor the place of its cell, or of its holders' cells. */
function everyPoint(accessMap: AccessMap, shapes: Shapes, readCell: ReadCell): Map<string, number[]>[] {
  const found: Map<string, number[]>[] = [];
  const sizes = Object.values(accessMap.loops);
  for (let number = 0; number < sizeOf(sizes); number++) {
    const values = unravelIndex(number, sizes);
    const now = Object.fromEntries(
      Object.keys(accessMap.loops).map((loop, i) => [loop, values[i] as number]),
    );
    const point = pointAt(accessMap, shapes, readCell, now);
    if (point) found.push(point);
  }
  return found;
}

function stands({ offset = 0, steps = {} }: Coordinate, now: Record<string, number>): number {
  return Object.entries(steps).reduce((at, [loop, step]) => at + step * (now[loop] as number), offset);
}

function pointAt(
  accessMap: AccessMap,
  shapes: Shapes,
  readCell: ReadCell,
  now: Record<string, number>,
): Map<string, number[]> | undefined {
  const point = new Map<string, number[]>();
  const inside = (cell: number[], shape: readonly number[]): boolean =>
    cell.every((at, axis) => at >= 0 && at < (shape[axis] as number));
  for (const [tensor, { at, shape }] of Object.entries(accessMap.cells)) {
    const sizes = shape ?? (shapes[tensor] as number[]);
    const cell: number[] = [];
    for (const each of at) {
      let place = stands(each, now);
      if (each.held_by) {
        const table = accessMap.tables?.[each.held_by];
        const where = (each.held_at ?? []).map((inner) => stands(inner, now));
        const held = table ? [table.length] : (shapes[each.held_by] as number[]);
        if (!inside(where, held)) return undefined;
        place += table
          ? (table[where[0] as number] as number)
          : (readCell(each.held_by, ravelIndex(where, held)) as number);
        if (!table) point.set(each.held_by, [...(point.get(each.held_by) ?? []), ravelIndex(where, held)]);
      }
      cell.push(place);
    }
    if (!inside(cell, sizes)) return undefined;
    point.set(tensor, [...(point.get(tensor) ?? []), ravelIndex(cell, sizes)]);
  }
  const others = accessMap.inside ?? [];
  const exist = others.every(({ at, shape }) =>
    inside(
      at.map((each) => stands(each, now)),
      shape ?? [],
    ),
  );
  return exist ? point : undefined;
}

function ascending(places: Iterable<number>): number[] {
  return [...new Set(places)].sort((a, b) => a - b);
}

/** From every cell of every tensor to every other: what the nest says, and what walking all points says. */
function expectSame({ accessMaps, shapes }: Sample, readCell: ReadCell = nothing): void {
  for (const accessMap of accessMaps) {
    const nest = new LoopNest(accessMap, shapes);
    const points = everyPoint(accessMap, shapes, readCell);
    for (const tensor of nest.tensors) {
      for (let place = 0; place < sizeOf(shapes[tensor] as number[]); place++) {
        const through = points.filter((point) => point.get(tensor)?.includes(place));
        expect(nest.count(tensor, place, readCell)).toBe(through.length);
        const found = nest.points(tensor, place, readCell);
        for (const [other, places] of found.offsets) {
          expect([...places]).toEqual(through.map((point) => point.get(other)?.at(-1)));
        }
        for (const other of nest.tensors) {
          const linked = ascending(through.flatMap((point) => point.get(other) ?? []));
          expect([...nest.relatedCells(tensor, place, other, readCell)]).toEqual(linked);
        }
      }
    }
  }
}

const sliding: fc.Arbitrary<Sliding> = fc
  .record({
    batch: fc.integer({ min: 1, max: 2 }),
    axes: fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 3 })), {
      minLength: 1,
      maxLength: 2,
    }),
    channels: fc.integer({ min: 1, max: 2 }),
    stride: fc.integer({ min: 1, max: 3 }),
    dilation: fc.integer({ min: 1, max: 2 }),
    pad: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ axes, ...rest }) => ({
    ...rest,
    sizes: axes.map(([size]) => size),
    window: axes.map(([, window]) => window),
  }));

const LOOPS = ["a", "b", "c"];

const coordinate: fc.Arbitrary<Coordinate> = fc.record({
  offset: fc.integer({ min: -2, max: 2 }),
  steps: fc
    .subarray(LOOPS)
    .chain((loops) =>
      fc
        .array(fc.integer({ min: -2, max: 2 }), { minLength: loops.length, maxLength: loops.length })
        .map((steps) => Object.fromEntries(loops.map((loop, i) => [loop, steps[i] as number]))),
    ),
});

const axes = fc.array(fc.tuple(coordinate, fc.integer({ min: 1, max: 4 })), { minLength: 0, maxLength: 3 });

const anyWay: fc.Arbitrary<Sample> = fc
  .record({
    sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 3, maxLength: 3 }),
    tensors: fc.array(axes, { minLength: 2, maxLength: 3 }),
    beside: fc.array(axes, { maxLength: 1 }),
  })
  .map(({ sizes, tensors, beside }) => ({
    accessMaps: [
      {
        rule: "sum",
        of: [],
        loops: Object.fromEntries(LOOPS.map((loop, i) => [loop, sizes[i] as number])),
        cells: Object.fromEntries(tensors.map((each, i) => [`t${i}`, { at: each.map(([at]) => at) }])),
        inside: beside.map((each) => ({ at: each.map(([at]) => at), shape: each.map(([, size]) => size) })),
      },
    ],
    shapes: Object.fromEntries(tensors.map((each, i) => [`t${i}`, each.map(([, size]) => size)])),
  }));

// Walking all points takes long where others work on the machine too.
describe("the cells that belong together are those of a walk over all points", { timeout: 60_000 }, () => {
  test("of convolutions with any window, stride, dilation and padding", () => {
    fc.assert(
      fc.property(sliding, fc.integer({ min: 1, max: 2 }), (how, filters) =>
        expectSame(convolution(how, filters)),
      ),
      { numRuns: 40 },
    );
  });

  test("of pooling and its gradient", () => {
    fc.assert(
      fc.property(sliding, (how) => {
        expectSame(pooling(how, "max"));
        expectSame(poolingGradient(how));
      }),
      { numRuns: 25 },
    );
  });

  test("of any steps along any loops, backwards and in place too", () => {
    fc.assert(
      fc.property(anyWay, (sample) => expectSame(sample)),
      { numRuns: 150 },
    );
  });

  test("where other tensors and tables hold coordinates", () => {
    const hold = fc.record({
      shape: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })),
      held: fc.array(fc.integer({ min: -1, max: 5 }), { minLength: 4, maxLength: 4 }),
      table: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 4 }),
    });
    fc.assert(
      fc.property(hold, ({ shape, held, table }) => {
        const accessMap: AccessMap = {
          rule: "copy",
          of: ["params"],
          loops: { i: 4, j: shape[1] },
          cells: {
            params: {
              at: [
                { held_by: "indices", held_at: [{ steps: { i: 1 } }] },
                { held_by: "table", held_at: [{ steps: { j: 1 } }], offset: -1 },
              ],
            },
            output: { at: [{ steps: { i: 1 } }, { steps: { j: 1 } }] },
          },
          tables: { table },
        };
        expectSame(
          { accessMaps: [accessMap], shapes: { params: [...shape], indices: [4], output: [4, shape[1]] } },
          (tensor, place) => (tensor === "indices" ? held[place] : undefined),
        );
      }),
    );
  });

  test("of a tensor that is looked at with other sizes", () => {
    const accessMap: AccessMap = {
      rule: "copy",
      of: ["x"],
      loops: { i: 12 },
      cells: { x: { at: [{ steps: { i: 1 } }], shape: [12] }, y: { at: [{ steps: { i: 1 } }], shape: [12] } },
    };
    const nest = new LoopNest(accessMap, { x: [3, 4], y: [2, 6] });
    expect([...nest.relatedCells("x", ravelIndex([1, 3], [3, 4]), "y", nothing)]).toEqual([
      ravelIndex([1, 1], [2, 6]),
    ]);
  });
});
