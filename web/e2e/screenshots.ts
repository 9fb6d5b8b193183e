/** Takes the screenshots in docs/. */

import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { open } from "./harness.ts";

// Relative to web/, where npm runs: the bundle of this file is elsewhere.
const DOCS = path.resolve("../docs/studio");

async function lesson(page: Page, title: string, wait: number): Promise<void> {
  await page.click(".brand");
  await page.locator(".card", { hasText: title }).click();
  await page.waitForSelector(".canvas");
  await page.waitForTimeout(wait);
}

async function theme(page: Page, name: string): Promise<void> {
  await page.evaluate((each) => {
    document.documentElement.dataset.theme = each;
  }, name);
  await page.waitForTimeout(300);
}

const { page, errors, end } = await open();
const take = (name: string) => page.screenshot({ path: path.join(DOCS, `${name}.png`) });
try {
  mkdirSync(DOCS, { recursive: true });
  await page.waitForSelector(".card");
  await take("gallery");
  await lesson(page, "Gradient of a max pool in 3-D", 2500);
  await page.click("#block-back .block-title");
  await page.waitForTimeout(300);
  await take("max_pool_3d_grad");
  await page.click("#tab-inspector");
  await page.getByRole("button", { name: /^Pin this tensor/ }).click();
  await page.click("#block-volume .block-title");
  await page.waitForTimeout(600);
  await take("inspector");
  await page.getByRole("button", { name: "Unpin" }).click();
  await lesson(page, "XOR, gradients wired by hand", 6000);
  await take("xor");
  await theme(page, "dark");
  await take("xor_dark");
  await theme(page, "light");
  await page.locator(".canvas").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("max pool grad");
  await page.waitForTimeout(300);
  await take("search");
  await page.keyboard.press("Escape");
  for (const [title, block, map, name] of [
    ["The second gradient", "pool", 1, "explain_max_pool"],
    ["A convolution and its two gradients", "conv", 2, "explain_convolution"],
  ] as const) {
    await lesson(page, title, 2000);
    await page.locator(".canvas").focus();
    await page.keyboard.press("Control+f");
    await page.keyboard.type(block);
    await page.keyboard.press("Enter");
    await page.keyboard.press("e");
    const maps = page.locator(".explain-tensor .tensor-map");
    await maps.nth(map).waitFor();
    await page.waitForTimeout(700);
    await maps.nth(map).focus();
    for (const key of ["ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
    await page.waitForTimeout(500);
    await take(name);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".canvas");
  }
  if (errors.length > 0) throw new Error(errors.join("\n"));
} finally {
  await end();
}
