import { expect, test } from "vitest";
import { contentOffset, scrollLength, scrollOffset } from "./virtual-scroll.ts";

test("what fits into an element is scrolled as it is", () => {
  expect([scrollLength(1000), scrollOffset(120, 1000, 100), contentOffset(120, 1000, 100, 0)]).toEqual([
    1000, 120, 120,
  ]);
});

test("of what is longer, first and last are reached, and a place in between stays exact", () => {
  const [whole, view] = [1e9, 500];
  const end = scrollLength(whole) - view;
  expect(contentOffset(0, whole, view, 77_000)).toBe(0);
  expect(contentOffset(end, whole, view, 0)).toBeCloseTo(whole - view);
  const place = 123_456_789;
  expect(contentOffset(Math.round(scrollOffset(place, whole, view)), whole, view, place)).toBe(place);
});
