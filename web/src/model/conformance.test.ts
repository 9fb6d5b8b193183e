/** The edits of tests/conformance, which tests/studio/test_edits.py runs on the server's side. */

import { describe, expect, test } from "vitest";
import byHand from "../../../tests/conformance/edits.json";
import random from "../../../tests/conformance/random_edits.json";
import { apply, diff, type Edit, EditError, type PageDocument } from "./document.ts";

interface Case {
  readonly name: string;
  readonly document: PageDocument;
  readonly edits: readonly Edit[];
  readonly result?: PageDocument;
  readonly inverse?: readonly Edit[];
  readonly refused?: string;
}

interface Diff {
  readonly name: string;
  readonly before: PageDocument;
  readonly after: PageDocument;
  readonly edits: readonly Edit[];
}

const files = { edits: byHand, random_edits: random } as unknown as Record<
  string,
  { edits: Case[]; diffs: Diff[] }
>;

/** With the order of keys, which counts. */
const text = JSON.stringify;

describe.each(Object.entries(files))("%s.json", (_, { edits, diffs }) => {
  test.each(edits)("$name", ({ document, edits, result, inverse, refused }) => {
    const before = text(document);
    if (refused !== undefined) {
      expect(() => apply(document, edits)).toThrow(new EditError(refused));
    } else {
      const applied = apply(document, edits);
      expect(text(applied.document)).toBe(text(result));
      expect(text(applied.inverse)).toBe(text(inverse));
      expect(text(apply(applied.document, applied.inverse).document)).toBe(before);
    }
    expect(text(document)).toBe(before);
  });

  test.each(diffs)("diff: $name", ({ before, after, edits }) => {
    expect(text(diff(before, after))).toBe(text(edits));
    expect(apply(before, edits).document).toEqual(after);
  });
});
