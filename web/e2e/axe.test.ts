/** Nothing serious that axe-core finds, in any view and theme. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { inEveryTheme } from "./axe.ts";
import { type Opened, open } from "./harness.ts";

let opened: Opened;

beforeAll(async () => {
  opened = await open();
  await opened.page.waitForSelector(".card");
});
afterAll(async () => {
  await opened?.end();
});

async function dialog(page: Page, command: string): Promise<void> {
  await page.keyboard.press("Control+Shift+P");
  await page.keyboard.type(command);
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  await inEveryTheme(page);
  await page.keyboard.press("Escape");
}

describe("axe finds nothing serious", () => {
  test("in the gallery", async () => {
    await inEveryTheme(opened.page);
  });

  test("on a page that has run, with every panel", async () => {
    const { page } = opened;
    await page.click("text=Gradient of a max pool in 3-D");
    await page.waitForSelector("#block-pool");
    await page.waitForTimeout(1500);
    await page.click("#block-pool .block-title");
    for (const [left, right, bottom] of [
      ["palette", "properties", "problems"],
      ["outline", "docs", "inspector"],
      ["outline", "properties", "monitors"],
    ]) {
      await page.click(`#tab-${left}`);
      await page.click(`#tab-${right}`);
      await page.click(`#tab-${bottom}`);
      await page.waitForTimeout(300);
      await inEveryTheme(page);
    }
    await page.click("#block-volume .block-title");
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
    await inEveryTheme(page);
  });

  test("where a page has problems", async () => {
    const { page } = opened;
    await page.focus(".canvas");
    await page.keyboard.press("/");
    await page.keyboard.type("conv3d");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#block-conv_3d");
    await page.waitForTimeout(600);
    await page.click("#tab-problems");
    await inEveryTheme(page);
    await page.focus(".canvas");
    await page.keyboard.press("Control+z");
  });

  test("far away", async () => {
    const { page } = opened;
    await page.focus(".canvas");
    for (let i = 0; i < 6; i++) await page.keyboard.press("-");
    await page.waitForTimeout(400);
    await inEveryTheme(page);
    await page.keyboard.press("1");
  });

  test("in the grid of a constant", async () => {
    const { page } = opened;
    await page.click("#block-volume .block-title");
    await page.keyboard.press("v");
    await page.waitForSelector(".constant-box");
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
  });

  test("in the search box and the menu", async () => {
    const { page } = opened;
    await page.focus(".canvas");
    await page.keyboard.press("/");
    await page.keyboard.type("pool");
    await page.waitForTimeout(300);
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
    await page.click("#block-pool .block-title", { button: "right" });
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
  });

  test("in every dialog", async () => {
    const { page } = opened;
    await page.click("#block-pool .block-title");
    for (const command of [
      "Keyboard",
      "Settings",
      "Export",
      "Save as",
      "Versions",
      "Open",
      "Connect from",
      "Gradients of",
      "Make the selection",
    ]) {
      await page.focus(".canvas");
      await dialog(page, command);
    }
  });

  test("in Korean", async () => {
    const { page } = opened;
    await page.focus(".canvas");
    await page.keyboard.press("Control+,");
    await page.selectOption("#setting-language", "ko");
    await page.waitForTimeout(200);
    await inEveryTheme(page);
    await page.selectOption("#setting-language", "en");
    await page.keyboard.press("Escape");
  });
});
