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
  cursor.move(at(1));
  cursor.move(at(1));
  cursor.move(at(2));
  stop();
  cursor.move(at(3));
  expect(moves).toBe(2);
  expect(cursor.now).toEqual(at(3));
});

test("pinned it stays until it is carried or released, and a second pin at the same cell releases it", () => {
  cursor.pin(at(1));
  cursor.move(at(2));
  expect([cursor.now, cursor.pinned]).toEqual([at(1), true]);
  cursor.carry(at(3));
  expect([cursor.now, cursor.pinned]).toEqual([at(3), true]);
  cursor.pin(at(3));
  expect(cursor.pinned).toBe(false);
  cursor.move(at(4));
  expect(cursor.now).toEqual(at(4));
  cursor.pin(at(4));
  cursor.release();
  cursor.move(null);
  expect(cursor.now).toBeNull();
});

test("a cell that is kept stays pinned, however often it is", () => {
  const stop = cursor.onChange(() => moves++);
  cursor.keep(at(1));
  cursor.keep(at(1));
  expect([cursor.now, cursor.pinned, moves]).toEqual([at(1), true, 1]);
  cursor.keep(at(2));
  expect([cursor.now, cursor.pinned, moves]).toEqual([at(2), true, 2]);
  stop();
});

test("the same cell of another page is another cell", () => {
  cursor.pin(at(1, 1));
  cursor.pin(at(1, 2));
  expect([cursor.now, cursor.pinned]).toEqual([at(1, 2), true]);
});
