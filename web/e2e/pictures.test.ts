/** Pictures tell the truth, and everything is legible: what people see on a first visit, from far, and in exports. */

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Opened, open, restingBox } from "./harness.ts";

const constant = (value: unknown) => ({ op: "Const", attrs: { value: { dtype: "float32", value } } });
const NAME = "a_gradient_whose_name_is_far_longer_than_its_block_is_wide";
const zeros = [
  [0, 0],
  [0, 0],
];
const shapes = {
  format: 1,
  title: "shapes",
  blocks: {
    column: constant([[1], [2]]),
    product: { op: "Neg", in: { x: "column:output" } },
    images: constant([
      [
        [[0], [0]],
        [[0], [0]],
      ],
      zeros.map((row) => row.map((_, i) => [i + 1])),
    ]),
    pool: {
      op: "MaxPool",
      attrs: { ksize: [1, 1, 1, 1], strides: [1, 1, 1, 1], padding: "VALID" },
      in: { input: "images:output" },
    },
    wide: {
      op: "Fill",
      in: { dims: { dtype: "int32", value: [100, 70] }, value: { dtype: "float32", value: 3 } },
    },
    tiny: { op: "Mul", in: { x: "product:y", y: { dtype: "float32", value: 1e-6 } } },
    [NAME]: { op: "Neg", in: { x: "tiny:z" } },
  },
  monitors: {
    bars: { kind: "histogram", shows: [{ pin: "product:y" }] },
    said: { kind: "number", title: "On the page", shows: [{ pin: "product:y", label: "the_number_shown" }] },
  },
  layout: { monitors: { said: [0, 900, 320, 200] } },
};

/** The least size of letters on the screen among the texts of the canvas. */
const smallestText = (page: Page): Promise<[number, string]> =>
  page.evaluate(() => {
    const canvas = document.querySelector(".canvas") as HTMLElement;
    const walker = document.createTreeWalker(canvas, NodeFilter.SHOW_TEXT);
    let least: [number, string] = [Infinity, ""];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement as HTMLElement;
      const box = element.getBoundingClientRect();
      if (!node.textContent?.trim() || box.width === 0 || !element.checkVisibility()) continue;
      const zoomed = element.closest(".react-flow__viewport");
      const scale = zoomed ? new DOMMatrix(getComputedStyle(zoomed).transform).a : 1;
      const size = Number.parseFloat(getComputedStyle(element).fontSize) * scale;
      if (size < least[0]) least = [size, node.textContent];
    }
    return least;
  });

describe("on a first visit", () => {
  test.each([
    [1280, 800],
    [1440, 900],
    [1920, 1080],
  ])("at %i x %i the first lesson is legible, and its monitors stand in one place", async (width, height) => {
    const { page, end } = await open({ width, height, firstVisit: true });
    try {
      await page.locator(".card").first().click();
      await page.waitForSelector("#block-pool");
      await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
      const [size, text] = await smallestText(page);
      expect(size, text).toBeGreaterThanOrEqual(11);
      expect(await page.locator(".histogram").count()).toBe(2);
      const outside = await page.evaluate(() => {
        const canvas = document.querySelector(".canvas")?.getBoundingClientRect() as DOMRect;
        const blocks = [...document.querySelectorAll(".block")].map((each) => each.getBoundingClientRect());
        return blocks.filter((box) => box.right > canvas.right || box.bottom > canvas.bottom).length;
      });
      expect(outside).toBe(0);
    } finally {
      await end();
    }
  });
});

describe("a page without places of blocks", () => {
  let opened: Opened;
  let page: Page;

  beforeAll(async () => {
    opened = await open({
      prepare: ({ folder }) => writeFileSync(path.join(folder, "shapes.page.json"), JSON.stringify(shapes)),
    });
    page = opened.page;
    await page.locator(".file-list button", { hasText: "shapes" }).click();
    await page.locator(".statusbar", { hasText: "7 blocks" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
  });

  afterAll(async () => {
    expect(opened.errors).toEqual([]);
    await opened.end();
  });

  async function show(block: string): Promise<void> {
    await page.locator(".canvas").focus();
    await page.keyboard.press("Control+f");
    await page.keyboard.type(block);
    await page.keyboard.press("Enter");
    await page.keyboard.press("2");
    await page.waitForSelector(`[id="block-${block}"]`);
  }
  const picture = async (block: string) => {
    const image = page.locator(`[id="block-${block}"] .block-footer img`);
    await expect.poll(() => image.getAttribute("src")).toContain("image/png");
    return image.evaluate((each: HTMLImageElement) => [each.naturalWidth, each.naturalHeight]);
  };

  test("has a column as a column: in its block, in heatmap and table, and in Explain", async () => {
    await show("product");
    expect(await picture("product")).toEqual([1, 2]);
    await page.click("#tab-inspector");
    const map = page.locator(".tensor-map").first();
    await map.waitFor();
    await page.getByRole("button", { name: "Table", exact: true }).first().click();
    const grid = page.locator(".tensor-table");
    await grid.waitFor();
    expect(await grid.getAttribute("aria-rowcount")).toBe("3");
    expect(await grid.getAttribute("aria-colcount")).toBe("2");
    await page.getByRole("button", { name: "Heatmap", exact: true }).first().click();
    await page.locator(".canvas").focus();
    await page.keyboard.press("e");
    const maps = page.locator(".explain-tensor .tensor-map");
    await maps.first().waitFor();
    await maps.first().focus();
    // The first key moves to the first cell.
    for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.locator(".explain-status").textContent()).toContain("x[1,0]");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".canvas");
  });

  test("says which slice a picture shows, one that is not empty, and what its cells stand for", async () => {
    await show("pool");
    const footer = page.locator("#block-pool .block-footer");
    await expect.poll(() => footer.textContent()).toContain("[1,:,:,0]");
    expect(await picture("pool")).toEqual([2, 2]);
    await show("wide");
    await expect.poll(() => page.locator("#block-wide .block-footer").textContent()).toContain("max |4×3|");
    expect(await page.locator("#block-wide img").getAttribute("title")).toContain(
      "farthest from zero of 4×3",
    );
  });

  test("ends in view after Tidy", async () => {
    await page.locator(".canvas").focus();
    await page.keyboard.press("0");
    await page.keyboard.press("Shift+T");
    const inside = () =>
      page.evaluate(() => {
        const canvas = document.querySelector(".canvas")?.getBoundingClientRect() as DOMRect;
        const zoom = document.querySelector(".canvas-tools .zoom")?.textContent;
        const boxes = [...document.querySelectorAll(".block")].map((each) => each.getBoundingClientRect());
        const within = boxes.every((box) => box.left >= canvas.left && box.right <= canvas.right);
        return `${zoom !== "100%"} ${within}`;
      });
    await expect.poll(inside).toBe("true true");
    await page.keyboard.press("Control+z");
  });

  test("is exported with what its monitors show, and with whole names", async () => {
    await page.locator(".canvas").focus();
    await page.keyboard.press("Control+e");
    await page.waitForSelector("dialog[open]");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.locator("dialog[open]").getByRole("button", { name: /SVG/ }).click(),
    ]);
    const svg = readFileSync(await file.path(), "utf8");
    expect(svg).toContain(`>${NAME}<`);
    expect(svg).toContain(">the_number_shown[1][0]<");
    expect(svg).toContain(">[1,:,:,0]<");
    // The histogram of -1 and -2 has a bar for each.
    expect(svg).toContain(">-2<");
    await page.keyboard.press("Escape");
  });

  test("shows a notice on its own page only, on the status bar", async () => {
    await page.locator(".canvas").focus();
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "no page");
      document
        .querySelector(".canvas")
        ?.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
    });
    const toast = page.locator(".toast");
    await toast.waitFor();
    const [bar, box] = [await restingBox(page.locator(".statusbar")), await restingBox(toast)];
    expect(box.y).toBeGreaterThanOrEqual(bar.y - 1);
    await page.keyboard.press("Alt+n");
    await page.waitForFunction(() => document.querySelectorAll(".page-tab").length === 2);
    expect(await toast.count()).toBe(0);
    await page.locator(".page-tab", { hasText: "shapes" }).click();
  });

  test("shares a colour range only where ranges are alike, and says what it hides", async () => {
    await show("tiny");
    await page.locator(".canvas").focus();
    await page.keyboard.press("e");
    const box = page.getByRole("checkbox", { name: "One colour range in each row" });
    await box.waitFor();
    expect(await box.isChecked()).toBe(false);
    await box.check();
    expect(await page.locator(".explain-hidden").textContent()).toContain("tiny:z");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".canvas");
  });
});
