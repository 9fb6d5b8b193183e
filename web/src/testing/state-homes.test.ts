/** web/README.md names every module that holds state. */

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SOURCES = new URL("../", import.meta.url);
const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** A variable, store, mutable collection or instance at the top level of a module. Names in capitals are constants. */
const STATE =
  /^(?:let |(?:export )?const (?![A-Z_]+\b)\w+(?:: (?!Readonly|readonly)[^=]*)? = (?:create<|new (?!Marked)|\[\];|\{ current))/m;

function holders(): string[] {
  return readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && !/\.test\.tsx?$|^(testing|text)\//.test(path))
    .filter((path) => STATE.test(readFileSync(new URL(path, SOURCES), "utf8")))
    .sort();
}

test("every module with state at its top level is in the README", () => {
  const found = holders();
  expect(found).toContain("state/studio-state.ts");
  expect(found.length).toBeGreaterThan(12);
  expect(found.filter((path) => !README.includes(`\`${path}\``))).toEqual([]);
});
