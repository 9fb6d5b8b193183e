/** No work is lost: not when the server or the browser is killed, and not between two tabs. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { copiedText, launch, SCREEN, Studio } from "./harness.ts";

const RUNS = Number(process.env.KILL_RUNS ?? 20);
const FIRST =
  '{"format": 1, "blocks": {"start": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": 0}}}}}\n';

/** Opens a file; one that was open before is there already. */
async function openPage(page: Page, address: string, file: string, again = false): Promise<void> {
  await page.goto(address);
  if (!again) await page.locator(".file-list button", { hasText: file }).click();
  await page.waitForSelector(".canvas");
  await page.waitForFunction(() =>
    /[1-9]\d* block/.test(document.querySelector(".statusbar")?.textContent ?? ""),
  );
  // Before the ops are here, none can be added.
  await page.waitForSelector(".palette-group[open] .palette-op");
}

/** Adds a block by keyboard. */
async function addBlock(page: Page, op: string): Promise<void> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("/");
  await page.keyboard.type(op);
  await page.keyboard.press("Enter");
}

async function names(page: Page): Promise<string[]> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+a");
  return Object.keys(JSON.parse(await copiedText(page)).blocks);
}

test(`edits older than a second survive ${RUNS} random kills of server or browser, and the file is never touched`, {
  timeout: RUNS * 30_000,
}, async () => {
  const studio = new Studio();
  const file = path.join(studio.folder, "kept.page.json");
  writeFileSync(file, FIRST);
  let must = new Set(["start"]);
  try {
    for (let run = 0; run < RUNS; run++) {
      const [address, browser] = await Promise.all([studio.start(), launch()]);
      const page = await browser.newPage(SCREEN);
      await openPage(page, address, "kept", run > 0);
      if (run > 0) await page.waitForSelector(".banner");
      await expect
        .poll(() => names(page), { message: `run ${run}` })
        .toEqual(expect.arrayContaining([...must]));
      await page.keyboard.press("Escape");
      for (let i = 0; i < 3; i++) await addBlock(page, ["square", "neg", "abs"][i % 3] as string);
      const made = await names(page);
      // What was made a second ago is safe; what was made just now may be lost, and need not be.
      await page.waitForTimeout(1000);
      must = new Set(made);
      await page.keyboard.press("Escape");
      const late = addBlock(page, "exp").catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
      if (run % 2 === 0) await studio.kill("SIGKILL");
      await browser.close();
      await late;
      await studio.kill("SIGKILL");
      expect(readFileSync(file, "utf8")).toBe(FIRST);
    }
  } finally {
    await studio.end();
  }
});

test("a journal that the disk has damaged costs one change, and the page says so", async () => {
  const studio = new Studio();
  writeFileSync(path.join(studio.folder, "kept.page.json"), FIRST);
  try {
    const [address, browser] = await Promise.all([studio.start(), launch()]);
    const page = await browser.newPage(SCREEN);
    await openPage(page, address, "kept");
    for (const op of ["square", "neg", "abs"]) {
      await addBlock(page, op);
      await page.waitForSelector(`#block-${op}`);
    }
    await page.waitForTimeout(1000);
    await browser.close();
    await studio.kill("SIGKILL");
    const drafts = path.join(studio.state, "backblocks", "drafts");
    const [name] = readdirSync(drafts).filter((each) => each.endsWith(".jsonl")) as [string];
    const journal = readFileSync(path.join(drafts, name));
    journal[journal.indexOf("Neg")] = 0;
    writeFileSync(path.join(drafts, name), journal);
    const [again, browser2] = await Promise.all([studio.start(), launch()]);
    const opened = await browser2.newPage(SCREEN);
    await openPage(opened, again, "kept", true);
    const said = await opened.locator(".banner").textContent();
    expect(said).toContain("The journal of this page is damaged: 1 line could not be read");
    const [copy] = readdirSync(drafts).filter((each) => each.endsWith(".damaged"));
    expect(said).toContain(copy);
    const right = await opened.locator(".banner").evaluate((banner) => banner.getBoundingClientRect().right);
    const panel = await opened.locator(".panel.right").evaluate((each) => each.getBoundingClientRect().left);
    expect(right).toBeLessThanOrEqual(panel + 1); // a long path must not push the canvas below the panel
    if (process.env.PICTURE) await opened.screenshot({ path: process.env.PICTURE });
    expect(await names(opened)).toEqual(["start", "square", "abs"]);
    await browser2.close();
  } finally {
    await studio.end();
  }
});

test("two tabs on one file see each other's changes, and undo only their own", async () => {
  const studio = new Studio();
  writeFileSync(path.join(studio.folder, "kept.page.json"), FIRST);
  const [address, browser] = await Promise.all([studio.start(), launch()]);
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const [one, two] = [await context.newPage(), await context.newPage()];
    await openPage(one, address, "kept");
    await openPage(two, address.replace(/#.*/, ""), "kept");
    await addBlock(one, "square");
    await two.waitForSelector("#block-square");
    await addBlock(two, "neg");
    await one.waitForSelector("#block-neg");
    await one.locator(".canvas").focus();
    await one.keyboard.press("Control+z");
    await two.waitForSelector("#block-square", { state: "detached" });
    expect(await two.locator("#block-neg").count()).toBe(1);
    await one.keyboard.press("Control+s");
    await two.waitForFunction(() => document.querySelector(".save-state")?.textContent === "Saved");
    expect(existsSync(path.join(studio.folder, "kept.page.json"))).toBe(true);
  } finally {
    await browser.close();
    await studio.end();
  }
});
