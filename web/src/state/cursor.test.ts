import { beforeEach, expect, test } from "vitest";
import { cursor } from "./cursor.ts";

const at = (place: number, page = 1) => ({ page, pin: "a:output", cell: [place, 0] });
let moves = 0;

beforeEach(() => {
  cursor.clear();
  moves = 0;
});

test("it tells of each move once, and of none to where it is", () => {
  const stop = cursor.onChange(() => moves++);
  cursor.hover(at(1));
  cursor.hover(at(1));
  cursor.hover(at(2));
  stop();
  cursor.hover(at(3));
  expect(moves).toBe(2);
  expect(cursor.current).toEqual(at(3));
});

test("pinned it stays until it is carried or released, and a second pin at the same cell releases it", () => {
  cursor.togglePin(at(1));
  cursor.hover(at(2));
  expect([cursor.current, cursor.pinned]).toEqual([at(1), true]);
  cursor.moveTo(at(3));
  expect([cursor.current, cursor.pinned]).toEqual([at(3), true]);
  cursor.togglePin(at(3));
  expect(cursor.pinned).toBe(false);
  cursor.hover(at(4));
  expect(cursor.current).toEqual(at(4));
  cursor.togglePin(at(4));
  cursor.release();
  cursor.hover(null);
  expect(cursor.current).toBeNull();
});

test("a cell that is kept stays pinned, however often it is", () => {
  const stop = cursor.onChange(() => moves++);
  cursor.pin(at(1));
  cursor.pin(at(1));
  expect([cursor.current, cursor.pinned, moves]).toEqual([at(1), true, 1]);
  cursor.pin(at(2));
  expect([cursor.current, cursor.pinned, moves]).toEqual([at(2), true, 2]);
  stop();
});

test("the same cell of another page is another cell", () => {
  cursor.togglePin(at(1, 1));
  cursor.togglePin(at(1, 2));
  expect([cursor.current, cursor.pinned]).toEqual([at(1, 2), true]);
});
