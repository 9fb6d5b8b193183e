import fc from "fast-check";
import { expect, test } from "vitest";
import { unravelIndex } from "./indexing.ts";
import {
  cellSlice,
  covers,
  fullSlice,
  offsetIn,
  sliceIndex,
  sliceLength,
  sliceSize,
  type TensorSlice,
  takeSlice,
} from "./slices.ts";

const shapes = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 5 });

const inside = shapes.chain((shape) =>
  fc
    .tuple(
      ...shape.map((size) =>
        fc.tuple(fc.nat(size - 1), fc.integer({ min: 1, max: size }), fc.integer({ min: 1, max: 3 })),
      ),
    )
    .map((spans) => ({
      shape,
      box: spans.map(([a, b, step]) => ({
        first: Math.min(a, b - 1),
        end: Math.max(a + 1, b),
        step,
      })) as TensorSlice,
    })),
);

test("what is taken of a tensor lies where the box says", () => {
  fc.assert(
    fc.property(inside, ({ shape, box }) => {
      const whole = fullSlice(shape);
      const elements = Array.from({ length: sliceSize(whole) }, (_, i) => i);
      const part = takeSlice(elements, shape, box);
      expect(part).toHaveLength(sliceSize(box));
      let taken = 0;
      for (const element of elements) {
        const cell = unravelIndex(element, shape);
        expect(offsetIn(whole, cell)).toBe(element);
        const place = offsetIn(box, cell);
        const met = box.every(({ first, end, step }, axis) => {
          const at = cell[axis] as number;
          return at >= first && at < end && (at - first) % step === 0;
        });
        if (!met) continue;
        taken++;
        expect(part[place]).toBe(element);
      }
      expect(taken).toBe(part.length);
    }),
  );
});

test("a cell that steps leave out is stood for by the one before it", () => {
  const box = [{ first: 2, end: 9, step: 3 }];
  expect(sliceLength(box[0] as never)).toBe(3);
  expect([1, 2, 4, 5, 8, 9].map((place) => offsetIn(box, [place]))).toEqual([-1, 0, 0, 1, 2, -1]);
});

test("a box covers what lies in it and is as fine", () => {
  const wanted = cellSlice([3, 4]);
  expect(covers(fullSlice([5, 5]), wanted)).toBe(true);
  expect(covers(fullSlice([3, 5]), wanted)).toBe(false);
  expect(covers([...fullSlice([5]), { first: 0, end: 5, step: 2 }], wanted)).toBe(false);
});

test("an index keeps every axis", () => {
  expect(sliceIndex(cellSlice([3, 4]))).toEqual([
    [3, 4, 1],
    [4, 5, 1],
  ]);
});
