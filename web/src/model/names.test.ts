import { expect, test } from "vitest";
import { pagePath } from "./names.ts";

test.each([
  ["mine", "mine.page.json"],
  [" parts/mine ", "parts/mine.page.json"],
  ["mine.page.json", "mine.page.json"],
  ["mine.page", "mine.page.json"],
  ["mine.json", "mine.page.json"],
  ["a.b", "a.b.page.json"],
  ["", undefined],
  [".page.json", undefined],
  ["/etc/mine", undefined],
  ["../mine", undefined],
  ["a//b", undefined],
  ["a\\b", undefined],
])("%j is the page %s", (typed, path) => expect(pagePath(typed)).toBe(path));
