import { expect, test } from "vitest";
import { barAt, lengthFor, placeAt } from "./scrolling.ts";

test("what fits into an element is scrolled as it is", () => {
  expect([lengthFor(1000), barAt(120, 1000, 100), placeAt(120, 1000, 100, 0)]).toEqual([1000, 120, 120]);
});

test("of what is longer, first and last are reached, and a place in between stays exact", () => {
  const [whole, view] = [1e9, 500];
  const end = lengthFor(whole) - view;
  expect(placeAt(0, whole, view, 77_000)).toBe(0);
  expect(placeAt(end, whole, view, 0)).toBeCloseTo(whole - view);
  const place = 123_456_789;
  expect(placeAt(Math.round(barAt(place, whole, view)), whole, view, place)).toBe(place);
});
