import { expect, test } from "vitest";
import { ageText } from "./age.ts";

const english = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

test.each([
  [-5, "now"],
  [59, "now"],
  [60, "1 minute ago"],
  [3599, "59 minutes ago"],
  [7200, "2 hours ago"],
  [86_400, "yesterday"],
  [864_000, "10 days ago"],
])("%i seconds are %j", (seconds, text) =>
  expect(ageText(english, new Date(1e12 - seconds * 1000), 1e12)).toBe(text),
);
