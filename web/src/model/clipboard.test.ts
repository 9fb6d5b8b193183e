import { describe, expect, test } from "vitest";
import { example, exampleTexts, graphWith, linePage, ops } from "../testing/fixtures.ts";
import { type Item, item, namesOf } from "./action.ts";
import { copyText, duplicate, extractClip, parseClip, paste, withLayout } from "./clipboard.ts";
import { apply, type PageDocument } from "./document.ts";
import { blockRects } from "./geometry.ts";

const places = blockRects(graphWith(linePage));

function pasted(into: PageDocument, clip: PageDocument, keepWires = false): PageDocument {
  return apply(into, paste(into, clip, { keepWires }).edits).document;
}

function blocks(...names: string[]): Item[] {
  return names.map((name) => item("block", name));
}

function everything(page: PageDocument): Item[] {
  return [
    ...blocks(...Object.keys(page.blocks ?? {})),
    ...(["frame", "note", "monitor"] as const).flatMap((kind) =>
      Object.keys(page[`${kind}s`] ?? {}).map((name) => item(kind, name)),
    ),
  ];
}

test("blocks of a page without places do not come to stand on each other", () => {
  const clip: PageDocument = { blocks: { a: { op: "Const" }, b: { op: "Neg", in: { x: "a:output" } } } };
  const { layout } = pasted({ blocks: {} }, withLayout(clip, ops));
  expect(layout?.blocks).toEqual({ a: [32, 32], b: [344, 40] });
});

test("a whole page copied into an empty one is the same page", () => {
  for (const name of exampleTexts.keys()) {
    const page = example(name);
    const text = copyText(page, everything(page), blockRects(graphWith(page)));
    const clip = parseClip(text) as PageDocument;
    const { document } = apply(
      { format: 1, blocks: {} },
      paste({ format: 1, blocks: {} }, clip, { at: { x: 0, y: 0 } }).edits,
    );
    for (const section of ["blocks", "frames", "notes", "monitors"] as const) {
      expect(JSON.stringify(document[section]), name).toBe(JSON.stringify(page[section]));
    }
  }
});

describe("copies", () => {
  test("have names of their own, and wires between them lead to the copies", () => {
    const document = pasted(linePage, extractClip(linePage, blocks("product", "guess"), places));
    expect(document.blocks?.product_2).toEqual({ op: "MatMul" });
    expect(document.blocks?.guess_2).toEqual({ op: "AddV2", in: { x: "product_2:product" } });
    expect(document.layout?.wires?.["guess_2:x"]).toEqual([[592, 112]]);
  });

  test("keep wires that come in, where that is wanted and the block is there", () => {
    const clip = extractClip(linePage, blocks("product", "learn_b"), places);
    expect(pasted(linePage, clip, true).blocks?.product_2?.in).toEqual({ a: "x:output", b: "w:ref" });
    expect(pasted(linePage, clip, true).blocks?.learn_b_2?.after).toEqual(["learn_w"]);
    expect(pasted({ format: 1, blocks: {} }, clip, true).blocks?.learn_b).toEqual({
      op: "ApplyGradientDescent",
      in: { alpha: 0.1 },
    });
  });

  test("of gradients mean the same although some of their xs were not copied", () => {
    const clip = extractClip(linePage, blocks("slope", "b", "learn_w", "learn_b"), places);
    const document = pasted({ format: 1, blocks: {} }, clip);
    expect(document.blocks?.slope?.in).toEqual({ xs: ["b:ref"] });
    expect(document.blocks?.learn_b?.in).toEqual({ var: "b:ref", alpha: 0.1, delta: "slope:dx[0]" });
    expect(document.blocks?.learn_w?.in).toEqual({ alpha: 0.1 });
  });

  test("stand beside what was copied, and the next ones beside those", () => {
    const clip = extractClip(linePage, blocks("x"), places);
    const once = pasted(linePage, clip);
    expect(once.layout?.blocks?.x_2).toEqual([32, 32]);
    expect(pasted(once, clip).layout?.blocks?.x_3).toEqual([64, 64]);
  });

  test("of a frame take its blocks along", () => {
    const { edits, added } = duplicate(linePage, ["frame/forward"], places);
    const { document } = apply(linePage, edits);
    expect(document.frames?.forward_2?.blocks).toEqual(["product_2", "guess_2", "error_2", "loss_2"]);
    expect(namesOf(added, "block")).toHaveLength(4);
  });

  test("of a monitor show the copies of what it showed", () => {
    const { document } = apply(linePage, duplicate(linePage, ["block/w", "monitor/curve"], places).edits);
    expect(document.monitors?.curve_2?.shows).toEqual([
      { pin: "loss:output" },
      { pin: "w_2:ref", element: [0, 0] },
    ]);
  });
});

test("floats without a type are still floats after copy and paste", () => {
  const page: PageDocument = { blocks: { n: { op: "Relu", in: { features: { $number: "1.0" } } } } };
  const text = copyText(page, blocks("n"), blockRects(graphWith(page)));
  expect(text).toContain('"features":1.0');
  expect(parseClip(text)?.blocks?.n).toEqual(page.blocks?.n);
});

test.each(["", "hello", "[1]", '{"blocks": 1}', '{"blocks": {"a": {"x": 1}}}', '{"blocks": {"a": null}}'])(
  "%j is no page",
  (text) => {
    expect(parseClip(text)).toBeUndefined();
  },
);
