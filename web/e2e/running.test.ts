/** What a run and keys show on the page, in the real thing. */

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { copiedText, newPage, type Opened, open, restingBox, toPanel } from "./harness.ts";

let opened: Opened;
let page: Page;

beforeAll(async () => {
  opened = await open();
  page = opened.page;
  await page.waitForSelector(".card");
});
afterAll(async () => {
  await opened?.end();
});
afterEach(() => {
  expect(opened.errors.splice(0)).toEqual([]);
});

interface Copied {
  blocks: Record<string, unknown>;
  layout: { blocks: { minus: [number, number] }; wires: Record<string, number[][]> };
}

/** What is selected, as it is copied. */
async function copied(): Promise<Copied> {
  return JSON.parse(await copiedText(page));
}

const numbers = (value: number[]) => ({ op: "Const", attrs: { value: { dtype: "float32", value } } });

test("why a run failed stands at its block and among the problems, until it is mended and runs again", async () => {
  await newPage(page, {
    start: numbers([1, 0]),
    logarithm: { op: "Log", in: { x: "start:output" } },
    check: { op: "CheckNumerics", in: { tensor: "logarithm:y" }, attrs: { message: "finite" } },
  });
  await page.keyboard.press("Control+Enter");
  const said = page.locator("#block-check .block-problem");
  await said.waitFor();
  expect(await said.textContent()).toContain("CheckNumerics");
  expect(await page.locator(".problem").textContent()).toContain("check");
  await page.click("#block-start .block-title");
  const cell = page.locator("#right .grid .cell").nth(1);
  await cell.click();
  await page.keyboard.type("2");
  await page.keyboard.press("Enter");
  await said.waitFor({ state: "detached" });
  await page.waitForSelector("#block-check .live-mark.done");
});

test("a check whose process is killed is told, and the next change is checked by a new one", async () => {
  await newPage(page, { start: numbers([1, 2]), minus: { op: "Neg", in: { x: "start:output" } } });
  await page.locator("#block-minus").waitFor();
  await page.waitForTimeout(1500); // the memory of a run is estimated, too
  for (const each of opened.studio.children("studio.pool_worker")) process.kill(each, "SIGSTOP");
  await page.click("#block-start .block-title");
  const cell = page.locator("#right .grid .cell").nth(1);
  await cell.click();
  await page.keyboard.type("5");
  await page.keyboard.press("Enter");
  await page.getByText("Checking…").waitFor();
  for (const each of opened.studio.children("studio.pool_worker")) process.kill(each, "SIGKILL");
  const told = page.locator(".problem", { hasText: "could not check this page" });
  await told.waitFor();
  expect(await told.textContent()).toContain("Undo the last change");
  await cell.click();
  await page.keyboard.type("6");
  await page.keyboard.press("Enter");
  await told.waitFor({ state: "detached" });
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#block-minus .live-mark.done");
});

test("a constant that does not fit still stands at its pin, and is mended there", async () => {
  await newPage(page, { product: { op: "MatMul", in: { a: [[1, 2]], b: [[3]] } } });
  const bad = page.locator("#block-product .block-input.bad");
  await bad.waitFor();
  await page.hover("#block-product .block-title");
  await bad.locator("input").fill("[[3], [4]]");
  await page.keyboard.press("Enter");
  await bad.waitFor({ state: "detached" });
});

test("a wire is chosen and bent by keys alone", async () => {
  await newPage(page, { start: numbers([1]), minus: { op: "Neg", in: { x: "start:output" } } });
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("w");
  await page.locator("#right h2", { hasText: "Wire" }).waitFor();
  for (let i = 0; i < 3; i++) await page.keyboard.press("Control+ArrowDown");
  await page.keyboard.press("Control+a");
  const { wires } = (await copied()).layout;
  expect(Object.keys(wires)).toEqual(["minus:x"]);
  expect(wires["minus:x"]).toHaveLength(1);
});

test("arrows follow wires, with Ctrl they move a block, and in the outline they select several", async () => {
  await newPage(page, { start: numbers([1]), minus: { op: "Neg", in: { x: "start:output" } } });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  const before = await copied();
  expect(Object.keys(before.blocks)).toEqual(["minus"]);
  for (let i = 0; i < 2; i++) await page.keyboard.press("Control+ArrowDown");
  const after = await copied();
  expect(after.layout.blocks.minus[1]).toBe(before.layout.blocks.minus[1] + 16);
  await page.keyboard.press("ArrowLeft");
  expect(Object.keys((await copied()).blocks)).toEqual(["start"]);
  await toPanel(page, "Alt+1", "outline");
  await page.locator("[role=treeitem][data-node='block/start']").focus();
  await page.keyboard.press("Shift+ArrowDown");
  await expect.poll(async () => Object.keys((await copied()).blocks).sort()).toEqual(["minus", "start"]);
});

test("what blocks print is listed below the page and stands at the block", async () => {
  await newPage(page, {
    start: numbers([1, 2]),
    print: { op: "PrintV2", in: { input: { dtype: "string", value: "seen" } } },
  });
  await page.keyboard.press("Control+Enter");
  await page.keyboard.press("Alt+7");
  const line = page.locator(".console li");
  await line.waitFor();
  expect(await line.textContent()).toBe("printseen");
  await expect.poll(() => page.locator("#block-print .spec").textContent()).toBe("seen");
});

test("the tab of the page that is shown is whole, however many there are, also after the window became narrower", async () => {
  for (let i = 0; i < 4; i++) await newPage(page, { start: numbers([i]) });
  for (const width of [1440, 900, 700]) {
    await page.setViewportSize({ width, height: 700 });
    const whole = () =>
      page.evaluate(() => {
        const [bar, tab, close] = [".page-tabs", ".page-tab.current", ".page-tab.current .close"].map(
          (each) => (document.querySelector(each) as Element).getBoundingClientRect(),
        ) as [DOMRect, DOMRect, DOMRect];
        return {
          window: innerWidth,
          tab: tab.left >= bar.left - 1 && tab.right <= bar.right + 1,
          close: close.right <= tab.right && close.width,
        };
      });
    await expect.poll(whole).toEqual({ window: width, tab: true, close: 24 });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("who has scrolled to other tabs stays there, whatever is said beside them", async () => {
  const bar = page.locator(".page-tabs");
  const scrolled = () => bar.evaluate((tabs) => tabs.scrollLeft);
  const width = () => bar.evaluate((tabs) => tabs.clientWidth);
  const drawn = () =>
    page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await expect.poll(scrolled).toBeGreaterThan(100);
  await page.locator(".save-state", { hasText: /Draft saved \d/ }).waitFor();
  await page.locator(".page-tab").first().scrollIntoViewIfNeeded();
  await expect.poll(scrolled).toBe(0);
  await drawn(); // nobody scrolls and has the bar narrowed within one frame
  const before = await width();
  const said = page.locator(".save-state");
  await said.evaluate((text: HTMLElement) => text.style.setProperty("min-width", "240px"));
  await expect.poll(width).toBeLessThan(before);
  // A bar that follows its current tab does so in the next frame.
  await drawn();
  expect(await scrolled()).toBe(0);
  await said.evaluate((text: HTMLElement) => text.style.removeProperty("min-width"));
  // Where all tabs have room, the current one is in sight again, and then stays so.
  await page.setViewportSize({ width: 2600, height: 900 });
  await expect.poll(width).toBeGreaterThan(before + 1000);
  await page.setViewportSize({ width: 1440, height: 900 });
  await expect.poll(scrolled).toBeGreaterThan(100);
});

test("tabs are put in another order by keys and by the mouse", async () => {
  const order = () =>
    page
      .locator(".page-tab button[id]")
      .evaluateAll((all) => all.map((tab) => tab.id.replace("page-tab-", "")));
  const before = await order();
  const [last, ...others] = [...before].reverse();
  await page.locator(".page-tab.current button").first().focus();
  await page.keyboard.press("Shift+ArrowLeft");
  await expect.poll(order).toEqual([...others.slice(1).reverse(), last, others[0]]);
  await page.waitForSelector(".page-tab.current button:focus");
  // As a hand does it: step by step, not in one leap.
  await page.locator(".page-tab").first().dragTo(page.locator(".page-tab").nth(1), { steps: 5 });
  await expect.poll(async () => (await order())[1]).toBe(before[0]);
});

test("in a low window the panel below leaves two thirds to the page", async () => {
  const low = await opened.context.newPage();
  await low.setViewportSize({ width: 900, height: 700 });
  await low.goto(opened.studio.address.replace(/#.*/, ""));
  await low.locator(".card").first().click();
  expect((await restingBox(low.locator("#bottom"))).height).toBeLessThanOrEqual(234);
  await low.close();
});
