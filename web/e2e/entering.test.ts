/** Who is let in, what a tab says that is not, and how it comes back. */

import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { launch, SCREEN, Studio } from "./harness.ts";

let studio: Studio;
let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
});
beforeEach(() => {
  studio = new Studio();
});
afterEach(async () => {
  delete process.env.BACKBLOCKS_PASSWORD;
  await Promise.all(browser.contexts().map((each) => each.close()));
  await studio.end();
});

const withoutToken = (address: string): string => address.replace(/#.*/, "").replace("0.0.0.0", "127.0.0.1");

async function typePassword(page: Page, password: string): Promise<void> {
  await page.fill("#password", password);
  await page.press("#password", "Enter");
}

/** Opens a file of the folder, and waits until the ops that can be added are listed. */
async function openFile(page: Page, file: string): Promise<void> {
  await page.locator(".file-list button", { hasText: file }).click();
  await page.waitForSelector(".palette-group[open] .palette-op");
}

async function addSquare(page: Page): Promise<void> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("square");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#block-square");
}

test("a studio that others can reach asks for its password, and lets in who knows it", async () => {
  process.env.BACKBLOCKS_PASSWORD = "a long secret";
  const address = await studio.start("--host", "0.0.0.0");
  const page = await browser.newPage(SCREEN);
  await page.goto(withoutToken(address));
  await page.waitForSelector("#password");
  await typePassword(page, "a wrong secret");
  await page.waitForSelector("[role=alert]");
  expect(await page.locator(".card").count()).toBe(0);
  await typePassword(page, "a long secret");
  await page.waitForSelector(".card");
});

test("without the address that was printed nothing is shown but how to get in, and no password is asked for", async () => {
  const address = await studio.start();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(withoutToken(address));
  await page.getByText("the address that it printed").waitFor();
  if (process.env.PICTURES) await page.screenshot({ path: path.join(process.env.PICTURES, "locked.png") });
  expect(await page.locator("main").textContent()).toContain(`${withoutToken(address)}#token=`);
  expect(await page.locator("#password").count()).toBe(0);
});

test("no other host is asked for anything, not even by a note that names one", async () => {
  const note =
    "![picture](https://example.com/a.png) <img src='//example.com/b.png'> [link](https://example.com)";
  writeFileSync(
    path.join(studio.folder, "notes.page.json"),
    JSON.stringify({
      format: 1,
      blocks: {},
      notes: { about: { text: note } },
      layout: { notes: { about: [0, 0, 300, 120] } },
    }),
  );
  const address = await studio.start();
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const asked = new Set<string>();
  page.on("request", (request) => asked.add(new URL(request.url()).host));
  page.on("websocket", (socket) => asked.add(new URL(socket.url()).host));
  await page.goto(address);
  await page.locator(".file-list button", { hasText: "notes" }).click();
  await page.waitForSelector(".note a");
  await page.click(".brand");
  await page.locator(".card").first().click();
  await page.waitForSelector(".live-mark.done");
  await page.click(".block-title");
  await page.keyboard.press("e");
  // Time enough to ask for what must not be asked for.
  await page.waitForTimeout(500);
  expect([...asked]).toEqual([new URL(address).host]);
});

test("changes of a file that is gone are offered again", async () => {
  const file = path.join(studio.folder, "gone.page.json");
  writeFileSync(file, '{"format": 1, "blocks": {}}\n');
  const page = await browser.newPage(SCREEN);
  await page.goto(await studio.start());
  await openFile(page, "gone");
  await addSquare(page);
  await page.waitForFunction(() =>
    /Draft saved/.test(document.querySelector(".save-state")?.textContent ?? ""),
  );
  // What was kept more than a second ago survives a kill.
  await page.waitForTimeout(1200);
  await studio.kill("SIGKILL");
  rmSync(file);
  await page.close();
  const later = await browser.newPage(SCREEN);
  await later.goto(await studio.start());
  await later.locator(".draft-card", { hasText: "gone.page.json is missing" }).click();
  await later.waitForSelector("#block-square");
});

test("what was cut off while the studio was loaded is fetched again", async () => {
  writeFileSync(path.join(studio.folder, "kept.page.json"), '{"format": 1, "blocks": {}}\n');
  const page = await browser.newPage(SCREEN);
  let cutOff = /ops\.json|\/(Workbench|Dialogs)-[^/]*\.js/;
  await page.route("**", (route) => (cutOff.test(route.request().url()) ? route.abort() : route.continue()));
  const triedAgain = (part: string) =>
    page.waitForEvent("requestfailed", (request) => request.url().includes(part));
  await page.goto(await studio.start());
  await page.locator(".file-list button", { hasText: "kept" }).click();
  await page.waitForSelector(".page-tab");
  await triedAgain("Workbench");
  cutOff = /ops\.json|\/Dialogs-[^/]*\.js/;
  await page.locator(".canvas").focus();
  await page.keyboard.press("?");
  await triedAgain("Dialogs");
  cutOff = /ops\.json/;
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.locator(".canvas").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("square");
  expect(await page.textContent(".search .empty")).toBe("Loading…");
  cutOff = /^$/;
  await page.locator(".search [role=option]", { hasText: "Square" }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForSelector("#block-square");
});

test.each(["another", "the same"])(
  "after the server was started anew a tab says what to do, and goes on with its changes when %s tab is let in",
  async (tab) => {
    writeFileSync(path.join(studio.folder, "kept.page.json"), '{"format": 1, "blocks": {}}\n');
    const address = await studio.start();
    const context = await browser.newContext(SCREEN);
    const page = await context.newPage();
    await page.goto(address);
    await openFile(page, "kept");
    await studio.kill("SIGKILL");
    await addSquare(page);
    const again = await studio.start("--port", new URL(address).port);
    const banner = page.locator(".banner[role=alert]");
    await banner.waitFor();
    expect(await banner.textContent()).toContain("Open the address that it printed");
    expect(await banner.locator("button, input").count()).toBe(0); // there is no password
    await (tab === "another" ? await context.newPage() : page).goto(again);
    await banner.waitFor({ state: "detached" });
    await page.waitForFunction(() =>
      /Draft saved/.test(document.querySelector(".save-state")?.textContent ?? ""),
    );
    const third = await context.newPage();
    await third.goto(new URL("/", again).href);
    await openFile(third, "kept");
    await third.waitForSelector("#block-square");
  },
);
