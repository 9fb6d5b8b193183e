import { expect, test } from "vitest";
import { pageTitle } from "./page-title.ts";

const block = (op: string) => ({ op });

test("a page is called by its title, in the language if it has one", () => {
  const document = { title: "Pools", titles: { ko: "풀링" }, blocks: { a: block("MaxPool") } };
  expect(pageTitle(document, "en")).toBe("Pools");
  expect(pageTitle(document, "ko")).toBe("풀링");
});

test("without a title it is called by its ops, the telling ones first named once each", () => {
  const blocks = { a: block("Const"), b: block("MaxPool"), c: block("MaxPool"), d: block("MaxPoolGrad") };
  expect(pageTitle({ blocks }, "en")).toBe("MaxPool, MaxPoolGrad");
  const more = { ...blocks, e: block("Neg"), f: block("Abs"), g: block("Exp") };
  expect(pageTitle({ blocks: more }, "en")).toBe("MaxPool, MaxPoolGrad, Neg, +2");
  expect(pageTitle({ blocks: { a: block("Const") } }, "en")).toBe("Const");
});

test("without blocks it is called by its first note, and an empty page by nothing", () => {
  const notes = { n: { text: "# Why pools\nThey shrink." } };
  expect(pageTitle({ blocks: {}, notes }, "en")).toBe("Why pools");
  expect(pageTitle({ notes: { n: { text: "x".repeat(99) } } }, "en")).toHaveLength(61);
  expect(pageTitle({ blocks: {} }, "en")).toBe("");
});
