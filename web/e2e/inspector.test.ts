/** The inspector: what blocks hold, by mouse and by keyboard alone, against the library's own numbers. */

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { inEveryTheme } from "./axe.ts";
import { library, type Opened, open } from "./harness.ts";

const WINDOWS = { ksize: [1, 2, 2, 2, 1], strides: [1, 2, 2, 2, 1], padding: "VALID" };
const VOLUME = [1, 4, 4, 4, 2];

/** Numbers of both signs, from a fixed order. */
function numbers(shape: readonly number[], from = { place: 0 }): unknown {
  const [size, ...rest] = shape;
  if (size === undefined) return ((from.place++ * 37) % 101) - 50;
  return Array.from({ length: size }, () => numbers(rest, from));
}

const PAGE = {
  format: 1,
  title: "inspected",
  blocks: {
    volume: { op: "Const", attrs: { value: { dtype: "float32", value: numbers(VOLUME) } } },
    max: { op: "MaxPool3D", attrs: WINDOWS, in: { input: "volume:output" } },
    mean: { op: "AvgPool3D", attrs: WINDOWS, in: { input: "volume:output" } },
    log: { op: "Log", in: { x: "mean:output" } },
    twice: { op: "Add", in: { x: "log:y", y: "log:y" } },
    matrix: { op: "Const", attrs: { value: { dtype: "float32", value: numbers([3, 3]) } } },
    square: { op: "Square", in: { x: "matrix:output" } },
    count: { op: "Range", in: { start: 0, limit: 1_000_000, delta: 1 } },
    big: { op: "Reshape", in: { tensor: "count:output", shape: { dtype: "int32", value: [1000, 1000] } } },
  },
  layout: {
    blocks: {
      volume: [0, 0],
      max: [320, 0],
      mean: [320, 240],
      log: [640, 240],
      twice: [960, 240],
      matrix: [640, 0],
      square: [960, 0],
      count: [0, 480],
      big: [320, 480],
    },
  },
};

const LIBRARY = `
import json, numpy as np
from backblocks import raw_ops as ops
page = json.loads(${JSON.stringify(JSON.stringify(PAGE))})
x = np.array(page["blocks"]["volume"]["attrs"]["value"]["value"], np.float32)
how = page["blocks"]["max"]["attrs"]
a, b = (np.asarray(op(input=x, **how)) for op in (ops.MaxPool3D, ops.AvgPool3D))
with np.errstate(all="ignore"):
    log = np.log(b)
print(json.dumps(dict(
    high=float(a.max()), low=float(a.min()), mean=float(a.mean()), first=float(a.ravel()[0]),
    differ=int((a != b).sum()), worst=[int(i) for i in np.unravel_index(np.abs(a - b).argmax(), a.shape)],
    bad=[int(i) for i in np.argwhere(~np.isfinite(log))[0]], nans=int(np.isnan(log).sum()),
)))
`;

interface Expected {
  high: number;
  low: number;
  mean: number;
  first: number;
  differ: number;
  worst: number[];
  bad: number[];
  nans: number;
}

let opened: Opened;
let page: Page;
let expected: Expected;

beforeAll(async () => {
  opened = await open({
    prepare: ({ folder }) => writeFileSync(path.join(folder, "inspected.page.json"), JSON.stringify(PAGE)),
  });
  page = opened.page;
  await opened.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  expected = library(LIBRARY) as Expected;
  await page.locator(".file-list button", { hasText: "inspected" }).click();
  await page.waitForSelector("#block-big");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
  await page.click("#tab-inspector");
});
afterAll(async () => {
  await opened?.end();
});
afterEach(() => {
  expect(opened.errors.splice(0)).toEqual([]);
});

const line = (): Locator => page.locator(".cell-line [role=status]").first();

async function select(block: string): Promise<void> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+f");
  await page.keyboard.type(block);
  await page.keyboard.press("Enter");
  await page.waitForSelector(`.pane[aria-label^="${block}:"] .pane-body`);
  await page.waitForTimeout(250);
}

async function show(way: "Map" | "Table" | "List"): Promise<void> {
  await page.getByRole("button", { name: way, exact: true }).first().click();
}

async function statistic(name: string): Promise<number> {
  const found = page.locator(".statistics div", { has: page.locator(`dt:text-is("${name}")`) }).first();
  return Number((await found.locator("dd").textContent())?.replaceAll(",", ""));
}

/** The middle of a cell of the first map, by its place from the corner. */
async function cellAt(x: number, y: number): Promise<{ x: number; y: number }> {
  const box = (await page.locator(".tensor-map").first().boundingBox()) as { x: number; y: number };
  return { x: box.x + x, y: box.y + y };
}

async function constant(): Promise<number[]> {
  await show("List");
  await page.waitForSelector(".element-table input");
  return page
    .locator(".element-table input")
    .evaluateAll((fields) => fields.map((field) => Number((field as HTMLInputElement).value)));
}

const undo = async (): Promise<void> => {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+z");
  await page.waitForTimeout(150);
};

describe("by mouse", () => {
  beforeEach(async () => {
    await select("max");
    await show("Map");
  });

  test("the statistics are the library's, and axes are named from the data format", async () => {
    expect(await statistic("Max")).toBeCloseTo(expected.high);
    expect(await statistic("Min")).toBeCloseTo(expected.low);
    expect(await statistic("Mean")).toBeCloseTo(expected.mean, 2);
    const wells = await page.locator(".well").allTextContents();
    expect(wells.map((text) => text.replace(/ \d+$/, ""))).toEqual([
      "RowsH",
      "ColumnsW",
      "Tiles acrossD",
      "Tiles downC",
      "SlidersN",
    ]);
  });

  test("a cell that is pointed at is said with its number", async () => {
    const { x, y } = await cellAt(14, 30);
    await page.mouse.move(x, y);
    await expect.poll(() => line().textContent()).toBe(`max:output[0, 0, 0, 0, 0] = ${expected.first}`);
  });

  test("the map is drawn in colours, and a cell has its number", async () => {
    const colours = await page
      .locator(".tensor-map canvas")
      .first()
      .evaluate((canvas: HTMLCanvasElement) => {
        const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(
          0,
          0,
          canvas.width,
          canvas.height,
        );
        return new Set(new Uint32Array(data.buffer)).size;
      });
    expect(colours).toBeGreaterThan(8);
  });

  test("an axis is dragged from one well to another, and the one there takes its place", async () => {
    const box = async (selector: string) =>
      (await page.locator(selector).first().boundingBox()) as { x: number; y: number };
    const from = await box('[data-well="across"] .axis-chip');
    const to = await box('[data-well="rows"]');
    await page.mouse.move(from.x + 8, from.y + 8);
    await page.mouse.down();
    await page.mouse.move(to.x + 10, to.y + 10, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => page.locator('[data-well="rows"]').textContent()).toBe("RowsD 2");
    expect(await page.locator('[data-well="across"]').textContent()).toBe("Tiles acrossH 2");
  });

  test("the next bad cell is found, and the block that made it first", async () => {
    await select("twice");
    expect(await statistic("NaN")).toBe(expected.nans);
    await page.getByRole("button", { name: "Next bad cell" }).click();
    await expect.poll(() => line().textContent()).toContain(`twice:z[${expected.bad.join(", ")}] = nan`);
    await page.getByRole("button", { name: /^First in log:y/ }).click();
    await page.waitForSelector('.pane[aria-label="log:y"]');
  });

  test("two tensors stand side by side with the same colours, and one is kept", async () => {
    await page.getByRole("button", { name: /^Keep it here/ }).click();
    await select("mean");
    expect(await page.locator(".pane").count()).toBe(2);
    const ends = await page.locator(".histogram-ends").allTextContents();
    expect(ends[0]).toBe(ends[1]);
    await page.getByRole("button", { name: /^Same colours/ }).click();
    await expect
      .poll(async () => new Set(await page.locator(".histogram-ends").allTextContents()).size)
      .toBe(2);
    await page.getByRole("button", { name: /^Same colours/ }).click();
    await page.getByRole("button", { name: "Let it go" }).click();
  });

  test("of four side by side, the one of the selection is in sight", async () => {
    for (const block of ["max", "mean", "log"]) {
      await select(block);
      await page
        .locator(`.pane[aria-label^="${block}:"]`)
        .getByRole("button", { name: /^Keep it here/ })
        .click();
    }
    const whole = (block: string) =>
      page.locator(`.pane[aria-label^="${block}:"]`).evaluate((pane) => {
        const [inner, outer] = [pane, pane.parentElement as Element].map((each) =>
          each.getBoundingClientRect(),
        );
        return inner && outer && inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
      });
    for (const block of ["twice", "max", "square"]) {
      await select(block);
      expect(await whole(block), block).toBe(true);
    }
    expect(await page.locator(".pane").count()).toBe(4);
    while (await page.getByRole("button", { name: "Let it go" }).count())
      await page.getByRole("button", { name: "Let it go" }).first().click();
  });

  test("A and B are compared: how many cells differ, and where most", async () => {
    await page.getByRole("button", { name: /^Take it as A/ }).click();
    await select("mean");
    await page.getByRole("button", { name: /^Take it as B/ }).click();
    const compared = page.locator(".pane.compares");
    await compared.waitFor();
    await expect
      .poll(() => compared.locator(".worst p").textContent())
      .toBe(expected.differ === 0 ? "All cells are equal." : `${expected.differ} cells differ`);
    expect(await compared.locator(".worst li").count()).toBe(Math.min(10, expected.differ));
    await compared.locator(".worst li button").first().click();
    await expect
      .poll(() => compared.locator(".cell-line [role=status]").textContent())
      .toContain(`[${expected.worst.join(", ")}]`);
    for (const by of ["relative", "ulp"]) {
      await compared.locator("select").first().selectOption(by);
      await page.waitForTimeout(300);
      expect(await compared.locator(".worst li").count()).toBeGreaterThan(0);
    }
    await inEveryTheme(page);
    await page.getByRole("button", { name: "End the comparison" }).click();
  });

  test("it is copied as NumPy and as CSV, and downloaded", async () => {
    const choose = async (name: string) => {
      await page.getByRole("button", { name: "Copy and download" }).click();
      await page.locator(".menu-item", { hasText: name }).click();
    };
    await choose("Copy as NumPy");
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toMatch(/^np\.array\(\[\[\[\[\[/);
    const text = await page.evaluate(() => navigator.clipboard.readText());
    expect(library(`import json, numpy as np; print(json.dumps(float((${text}).max())))`)).toBeCloseTo(
      expected.high,
    );
    await choose("Copy slice as CSV");
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toMatch(new RegExp(`^${expected.first},`));
    const [download] = await Promise.all([page.waitForEvent("download"), choose("Download npy")]);
    expect(
      readFileSync(await download.path())
        .subarray(1, 6)
        .toString(),
    ).toBe("NUMPY");
  });

  test("the handles of the histogram say which numbers have colours", async () => {
    const handle = page.getByRole("slider", { name: "Last number with a colour" });
    const box = (await handle.boundingBox()) as { x: number; y: number; height: number };
    await page.mouse.move(box.x + 12, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x - 60, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    expect(Number(await handle.getAttribute("aria-valuenow"))).toBeLessThan(expected.high);
    await page.locator(".range-mode select").selectOption("all");
    await expect
      .poll(() => handle.getAttribute("aria-valuenow"))
      .toBe(String(await handle.getAttribute("aria-valuemax")));
  });

  test("it is docked at the right and back again", async () => {
    await page.getByRole("button", { name: "Dock at the right" }).click();
    await page.waitForSelector("#right .tensor-map");
    await page.getByRole("button", { name: "Dock below" }).click();
    await page.waitForSelector("#bottom .tensor-map");
  });
});

describe("a constant", () => {
  beforeEach(() => select("matrix"));

  test("takes a block of a spreadsheet in one step, and what depends on it is computed anew", async () => {
    const before = await constant();
    await show("Table");
    await page.locator("[role=gridcell]").first().click();
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "10\t20\n30\t40\n");
      document
        .querySelector("[role=grid]")
        ?.dispatchEvent(
          new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
        );
    });
    const after = await constant();
    expect(after).toEqual([10, 20, before[2], 30, 40, ...before.slice(5)]);
    await select("square");
    await show("Table");
    await expect.poll(() => page.locator("[role=gridcell]").first().textContent()).toBe("100");
    await undo();
    await select("matrix");
    expect(await constant()).toEqual(before);
  });

  test("is painted in one step", async () => {
    const before = await constant();
    await show("Map");
    await page.getByRole("button", { name: "Paint", exact: true }).click();
    const [from, to] = [await cellAt(16, 16), await cellAt(150, 16)];
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 12 });
    await page.mouse.up();
    await page.getByRole("button", { name: "Paint", exact: true }).click();
    expect(await constant()).toEqual([1, 1, 1, ...before.slice(3)]);
    await undo();
    expect(await constant()).toEqual(before);
  });

  test("is filled by rules; a seed gives the same numbers again", async () => {
    const before = await constant();
    const fill = async (name: string) => {
      await page.locator(".edit-bar").getByRole("button", { name, exact: true }).click();
      return constant();
    };
    expect(await fill("1, 2, 3…")).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect((await fill("One-hot")).reduce((sum, each) => sum + each, 0)).toBe(1);
    const random = await fill("Random");
    const seed = page.locator(".edit-bar").getByRole("textbox", { name: "Seed" });
    await seed.fill("7");
    await seed.press("Enter");
    expect(await fill("Random")).not.toEqual(random);
    await seed.fill("0");
    await seed.press("Enter");
    expect(await fill("Random")).toEqual(random);
    expect(new Set(await fill("Ties")).size).toBeLessThanOrEqual(2);
    for (let i = 0; i < 6; i++) await undo();
    expect(await constant()).toEqual(before);
  });
});

describe("by keyboard alone", () => {
  test("cells, slices and axes are reached, and what is heard names them", async () => {
    await select("max");
    await page.keyboard.press("Alt+5");
    await tabTo(/^Map$/);
    await page.keyboard.press("Enter");
    await tabTo(/^Map of max:output/);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => line().textContent()).toMatch(/^max:output\[0, 0, 0, 1, 0\] = -?[\d.]+$/);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => line().textContent()).toMatch(/^max:output\[0, 1, 0, 0, 0\]/);
    await page.keyboard.press("PageUp");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => line().textContent()).toMatch(/^max:output\[0, 0, 1, 1, 0\]/);
    await page.keyboard.press("Enter");
    await tabTo(/^H 2: axis/, "Shift+Tab");
    const before = await page.locator('[data-well="rows"]').textContent();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.locator('[data-well="columns"]').textContent()).toContain("H");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => page.locator('[data-well="rows"]').textContent()).toBe(before);
    // The first Escape lets go of the cell that Enter kept, the second leads back to the canvas.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.classList.contains("canvas"));
  });

  test("N finds what is no number", async () => {
    await select("log");
    await page.keyboard.press("Alt+5");
    await tabTo(/^Map of log:y/);
    await page.keyboard.press("n");
    await expect.poll(() => line().textContent()).toMatch(/^log:y\[.+\] = nan$/);
  });

  test("a number is typed into the table", async () => {
    await select("matrix");
    await page.keyboard.press("Alt+5");
    await tabTo(/^Table$/);
    await page.keyboard.press("Enter");
    await tabTo(/^Table of the slice of matrix:output/);
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.type("12.5");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("[role=gridcell]").nth(1).textContent()).toBe("12.5");
    expect(await page.locator("[role=gridcell][aria-selected=true]").getAttribute("id")).toMatch(/-1-1$/);
    await undo();
  });
});

test("a tensor of a million cells moves less than a megabyte, also while one moves in it", async () => {
  await select("matrix");
  await show("Map");
  const session = await opened.context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.webSocketFrameReceived", ({ response }) => {
    bytes += response.opcode === 2 ? (response.payloadData.length * 3) / 4 : response.payloadData.length;
  });
  await select("big");
  await page.waitForTimeout(800);
  expect(bytes).toBeLessThan(1_000_000);
  expect(await statistic("Max")).toBe(999_999);
  await page.getByRole("button", { name: "Larger cells" }).click();
  await page.getByRole("button", { name: "Larger cells" }).click();
  await page.locator(".tensor-map").focus();
  await page.keyboard.press("Control+End");
  await expect.poll(() => line().textContent()).toBe("big:output[999, 999] = 999999");
  expect(bytes).toBeLessThan(1_500_000);
  await session.detach();
});

describe("axe finds nothing serious", () => {
  test.each(["Map", "Table", "List"] as const)("in the %s of a value and of a constant", async (way) => {
    await select("max");
    await show(way);
    await page.waitForTimeout(200);
    await inEveryTheme(page);
    await select(way === "List" ? "max" : "volume");
    await inEveryTheme(page);
    await show("Map");
  });
});

/** Tab until the focus is on what has this name. */
async function tabTo(name: RegExp, key = "Tab"): Promise<void> {
  for (let i = 0; i < 80; i++) {
    const label = await page.evaluate(
      () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent,
    );
    if (name.test(label ?? "")) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} never came to ${name}`);
}
