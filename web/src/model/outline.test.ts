import { expect, test } from "vitest";
import { checkedMessage, graphWith, linePage, linePageChecked } from "../testing/fixtures.ts";
import { en } from "../text/en.ts";
import { ko } from "../text/ko.ts";
import * as actions from "./actions.ts";
import { apply, type PageDocument } from "./document.ts";
import { type OutlineNode, outline } from "./outline.ts";

function lines(nodes: readonly OutlineNode[], depth = 0): string[] {
  return nodes.flatMap((node) => [`${"  ".repeat(depth)}${node.text}`, ...lines(node.children, depth + 1)]);
}

test("the outline reads like the page", () => {
  const text = lines(outline(graphWith(linePage, linePageChecked), en));
  expect(text.slice(0, 9)).toEqual([
    "Forward",
    "  product",
    "    a from x:output",
    "    b from w:ref",
    "    gives product: float32 [3, 1]",
    "  guess",
    "    x from product:product",
    "    y from b:ref",
    "    gives z: float32 [3, 1]",
  ]);
  expect(text).toContain("Blocks without a frame");
  expect(text).toContain("    initial = [[0]]");
  expect(text).toContain("  A line through points.");
});

test("every block, note and monitor stands in it once", () => {
  const items = (nodes: readonly OutlineNode[]): string[] =>
    nodes.flatMap((node) => [
      ...(["block", "note", "monitor"].includes(node.kind) ? [node.id] : []),
      ...items(node.children),
    ]);
  const found = items(outline(graphWith(linePage), en));
  expect(found).toHaveLength(13);
  expect(new Set(found).size).toBe(13);
});

test("problems are counted where they are and above", () => {
  const checked = checkedMessage({}, { problems: [{ text: "a must be 2-D", block: "product", arg: "a" }] });
  const [frame] = outline(graphWith(linePage, checked), ko);
  expect(frame?.problems).toBe(1);
  expect(frame?.children.map((node) => node.problems)).toEqual([1, 0, 0, 0]);
});

test("what is missing is said", () => {
  const text = lines(outline(graphWith({ blocks: { pool: { op: "MaxPool3D" } } }), en));
  expect(text.slice(0, 3)).toEqual(["pool", "  input is missing", "  ksize is missing"]);
});

test("titles and notes are in the language of the reader, and written in it where they are there", () => {
  const page: PageDocument = {
    title: "Line",
    titles: { ko: "직선" },
    frames: { f: { title: "Forward", titles: { ko: "순방향" } } },
    notes: { n: { text: "A note", texts: { ko: "메모" } } },
    monitors: { m: { kind: "number", title: "Loss" } },
  };
  const texts = (language: string) =>
    lines(outline(graphWith(page), en, language)).map((each) => each.trim());
  expect(texts("en")).toEqual(expect.arrayContaining(["Forward", "A note", "Loss"]));
  expect(texts("ko")).toEqual(expect.arrayContaining(["순방향", "메모", "Loss"]));
  const edits = [
    ...actions.setTitle(page, "title", "선", "ko").edits,
    ...actions.setFrame(page, "f", { title: "앞으로" }, "ko").edits,
    ...actions.titleMonitor(page, "m", "손실", "ko").edits,
  ];
  expect(apply(page, edits).document).toMatchObject({
    title: "Line",
    titles: { ko: "선" },
    frames: { f: { title: "Forward", titles: { ko: "앞으로" } } },
    monitors: { m: { title: "손실" } },
  });
});
