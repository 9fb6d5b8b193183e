/** Nothing serious that axe-core finds, in any view and theme. */

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

/** What a tab of a panel shows when all of it has come. */
const SHOWN = {
  palette: ".palette-group[open] .palette-op",
  outline: "[role=treeitem]",
  properties: "#right [data-field]",
  docs: ".docs .formula",
  problems: "#bottom .empty",
  inspector: ".pane-body",
  monitors: ".monitor-strip",
};

describe("axe finds nothing serious", () => {
  test("in the gallery", async () => {
    await inEveryTheme(opened.page);
  });

  test("on a page that has run, with every panel", async () => {
    const { page } = opened;
    await page.click("text=Gradient of a max pool in 3-D");
    await page.waitForSelector("#block-pool");
    await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
    await page.click("#block-pool .block-title");
    for (const tabs of [
      ["palette", "properties", "problems"],
      ["outline", "docs", "inspector"],
      ["outline", "properties", "monitors"],
    ] as const) {
      for (const tab of tabs) {
        await page.click(`#tab-${tab}`);
        await page.waitForSelector(SHOWN[tab]);
      }
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
    await page.click("#tab-problems");
    await page.waitForSelector(".problem");
    await inEveryTheme(page);
    await page.focus(".canvas");
    await page.keyboard.press("Control+z");
  });

  test("far away", async () => {
    const { page } = opened;
    await page.focus(".canvas");
    for (let i = 0; i < 6; i++) await page.keyboard.press("-");
    await page.waitForFunction(() => document.querySelector(".block") === null);
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
    await page.waitForSelector(".search [role=option]");
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
    await page.click("#block-pool .block-title", { button: "right" });
    await page.waitForSelector("[role=menu]");
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
  });

  test.each([
    "Keyboard",
    "Settings",
    "Export",
    "Save as",
    "Versions",
    "Open",
    "Connect…",
    "Gradients of",
    "Extract selection",
  ])("in the dialog of the command: %s", async (command) => {
    const { page } = opened;
    await page.click("#block-pool .block-title");
    await page.focus(".canvas");
    await page.keyboard.press("Control+Shift+P");
    await page.keyboard.type(command);
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open]");
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
  });

  test("in Korean", async () => {
    const { page } = opened;
    await page.focus(".canvas");
    await page.keyboard.press("Control+,");
    await page.selectOption("#setting-language", "ko");
    await page.waitForSelector("html[lang=ko]");
    await inEveryTheme(page);
    await page.selectOption("#setting-language", "en");
    await page.keyboard.press("Escape");
  });
});
