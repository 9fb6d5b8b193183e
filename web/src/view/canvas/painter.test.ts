import { describe, expect, test } from "vitest";
import type { PageDocument } from "../../model/document.ts";
import { BLOCK_WIDTH, blockRects } from "../../model/geometry.ts";
import { checkedMessage, example, exampleTexts, graphWith } from "../../testing/fixtures.ts";
import type { Colours } from "./colours.ts";
import type { DrawContext } from "./draw-context.ts";
import { NO_EMPHASIS, Painter } from "./painter.ts";
import { Scene } from "./scene.ts";

interface Written {
  text: string;
  row: number;
  from: number;
  to: number;
  size: number;
}

/** A pen that remembers where texts stand. Its letters are wide, and those of Korean twice as wide. */
class Writer {
  readonly written: Written[] = [];
  font = "";
  textAlign = "left";
  measureText(text: string): { width: number } {
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1]);
    const letters = [...text].reduce((sum, letter) => sum + (letter > "\u1100" && letter !== "…" ? 2 : 1), 0);
    return { width: letters * size * 0.68 };
  }
  fillText(text: string, x: number, y: number): void {
    const { width } = this.measureText(text);
    const from = this.textAlign === "left" ? x : x - width;
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1]);
    this.written.push({ text, row: y, from, to: from + width, size });
  }
}

/** A painter that draws nothing but what a pen takes down. */
function painterWith(pen: object, zoom = 1): Painter {
  const all = new Proxy(pen, { get: (from, key) => Reflect.get(from, key) ?? (() => undefined) });
  return new Painter(all as unknown as DrawContext, { font: "sans", mono: "mono" } as Colours, zoom);
}

function written(page: PageDocument, pins = {}): Map<string, Written[]> {
  const scene = new Scene(graphWith(page, checkedMessage(pins)), blockRects(graphWith(page)));
  const live = { state: () => undefined, picture: () => undefined, slice: () => "", series: () => undefined };
  return new Map(
    [...scene.graph.blocks.values()].map((view) => {
      const writer = new Writer();
      painterWith(writer).block(scene, view, live, NO_EMPHASIS, "all");
      const left = scene.at(view.name).x;
      return [
        view.name,
        writer.written.map((each) => ({ ...each, from: each.from - left, to: each.to - left })),
      ];
    }),
  );
}

function touching(texts: readonly Written[]): string[] {
  const beyond = texts.filter(({ from, to }) => from < 0 || to > BLOCK_WIDTH).map(({ text }) => text);
  const pairs = texts.flatMap((a, place) =>
    texts
      .slice(place + 1)
      .filter((b) => a.row === b.row && a.from < b.to + 4 && b.from < a.to + 4)
      .map((b) => `${a.text} ${b.text}`),
  );
  return [...beyond, ...pairs];
}

describe("texts of far blocks", () => {
  test.each([...exampleTexts.keys()])("stand apart in %s", (name) => {
    for (const texts of written(example(name)).values()) expect(touching(texts)).toEqual([]);
  });

  test("stand apart with long names, long constants and long shapes", () => {
    const name = "구와_정육면체를_구별하는_신경망";
    const value = { dtype: "string", value: "w".repeat(10_000) };
    const page: PageDocument = {
      format: 1,
      blocks: {
        [name]: { op: "Const", attrs: { value } },
        WWWWWWWWWWWWWWWWWWWWWW: { op: "Conv2DBackpropInput", in: { input_sizes: [1000, 1000, 1000, 1000] } },
      },
    };
    const pins = { [`${name}:output`]: { dtype: "float32", shape: [1000, 1000, 1000, 1000, 1000, 1000] } };
    for (const texts of written(page, pins).values()) expect(touching(texts)).toEqual([]);
  });

  test("are whole where there is room", () => {
    const page: PageDocument = { format: 1, blocks: { pool: { op: "MaxPool3D" } } };
    expect(
      written(page)
        .get("pool")
        ?.map(({ text }) => text),
    ).toEqual(expect.arrayContaining(["pool", "MaxPool3D", "input", "output", "ksize"]));
  });

  test("get the room that a short op leaves", () => {
    const page: PageDocument = { format: 1, blocks: { a_name_of_some: { op: "Neg" } } };
    expect(written(page).get("a_name_of_some")?.[0]?.text).toBe("a_name_of_some");
  });

  test.each([0.45, 0.3, 0.2, 0.17])("leave their picture free at a zoom of %f", (zoom) => {
    const graph = graphWith({
      format: 1,
      blocks: { b: { op: "Const" }, backwards: { op: "Neg" }, pool: { op: "MaxPool3D" } },
    });
    const scene = new Scene(graph, blockRects(graph));
    for (const view of graph.blocks.values()) {
      const writer = new Writer();
      let top = Infinity;
      const drawImage = (_: unknown, __: number, y: number) => {
        top = y;
      };
      const live = {
        state: () => undefined,
        picture: () => ({ width: 4, height: 4 }) as HTMLCanvasElement,
        slice: () => "",
        series: () => undefined,
      };
      painterWith(Object.assign(writer, { drawImage }), zoom).block(scene, view, live, NO_EMPHASIS, "name");
      const [{ row, to }] = writer.written as [Written];
      expect(to).toBeLessThanOrEqual(scene.at(view.name).x + BLOCK_WIDTH);
      expect(row + 10 / zoom / 2).toBeLessThanOrEqual(top);
    }
  });

  test.each([0.45, 0.2, 0.12])("of boxes end inside of them at a zoom of %f", (zoom) => {
    const writer = new Writer();
    const rect = { x: 0, y: 0, width: 320, height: 200 };
    painterWith(writer, zoom).farBox({ kind: "monitors", name: "m", rect }, "Gradient of the filters", false);
    expect(writer.written[0]?.to).toBeLessThan(320);
  });

  test.each([0.5, 0.3])("are name and kind at a zoom of %f, at least 11 pixels high", (zoom) => {
    const graph = graphWith({ format: 1, blocks: { pool: { op: "MaxPool" }, Neg: { op: "Neg" } } });
    const scene = new Scene(graph, blockRects(graph));
    const live = {
      state: () => undefined,
      picture: () => undefined,
      slice: () => "",
      series: () => undefined,
    };
    const writer = new Writer();
    for (const view of graph.blocks.values())
      painterWith(writer, zoom).block(scene, view, live, NO_EMPHASIS, "name");
    expect(writer.written.map(({ text }) => text)).toEqual(["pool", "MaxPool", "Neg"]);
    for (const { size } of writer.written) expect(size * zoom).toBeGreaterThanOrEqual(11);
  });

  test.each([1, 0.5, 0.1])("of frames are whole and at least 11 pixels high at a zoom of %f", (zoom) => {
    const writer = new Writer();
    const rect = { x: 0, y: 0, width: 900, height: 400 };
    painterWith(writer, zoom).frameTitle({ kind: "frames", name: "f", rect }, "Forward pass");
    const [title] = writer.written;
    expect(title?.text).toBe("Forward pass");
    expect((title?.size ?? 0) * zoom).toBeGreaterThanOrEqual(11);
  });

  test("are whole in exports, in smaller letters", () => {
    const name = "a_name_that_is_far_too_long_for_a_block";
    const graph = graphWith({ format: 1, blocks: { [name]: { op: "Conv3DBackpropFilterV2" } } });
    const scene = new Scene(graph, blockRects(graph));
    const writer = new Writer();
    const live = {
      state: () => undefined,
      picture: () => undefined,
      slice: () => "",
      series: () => undefined,
    };
    const pen = new Proxy(writer, { get: (from, key) => Reflect.get(from, key) ?? (() => undefined) });
    const painter = new Painter(
      pen as unknown as DrawContext,
      { font: "sans", mono: "mono" } as Colours,
      1,
      true,
    );
    for (const view of graph.blocks.values()) painter.block(scene, view, live, NO_EMPHASIS, "all");
    const texts = writer.written.map(({ text }) => text);
    expect(texts).toEqual(expect.arrayContaining([name, "Conv3DBackpropFilterV2", "filter_sizes"]));
    for (const { to } of writer.written) expect(to).toBeLessThanOrEqual(BLOCK_WIDTH);
  });
});
