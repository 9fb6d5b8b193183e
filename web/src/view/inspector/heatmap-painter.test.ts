import { expect, test } from "vitest";
import { abbreviate } from "./heatmap-painter.ts";

test.each([
  ["0.84", 6, "0.84"],
  ["0.990000010", 6, "0.99"],
  ["-0.66125", 5, "-0.66"],
  ["-0.0012", 4, "-.00"],
  ["0.0012", 4, ".001"],
  ["-0.000423", 5, "-4e-4"],
  ["0.000423", 4, "4e-4"],
  ["123456", 4, "1e5"],
  ["-1234567890123", 4, "…"],
  ["3.14159265", 5, "3.142"],
  ["true", 5, "true"],
  ["inf", 3, "inf"],
])("%s in %d letters is %s", (text, letters, short) => {
  expect(abbreviate(text, letters)).toBe(short);
  expect(short.length).toBeLessThanOrEqual(letters);
});
