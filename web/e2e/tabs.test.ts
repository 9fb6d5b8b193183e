/** Work is always in sight: tabs come back, drafts are listed, and what would be lost is asked for. */

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Opened, open, restingBox } from "./harness.ts";

const FILE =
  '{"format": 1, "blocks": {"start": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": 0}}}}}\n';

let opened: Opened;
let page: Page;

beforeEach(async () => {
  opened = await open({
    width: 1280,
    height: 800,
    prepare: ({ folder }) => writeFileSync(path.join(folder, "kept.page.json"), FILE),
  });
  page = opened.page;
  await page.waitForSelector(".card");
});
afterEach(async () => {
  await opened.end();
  expect(opened.errors.splice(0).filter((error) => !/WebSocket|401|ERR_/.test(error))).toEqual([]);
});

async function picture(name: string): Promise<void> {
  if (process.env.PICTURES) await page.screenshot({ path: path.join(process.env.PICTURES, `${name}.png`) });
}

async function addBlock(op: string, on: Page = page): Promise<void> {
  await on.locator(".canvas").focus();
  await on.keyboard.press("/");
  await on.keyboard.type(op);
  await on.locator(".search [role=option]").first().waitFor();
  await on.keyboard.press("Enter");
  await on.waitForSelector(`[id="block-${op}"]`);
}

/** Opens the file, a lesson and a new page with a block on it. */
async function openThree(): Promise<void> {
  await page.locator(".file-list button", { hasText: "kept" }).click();
  await page.waitForSelector("#block-start");
  await addBlock("square");
  await page.click(".brand");
  await page.locator(".card").first().click();
  await finished();
  await page.keyboard.press("Alt+n");
  await page.waitForFunction(() => document.querySelectorAll(".page-tab").length === 3);
  await addBlock("neg");
}

/** Waits until the run of the active page is done, or is known to be after a reload. */
async function finished(): Promise<void> {
  await page.waitForFunction(
    () => /Done/.test(document.querySelector(".run-state")?.textContent ?? ""),
    undefined,
    {
      timeout: 120_000,
    },
  );
}

const tabs = (on: Page = page) => on.locator(".page-tab > button:first-child").allTextContents();
const current = (on: Page = page) => on.locator(".page-tab.current").textContent();
const viewport = (on: Page = page) =>
  on.locator(".react-flow__viewport").evaluate((element) => (element as HTMLElement).style.transform);

/** Waits until the state of the tab is kept on the disk after what was just done. */
async function kept(): Promise<void> {
  await page.waitForTimeout(1500);
}

test("after a reload the same tabs are open at the same place", async () => {
  await openThree();
  await page.keyboard.press("Alt+PageDown"); // from the last to the first
  await page.waitForSelector("#block-square");
  await page.locator(".canvas").focus();
  for (const key of ["-", "-"]) await page.keyboard.press(key);
  await page.mouse.move(500, 400);
  await page.mouse.down({ button: "middle" });
  await page.mouse.move(560, 455, { steps: 4 });
  await page.mouse.up({ button: "middle" });
  await page.waitForTimeout(400);
  const [before, place, at] = [await tabs(), await viewport(), await current()];
  expect(before).toHaveLength(3);
  await page.reload();
  await page.waitForSelector("#block-square");
  expect(await tabs()).toEqual(before);
  expect(await current()).toBe(at);
  expect(await viewport()).toBe(place);
  await picture("reloaded");
  // What was done before can still be undone, and made again.
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+z");
  await page.waitForSelector("#block-square", { state: "detached" });
  await page.getByRole("button", { name: "Redo" }).click();
  await page.waitForSelector("#block-square");
  // The others are as they were, too: the lesson with its results, the page that no file has with its block.
  await page.keyboard.press("Alt+PageDown");
  await finished();
  await page.keyboard.press("Alt+PageDown");
  await page.waitForSelector("#block-neg");
});

test("after a kill of the server another browser opens the same tabs", async () => {
  await openThree();
  await page.keyboard.press("Alt+PageUp"); // the lesson, which nobody has changed
  await finished();
  const [before, at] = [await tabs(), await current()];
  await kept();
  await opened.studio.kill("SIGKILL");
  await page.close();
  const context = await opened.browser.newContext({ viewport: { width: 1280, height: 800 } });
  const later = await context.newPage();
  await later.goto(await opened.studio.start());
  await later.waitForSelector(".canvas");
  await later.waitForFunction(() => document.querySelectorAll(".page-tab").length === 3);
  expect(await tabs(later)).toEqual(before);
  expect(await current(later)).toBe(at);
  await later.keyboard.press("Alt+PageDown");
  await later.waitForSelector("#block-neg");
});

test("a second tab begins with the gallery, and no tab takes what another has open", async () => {
  await openThree();
  await kept();
  const second = await opened.context.newPage();
  await second.goto(new URL("/", opened.studio.address).href);
  await second.waitForSelector(".card");
  await second.waitForTimeout(1000);
  expect(await second.locator(".page-tab").count()).toBe(0);
  // The draft of the other tab is in sight here, too.
  expect(await second.locator(".draft-card strong").allTextContents()).toEqual(["Neg"]);
});

test("a page that is closed without a file says where it went, and is a draft at once", async () => {
  await page.keyboard.press("Alt+n");
  await page.waitForSelector(".canvas");
  await addBlock("square");
  await page.locator(".page-tab .close").click();
  const toast = page.locator(".toast");
  expect(await toast.textContent()).toContain("“Square” was never saved to a file");
  const draft = page.locator(".draft");
  await draft.waitFor();
  expect(await draft.locator("strong").textContent()).toBe("Square");
  expect(await draft.locator(".card-about").textContent()).toMatch(/^1 block · (now|1 minute ago)$/);
  expect(await draft.locator("svg .block-box").count()).toBe(1);
  await picture("draft");
  await toast.getByRole("button", { name: "Reopen closed page" }).click();
  await page.waitForSelector("#block-square");
  expect(await page.locator(".toast", { hasText: "never saved" }).count()).toBe(0);
  // By keys: close, and open again.
  await page.locator(".canvas").focus();
  await page.keyboard.press("Alt+x");
  await draft.waitFor();
  await page.keyboard.press("Alt+Shift+x");
  await page.waitForSelector("#block-square");
});

test("changes of a file that is closed are told of, and a page without changes is closed without a word", async () => {
  await page.locator(".file-list button", { hasText: "kept" }).click();
  await page.waitForSelector("#block-start");
  await page.locator(".page-tab .close").click();
  await page.waitForSelector(".card");
  expect(await page.locator(".toast").count()).toBe(0);
  await page.locator(".file-list button", { hasText: "kept" }).click();
  await addBlock("square");
  await page.keyboard.press("Alt+x");
  expect(await page.locator(".toast").textContent()).toContain("unsaved changes of kept.page.json are kept");
  await page.locator(".file-list button", { hasText: "kept.page.jsonhas unsaved changes" }).waitFor();
  await page.keyboard.press("Alt+Shift+x");
  await page.waitForSelector("#block-square");
});

test("a draft is deleted after a question, by mouse and by keys", async () => {
  for (const op of ["square", "neg"]) {
    await page.keyboard.press("Alt+n");
    await page.waitForSelector(".canvas");
    await addBlock(op);
    await page.keyboard.press("Alt+x");
    await page.locator(".draft strong", { hasText: new RegExp(op, "i") }).waitFor();
  }
  const journals = () =>
    readdirSync(path.join(opened.studio.state, "backblocks", "drafts")).filter((name) =>
      name.endsWith(".jsonl"),
    );
  expect(journals()).toHaveLength(2);
  await page.locator(".draft", { hasText: "Square" }).locator("button.icon").click();
  await page.waitForSelector("dialog[open]");
  await picture("delete");
  await page.keyboard.press("Escape");
  expect(await page.locator(".draft").count()).toBe(2);
  await page.locator(".draft", { hasText: "Square" }).locator("button.icon").click();
  await page.locator("dialog[open] .danger").click();
  await page.locator(".draft", { hasText: "Square" }).waitFor({ state: "detached" });
  expect(journals()).toHaveLength(1);
  await page.locator(".draft-card").focus();
  await page.keyboard.press("Delete");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator(".draft").waitFor({ state: "detached" });
  expect(journals()).toHaveLength(0);
});

test("a page is clean again when every change is undone, also after a reload", async () => {
  await page.locator(".file-list button", { hasText: "kept" }).click();
  await page.waitForSelector("#block-start");
  const dot = async () => ((await current()) ?? "").includes("•");
  expect(await dot()).toBe(false);
  await addBlock("square");
  await addBlock("neg");
  expect(await dot()).toBe(true);
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+z");
  expect(await dot()).toBe(true);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.waitForSelector("#block-square", { state: "detached" });
  expect(await dot()).toBe(false);
  expect(await page.textContent(".save-state")).toBe("Saved");
  await page.waitForTimeout(400);
  await page.reload();
  await page.waitForSelector("#block-start");
  expect(await dot()).toBe(false);
  await page.locator(".canvas").focus();
  await page.keyboard.press("Alt+x");
  await page.waitForSelector(".card");
  const drafts = path.join(opened.studio.state, "backblocks", "drafts");
  await expect.poll(() => readdirSync(drafts).filter((name) => name.endsWith(".jsonl"))).toEqual([]);
  expect(existsSync(path.join(opened.studio.folder, "kept.page.json"))).toBe(true);
});

test("processes end with the pages that nobody has open any longer", async () => {
  const workers = () => opened.studio.children("studio.run_worker").length;
  const spare = 1;
  for (let time = 0; time < 4; time++) {
    await page.locator(".card").first().click();
    await finished();
    await page.reload();
    await finished();
    await page.click(".brand");
    await page.waitForSelector(".card");
  }
  expect(workers()).toBeLessThanOrEqual(4 + spare);
  while ((await page.locator(".page-tab").count()) > 1) await page.locator(".page-tab .close").last().click();
  await expect.poll(workers).toBeLessThanOrEqual(1 + spare);
  await page.close();
  await expect.poll(workers, { timeout: 40_000 }).toBeLessThanOrEqual(spare);
});

test("reset asks before it throws away what steps have computed", async () => {
  await page.locator(".card", { hasText: "Linear regression" }).click();
  await finished();
  const said = () => page.textContent(".run-state");
  const before = await said();
  expect(before).toMatch(/step \d/);
  await page.locator(".canvas").focus();
  await page.keyboard.press("Shift+F8");
  await page.waitForSelector("dialog[open]");
  await restingBox(page.locator("dialog[open]"));
  await picture("reset");
  await page.keyboard.press("Escape");
  expect(await said()).toBe(before);
  const reset = page.getByRole("button", { name: "Reset variables" });
  await reset.click();
  await page.locator("dialog[open] .danger").click();
  await page.waitForFunction((old) => document.querySelector(".run-state")?.textContent !== old, before);
  await reset.click(); // nothing has been computed since: nothing to ask
  expect(await page.locator("dialog[open]").count()).toBe(0);
});
