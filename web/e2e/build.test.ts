/** From an empty page to the second gradient of MaxPool3D: by mouse, and by keyboard alone. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { library, listedValues, type Opened, open, restingBox } from "./harness.ts";

const CODE = `
import json, numpy as np
from backblocks import raw_ops as ops
x = np.arange(1, 17, dtype=np.float32).reshape(1, 2, 2, 2, 2)
how = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID")
y = ops.MaxPool3D(input=x, **how)
dx = ops.MaxPool3DGrad(orig_input=x, orig_output=y, grad=np.ones_like(y), **how)
ddy = ops.MaxPool3DGradGrad(orig_input=x, orig_output=y, grad=np.ones_like(dx), **how)
print(json.dumps([np.asarray(a).ravel().tolist() for a in (y, dx, ddy)]))
`;

let opened: Opened;
let expected: number[][];

beforeAll(async () => {
  opened = await open();
  expected = (await library(CODE)) as number[][];
});
afterAll(async () => {
  await opened?.end();
});

async function values(page: Page, block: string): Promise<number[]> {
  await page.keyboard.press("Control+f");
  await page.keyboard.type(block);
  await page.keyboard.press("Enter");
  await page.click("#tab-inspector");
  const pane = page.locator(`.pane[aria-label^="${block}:"]`);
  await pane.getByRole("button", { name: "List", exact: true }).click();
  await pane.locator(".element-table td").first().waitFor();
  return Object.values(await listedValues(page)).map(Number);
}

async function compare(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
  for (const [i, block] of ["max_pool_3d", "d_max_pool_3d", "d2_max_pool_3d"].entries()) {
    await page.focus(".canvas");
    await expect.poll(() => values(page, block), { message: block }).toEqual(expected[i]);
  }
}

test("MaxPool3D, its gradient and its second gradient are built by mouse and give the library's numbers", async () => {
  const { page, errors } = opened;
  await page.getByRole("button", { name: "New page" }).click();
  const canvas = page.locator(".canvas");
  await canvas.waitFor();
  const box = await restingBox(canvas);
  await page.mouse.dblclick(box.x + 120, box.y + 160);
  await page.locator(".search input").fill("const");
  await page.locator(".search [role=option]", { hasText: "Const" }).first().click();
  await page.locator('[data-field="value"] input[aria-label="Shape"]').fill("1, 2, 2, 2, 2");
  await page.locator('[data-field="value"] input[aria-label="Shape"]').press("Enter");
  await page.locator('[data-field="value"] button', { hasText: "1, 2, 3" }).click();
  const pin = await restingBox(page.locator("#block-const .pin.out"));
  await page.mouse.move(pin.x + 5, pin.y + 5);
  await page.mouse.down();
  await page.mouse.move(pin.x + 120, pin.y + 20, { steps: 4 });
  await page.mouse.up();
  await page.locator(".search input").fill("maxpool3d");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#block-max_pool_3d");
  await setWindows(page, (field, axis, value) =>
    page.locator(`[data-field="${field}"] input[aria-label="${field} ${axis}"]`).fill(value),
  );
  await page.locator('[data-field="padding"] select').selectOption("VALID");
  await page.getByRole("button", { name: "Add gradient block" }).click();
  await page.waitForSelector("#block-d_max_pool_3d");
  await page.getByRole("button", { name: "Add gradient block" }).click();
  await page.waitForSelector("#block-d2_max_pool_3d");
  await page.getByRole("button", { name: "Run once" }).click();
  await compare(page);
  expect(errors).toEqual([]);
});

async function setWindows(
  page: Page,
  fill: (field: string, axis: string, value: string) => Promise<void>,
): Promise<void> {
  for (const field of ["ksize", "strides"]) {
    for (const axis of "DHW") {
      await fill(field, axis, "2");
      await page.keyboard.press("Enter");
    }
  }
}

test("the docs at a block have its whole formula in sight", async () => {
  const { page } = opened;
  await page.focus(".canvas");
  await page.keyboard.press("Control+f");
  await page.keyboard.type("d_max_pool_3d");
  await page.keyboard.press("Enter");
  await page.click("#tab-docs");
  const formula = page.locator(".docs .formula");
  const code = "import json; from backblocks.ops import REGISTRY as ops";
  const lines = await library(`${code}; print(json.dumps(ops["MaxPool3DGrad"].formula.splitlines()))`);
  await expect.poll(() => formula.locator("div").allTextContents()).toEqual(lines);
  await expect.poll(() => formula.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0);
  await page.click("#tab-properties");
});

test("the same is built by keyboard alone", async () => {
  const { page, errors } = opened;
  const tabs = await page.locator(".page-tab").count();
  await page.keyboard.press("Alt+n");
  await page.waitForFunction((before) => document.querySelectorAll(".page-tab").length > before, tabs);
  await page.locator(".canvas").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("const");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await tabTo(page, "Shape");
  await page.keyboard.type("1, 2, 2, 2, 2");
  await page.keyboard.press("Enter");
  await tabTo(page, "1, 2, 3…");
  await page.keyboard.press("Enter");
  await toCanvas(page);
  await page.keyboard.press("/");
  await page.keyboard.type("maxpool3d");
  await page.keyboard.press("Enter");
  for (const field of ["ksize", "strides"]) {
    await page.keyboard.press("Enter");
    for (const axis of "DHW") {
      await tabTo(page, `${field} ${axis}`);
      await page.keyboard.type("2");
    }
    await page.keyboard.press("Enter");
    await toCanvas(page);
  }
  await page.keyboard.press("Enter");
  await tabTo(page, "padding");
  await page.keyboard.press("V");
  await toCanvas(page);
  await page.keyboard.press("c");
  await page.waitForSelector("dialog[open] :focus");
  await page.keyboard.type("input");
  await page.keyboard.press("Enter");
  await page.keyboard.type("const:output");
  await page.keyboard.press("Enter");
  await page.keyboard.press("g");
  await page.waitForSelector("#block-d_max_pool_3d");
  await page.keyboard.press("g");
  await page.waitForSelector("#block-d2_max_pool_3d");
  await page.keyboard.press("Control+Enter");
  await compare(page);
  expect(errors).toEqual([]);
});

/** Tab until the focus is on what has this name. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    const label = await page.evaluate(
      () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent,
    );
    if (label === name) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab never came to ${name}`);
}

/** Escape leads from the properties back to the canvas. */
async function toCanvas(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement?.classList.contains("canvas"));
}
