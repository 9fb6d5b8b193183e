import { describe, expect, test } from "vitest";
import { embedInPng, pageInPng } from "./embedded-page.ts";

const EMPTY = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="),
  (c) => c.charCodeAt(0),
);

describe("a page inside a picture", () => {
  test("comes out as it went in", () => {
    const page = '{"format": 1, "title": "축 이름 ×"}';
    expect(pageInPng(embedInPng(EMPTY, page))).toBe(page);
  });
  test("leaves the picture's end where it was", () => {
    const out = embedInPng(EMPTY, "{}");
    expect([...out.slice(-12)]).toEqual([...EMPTY.slice(-12)]);
  });
  test("is not found in a picture without one, nor in what is no picture", () => {
    expect(pageInPng(EMPTY)).toBeNull();
    expect(pageInPng(new Uint8Array([1, 2, 3]))).toBeNull();
    expect(pageInPng(embedInPng(EMPTY, "{}").slice(0, 60))).toBeNull();
  });
});
