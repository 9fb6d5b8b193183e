import { describe, expect, test } from "vitest";
import { viewEn } from "../../text/view.en.ts";
import { formatNumber, formatShape, parseList, parseNumber } from "./attr-text.ts";

describe("a number that is typed", () => {
  test.each(["", "x", "1e999", "-1e999"])("is refused if it is %j", (text) => {
    expect(parseNumber(text, false, viewEn)).toEqual({ error: viewEn.aNumber });
    expect(parseList(text || "x", "floats")).toBeUndefined();
  });
  test("may be no finite one if it says so", () => {
    expect(parseNumber(" +Inf", false, viewEn)).toEqual({ value: { number: "inf" } });
    expect(parseNumber("inf", true, viewEn)).toEqual({ error: viewEn.aNumber });
  });
  test.each(["9007199254740993", "-9007199254740993", "7", "0"])("keeps all digits of %s", (text) => {
    const read = parseNumber(text, true, viewEn);
    expect("value" in read && formatNumber(read.value)).toBe(text);
  });
});

test.each([null, [], [2, null, 3]])("a shape of %j is read as it is shown", (shape) => {
  expect(parseList(formatShape(shape), "shape")).toEqual(shape);
});
