/** Keys do what people expect, everywhere: in fields, on the canvas, and where nothing fits. */

import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { copiedText, newPage, type Opened, open, writeWithMonitorsInPanel } from "./harness.ts";

let opened: Opened;
let page: Page;

beforeAll(async () => {
  opened = await open({
    width: 1280,
    height: 800,
    prepare: ({ folder }) => writeWithMonitorsInPanel(folder, "linear_regression"),
  });
  page = opened.page;
  await page.waitForSelector(".card");
});
afterAll(async () => {
  await opened?.end();
});
afterEach(() => {
  expect(opened.errors.splice(0)).toEqual([]);
});

async function picture(name: string): Promise<void> {
  if (process.env.PICTURES) await page.screenshot({ path: path.join(process.env.PICTURES, `${name}.png`) });
}

interface Blocks {
  [name: string]: { op: string; attrs?: Record<string, unknown>; in?: Record<string, unknown> };
}

async function blocks(): Promise<Blocks> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+a");
  return JSON.parse(await copiedText(page)).blocks;
}

const field = (name: string) => page.locator("#right").getByRole("textbox", { name, exact: true });
const isCanvasFocused = () => page.evaluate(() => document.activeElement?.classList.contains("canvas"));

const POOL = {
  image: {
    op: "Const",
    attrs: {
      value: {
        dtype: "float32",
        value: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
      },
    },
  },
  pool: {
    op: "MaxPool",
    in: { input: "image:output" },
    attrs: { ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "VALID" },
  },
};

async function poolPage(): Promise<void> {
  await newPage(page, POOL, { layout: { blocks: { image: [0, 0], pool: [320, 0] } } });
  await page.click("#block-pool .block-title");
}

test("Ctrl+Z in a field undoes what was typed, and then the last change of the page", async () => {
  await poolPage();
  const box = field("ksize H");
  await box.click();
  await page.keyboard.type("3");
  await page.keyboard.press("Enter");
  await expect.poll(() => box.inputValue()).toBe("3");
  await box.focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("77");
  expect(await box.inputValue()).toBe("77");
  while ((await box.inputValue()) !== "3") await page.keyboard.press("Control+z"); // the field's own
  expect(await box.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("Control+z");
  await expect.poll(() => box.inputValue()).toBe("2");
  expect(await box.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("Escape");
  expect((await blocks()).pool?.attrs?.ksize).toEqual([1, 2, 2, 1]);
});

test("Ctrl+Z undoes the page from a choice and from a check, which have nothing to undo", async () => {
  await poolPage();
  const padding = page.locator("#right").getByRole("combobox", { name: "padding" });
  await padding.selectOption("SAME");
  await padding.focus();
  await page.keyboard.press("Control+z");
  await expect.poll(() => padding.inputValue()).toBe("VALID");
  await page.keyboard.press("Control+Shift+z");
  await expect.poll(() => padding.inputValue()).toBe("SAME");
});

test("Escape leaves a field at once, and takes back what was typed in it", async () => {
  await poolPage();
  await field("ksize H").click();
  await page.keyboard.type("9");
  await page.keyboard.press("Escape");
  expect(await isCanvasFocused()).toBe(true);
  expect((await blocks()).pool?.attrs?.ksize).toEqual([1, 2, 2, 1]);
  // In a block, too.
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  await page.keyboard.press("0");
  await page.click("#block-pool .block-title");
  const inside = page.locator("#block-pool input").first();
  await inside.click();
  expect(await isCanvasFocused()).toBe(false);
  await page.keyboard.press("Escape");
  expect(await isCanvasFocused()).toBe(true);
});

test("F6 runs from a field, too", async () => {
  await poolPage();
  await field("ksize H").click();
  await page.keyboard.press("F6");
  await page.waitForFunction(() => /Done/.test(document.querySelector(".run-state")?.textContent ?? ""));
});

test("C with nothing to connect to offers blocks that fit, and connects the one that is chosen", async () => {
  await newPage(page, { image: POOL.image });
  await page.click("#block-image .block-title");
  await page.keyboard.press("c");
  await page.waitForSelector(".search");
  expect(await page.textContent(".search-about")).toContain("image");
  await page.keyboard.type("square");
  await page.locator(".search [role=option]").first().waitFor();
  await picture("fitting");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#block-square");
  expect((await blocks()).square?.in).toEqual({ x: "image:output" });
  // With something to connect to, a new block is the last choice: here by mouse.
  await page.keyboard.press("Escape");
  await page.click("#block-image .block-title");
  await page.keyboard.press("c");
  await page.waitForSelector("dialog[open] [role=listbox]");
  await page.locator("dialog[open] [role=option]").last().click();
  await page.waitForSelector(".search");
  await page.keyboard.type("neg");
  await page.locator(".search [role=option]", { hasText: "Neg" }).first().click();
  await page.waitForSelector("#block-neg");
  expect((await blocks()).neg?.in).toEqual({ x: "image:output" });
});

test("the trend's legend follows the pointer and the arrow keys", async () => {
  await page.keyboard.press("Alt+g");
  await page.locator(".file-list button", { hasText: "in_panel" }).click();
  await page.waitForSelector(".canvas");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(
    () => /Done/.test(document.querySelector(".run-state")?.textContent ?? ""),
    undefined,
    { timeout: 120_000 },
  );
  await page.click("#tab-monitors");
  const trend = page.locator("#bottom .trend-box").first();
  const legend = () => trend.locator(".keys").textContent();
  const last = await legend();
  expect(last).not.toContain("step");
  const chart = trend.locator(".u-over");
  const box = (await chart.boundingBox()) as { x: number; y: number; width: number; height: number };
  await page.mouse.move(box.x + 4, box.y + box.height / 2);
  await expect.poll(legend).toMatch(/^step [1-9]\d? ?/);
  const first = await legend();
  expect(first).not.toBe(last);
  await picture("trend");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await expect.poll(legend).not.toBe(first);
  await page.mouse.move(box.x - 60, box.y - 60);
  await expect.poll(legend).toBe(last);
  await trend.locator(".trend").focus();
  await page.keyboard.press("Home");
  await expect.poll(legend).toContain("step 1");
  const start = await legend();
  await page.keyboard.press("ArrowRight");
  await expect.poll(legend).not.toBe(start);
});

test.each(["1x4x4x4x1", "(1, 4, 4, 4, 1)", "[1,4,4,4,1]", "1 4 4 4 1"])(
  "a shape can be typed as %s",
  async (typed) => {
    await newPage(page, {
      volume: { op: "Const", attrs: { value: { dtype: "float32", value: 0 } } },
      input: { op: "Placeholder", attrs: { dtype: "float32" } },
      fill: { op: "Fill", in: { dims: [2], value: 1.5 } },
      pool: { op: "MaxPool3D", attrs: { ksize: [1, 2, 2, 2, 1], strides: [1, 2, 2, 2, 1], padding: "SAME" } },
    });
    const type = async (block: string, name: string) => {
      await page.keyboard.press("1");
      await page.click(`#block-${block} .block-title`);
      await field(name).first().click();
      await page.keyboard.press("Control+a");
      await page.keyboard.type(typed);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Escape");
    };
    await type("volume", "Shape");
    await type("input", "shape");
    await type("fill", "As text");
    await type("pool", "ksize D");
    const made = await blocks();
    const shape = [1, 4, 4, 4, 1];
    const constant = made.volume?.attrs?.value as { value?: unknown[][][] } | undefined;
    const value = constant?.value ?? [];
    expect([value.length, value[0]?.length, value[0]?.[0]?.length]).toEqual([1, 4, 4]);
    expect(made.input?.attrs?.shape).toEqual(shape);
    expect(made.fill?.in?.dims).toEqual(shape);
    expect(made.pool?.attrs?.ksize).toEqual(shape);
  },
);
