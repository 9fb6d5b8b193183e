/** Runs in the real thing: what the run button does, how a run ended, and runs as objects. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Opened, open, toPanel } from "./harness.ts";

let opened: Opened;
let page: Page;

beforeAll(async () => {
  opened = await open({
    width: 1280,
    height: 800,
    prepare({ folder }) {
      for (const [name, document] of Object.entries(PAGES))
        writeFileSync(path.join(folder, `${name}.page.json`), JSON.stringify({ format: 1, ...document }));
    },
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

const numbers = (value: number[]) => ({ op: "Const", attrs: { value: { dtype: "float32", value } } });

/** Counts by the rate, in a trend. */
const counter = {
  blocks: {
    n: { op: "VariableV2", initial: { dtype: "float32", value: 0 } },
    rate: numbers([1]),
    one: { op: "Sum", in: { input: "rate:output", axis: 0 } },
    more: { op: "AssignAdd", in: { ref: "n:ref", value: "one:output" } },
  },
  monitors: { count: { kind: "trend", shows: [{ pin: "more:output_ref" }] } },
  layout: {
    blocks: { n: [0, 0], rate: [0, 160], one: [260, 160], more: [520, 0] },
    monitors: { count: [260, 320, 400, 200] },
  },
};

const PAGES = {
  once: { ...counter, run: { targets: ["more"] } },
  counting: { ...counter, run: { targets: ["more"], steps: 77, seed: 3 } },
  broken: {
    blocks: {
      first: numbers([1, 2]),
      minus: { op: "Neg", in: { x: "first:output" } },
      wrong: { op: "MatMul", in: { a: "first:output", b: "minus:y" } },
      behind: { op: "Neg", in: { x: "wrong:product" } },
      further: { op: "Neg", in: { x: "behind:y" } },
      last: { op: "Neg", in: { x: "further:y" } },
    },
    layout: {
      blocks: {
        first: [0, 0],
        minus: [0, 200],
        wrong: [260, 0],
        behind: [520, 0],
        further: [520, 160],
        last: [520, 320],
      },
    },
  },
};

/** Opens a page of the folder. */
async function openPage(name: keyof typeof PAGES): Promise<void> {
  await page.keyboard.press("Alt+g");
  await page.locator(".file-list button", { hasText: `${name}.page.json` }).click();
  await page.locator(`[id="block-${Object.keys(PAGES[name].blocks).at(-1)}"]`).waitFor();
  await page.locator(".canvas").focus();
}

const main = () => page.locator(".topbar .button.main");
const said = () => page.locator(".run-state");
const row = (run: number) => page.locator(`.runs-table tr[data-run="${run}"]`);
const stepsField = () => page.locator(".steps-field");

async function ended(run: number): Promise<void> {
  await expect.poll(() => row(run).locator("td").nth(3).textContent(), { timeout: 20_000 }).toBe("done");
}

test("the run button says what it does, and does it; a small one runs a single step", async () => {
  await openPage("once");
  await expect.poll(() => main().textContent()).toBe("Run once");
  await main().click();
  await said().getByText("Done").waitFor();
  await stepsField().fill("77");
  await page.locator(".canvas").focus();
  await expect.poll(() => main().textContent()).toBe("Run 77 steps");
  await said().getByText("step 2").waitFor(); // the change ran it again
  await main().click();
  await said().getByText("step 79").waitFor();
  await page.getByRole("button", { name: "Run one step" }).click();
  await said().getByText("step 80").waitFor();
  // By keys.
  await page.keyboard.press("F10");
  await said().getByText("step 81").waitFor();
  await page.keyboard.press("Control+Enter");
  await said().getByText("step 158").waitFor();
});

test("a run that left blocks out says so and leads to the problem, by the mouse and by keys", async () => {
  await openPage("broken");
  await page.locator("#block-wrong.bad, #block-wrong .block-problem").first().waitFor();
  await main().click();
  const link = said().getByRole("button", { name: "2 of 6 blocks ran, 1 problem" });
  await link.waitFor();
  expect(await said().textContent()).not.toContain("Done");
  await link.click();
  await page.locator("#block-wrong.selected").waitFor();
  await page.locator("#right input:focus, #right button:focus, #right [tabindex]:focus").first().waitFor();
  await page.locator(".canvas").focus();
  await page.keyboard.press("Escape");
  await page.locator("#block-wrong.selected").waitFor({ state: "detached" });
  await page.keyboard.press("F4");
  await page.locator("#block-wrong.selected").waitFor();
  await page.keyboard.press("Alt+8");
  await expect.poll(() => row(1).locator("td").nth(3).textContent()).toBe("2 of 6 blocks ran, 1 problem");
});

test("runs are listed with settings and time, and with what their blocks took", async () => {
  await openPage("counting");
  await page.keyboard.press("Control+Enter");
  await toPanel(page, "Alt+8", "runs");
  await ended(1);
  expect(await row(1).textContent()).toContain("77 steps, seed 3");
  expect(await row(1).locator("td").nth(5).textContent()).toBe("77");
  const blocks = page.locator(".run-blocks tbody tr td:first-child");
  const costs = page.getByRole("region", { name: "Blocks of run 1" });
  await costs.waitFor();
  expect((await blocks.allTextContents()).sort()).toEqual(["more", "n", "one", "rate"]);
  expect(await page.locator(".flame-part").count()).toBeGreaterThan(0);
  const sorted = () => costs.locator("th[aria-sort]:not([aria-sort=none])").textContent();
  expect(await sorted()).toBe("Time a step");
  await costs.getByRole("button", { name: "Block", exact: true }).click();
  await expect.poll(() => blocks.allTextContents()).toEqual(["more", "n", "one", "rate"]);
  await page.keyboard.press("Enter");
  await expect.poll(() => blocks.allTextContents()).toEqual(["rate", "one", "n", "more"]);
  await costs.getByRole("button", { name: "Memory" }).press("Enter");
  await expect.poll(sorted).toBe("Memory");
  await costs.getByRole("button", { name: "rate" }).click();
  await page.locator("#block-rate.selected").waitFor();
});

test("a snapshot keeps the variables, restoring brings them back, and the trend overlays the runs before", async () => {
  // The page of the test before: run 1 counted to 77.
  await toPanel(page, "Alt+8", "runs");
  await page.locator("#bottom").getByRole("button", { name: "Snapshot" }).click();
  await row(1).getByRole("button", { name: "Restore" }).waitFor();
  expect(await page.locator(".runs-head").first().textContent()).toContain("1 of 8 snapshots");
  expect(await page.locator(".runs-head").first().textContent()).toContain("until its process ends");
  await page.keyboard.press("F5");
  await ended(2);
  const trend = page.locator(".monitor-body .keys").first();
  await expect.poll(() => trend.textContent()).toContain("154");
  expect(await trend.textContent()).not.toContain("Run 1");
  await row(1).getByRole("button", { name: "Restore" }).press("Enter");
  await expect.poll(() => said().textContent()).toContain("step 77");
  await page.keyboard.press("F10");
  await ended(3);
  await expect.poll(() => trend.textContent()).toMatch(/78.*Run 1 77.*Run 2 154/);
  // Hidden by a key.
  await row(1).getByRole("checkbox").focus();
  await page.keyboard.press("Space");
  await expect.poll(() => trend.textContent()).not.toContain("Run 1");
  await row(1).getByRole("checkbox").check();
  await expect.poll(() => trend.textContent()).toContain("Run 1 77");
});

test("two runs are compared: settings, changes, curves, and variables in the inspector", async () => {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Shift+S"); // of run 3
  await row(3).getByRole("button", { name: "Restore" }).waitFor();
  await page.click("#block-rate .block-title");
  const cell = page.locator("#right .grid .cell").first();
  await cell.click();
  await page.keyboard.type("2");
  await page.keyboard.press("Enter");
  await page.locator(".canvas").focus();
  await page.keyboard.press("F5");
  const last = page.locator(".runs-table tr[data-run]").first();
  await expect.poll(() => last.textContent(), { timeout: 20_000 }).toMatch(/77 steps, seed 3done/);
  const run = Number(await last.getAttribute("data-run"));
  await page.keyboard.press("Shift+S");
  await last.getByRole("button", { name: "Restore" }).waitFor();
  await row(1).getByRole("button", { name: "Compare run 1 as A" }).click();
  await last.getByRole("button", { name: `Compare run ${run} as B` }).press("Enter");
  const comparison = page.getByRole("region", { name: `Run 1 and run ${run}` });
  await comparison.getByText("~ rate.value: float32 [1] -> float32 [2] (1 of 1 elements)").waitFor();
  expect(await comparison.locator("tbody th").allTextContents()).toContain("Settings");
  await comparison.locator(".run-curves canvas").waitFor();
  expect(await comparison.locator(".run-curves .keys").textContent()).toMatch(/Run 1 .*77Run \d+ /);
  await comparison.getByRole("button", { name: "n:ref" }).click();
  const compared = page.locator(`.pane.compares[aria-label="(n:ref@1 − n:ref@${run})"]`);
  await compared.waitFor();
  await expect.poll(() => compared.textContent()).toContain("1 cell differs");
});

test("runs survive a reload of the tab; when the process ends, what is lost is said", async () => {
  await page.reload();
  await page.locator("#block-more").waitFor();
  await toPanel(page, "Alt+8", "runs");
  await row(1).waitFor();
  expect(await row(1).getByRole("button", { name: "Restore" }).count()).toBe(1);
  for (const each of opened.studio.children("studio.run_worker")) process.kill(each, "SIGKILL");
  await page.getByText("snapshots are lost").first().waitFor();
  await expect.poll(() => row(1).getByRole("button", { name: "Restore" }).count()).toBe(0);
  expect(await page.locator(".runs-head").first().textContent()).toContain("0 of 8 snapshots");
});
