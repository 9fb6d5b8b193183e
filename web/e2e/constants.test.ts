/** Constants that are edited in the inspector: typed, pasted, painted and filled, each in one step. */

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Opened, pasteText } from "./harness.ts";
import { inspecting, openInspector } from "./inspecting.ts";

const MATRIX = [
  [1, -2, 3],
  [4, 5, -6],
  [7, 8, 9],
];
const BLOCKS = {
  matrix: { op: "Const", attrs: { value: { dtype: "float32", value: MATRIX } } },
  square: { op: "Square", in: { x: "matrix:output" } },
  small: { op: "Const", attrs: { value: { dtype: "int8", value: [1, 2, 3] } } },
  long: { op: "Const", attrs: { value: { dtype: "int64", value: ["9007199254740993", 5] } } },
};
const BEFORE = MATRIX.flat().map(String);

let opened: Opened;
let page: Page;
let inspector: ReturnType<typeof inspecting>;

beforeAll(async () => {
  opened = await openInspector(BLOCKS);
  page = opened.page;
  inspector = inspecting(page);
});
afterAll(async () => {
  await opened?.end();
});
beforeEach(() => inspector.select("matrix"));
afterEach(() => {
  expect(opened.errors.splice(0)).toEqual([]);
});

/** Whether one step takes back all that was done. */
async function oneStep(): Promise<void> {
  await inspector.undo();
  await inspector.select("matrix");
  await expect.poll(inspector.constant).toEqual(BEFORE);
}

async function pasteAt(cell: number, text: string): Promise<void> {
  await inspector.show("Table");
  await page.locator("[role=gridcell]").nth(cell).click();
  await pasteText(page, text, "[role=grid]");
}

test("a block of a spreadsheet is pasted in one step, and what depends on it is computed anew", async () => {
  await pasteAt(0, "10\t20\r\n30\t40\r\n");
  await expect.poll(inspector.constant).toEqual(["10", "20", "3", "30", "40", "-6", "7", "8", "9"]);
  await inspector.select("square");
  await inspector.show("Table");
  await expect.poll(() => page.locator("[role=gridcell]").first().textContent()).toBe("100");
  await oneStep();
});

test("a comma before the fraction is understood", async () => {
  await pasteAt(0, "1,5\t2.000,25\n");
  await expect.poll(async () => (await inspector.constant()).slice(0, 2)).toEqual(["1.5", "2000.25"]);
  await oneStep();
});

test.each([
  ["rows of other lengths", 0, "1\t2\n3\n", "row 2 has 1"],
  ["a text that is no number", 0, "1\tx\n", 'row 1, column 2 is "x"'],
  ["more than there is room for", 4, "1\t2\t3\n", "1 x 3 cells do not fit"],
])("%s are refused in words, and nothing is lost", async (_, at, text, words) => {
  await pasteAt(at, text);
  const notice = page.locator(".toast", { hasText: "Nothing was pasted" });
  await notice.waitFor();
  expect(await notice.textContent()).toContain(words);
  await expect.poll(inspector.constant).toEqual(BEFORE);
  await notice.getByRole("button").first().click();
});

test("cells are painted by dragging, in one step", async () => {
  await inspector.show("Heatmap");
  const paint = page.getByRole("button", { name: "Paint", exact: true });
  await paint.click();
  const [from, to] = [await inspector.cellAt(16, 16), await inspector.cellAt(220, 16)];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 12 });
  await page.mouse.up();
  await paint.click();
  await expect.poll(inspector.constant).toEqual(["1", "1", "1", ...BEFORE.slice(3)]);
  await oneStep();
});

test("a pinned cell is not painted by a stroke elsewhere", async () => {
  await inspector.show("Heatmap");
  const [pinned, other] = [await inspector.cellAt(16, 16), await inspector.cellAt(130, 60)];
  await page.mouse.click(pinned.x, pinned.y);
  const paint = page.getByRole("button", { name: "Paint", exact: true });
  await paint.click();
  await page.mouse.move(other.x, other.y);
  await page.mouse.down();
  await page.mouse.up();
  await paint.click();
  await expect.poll(inspector.constant).toEqual([...BEFORE.slice(0, 4), "1", ...BEFORE.slice(5)]);
  await oneStep();
});

test("it is filled by rules, each in one step; a seed gives the same numbers again", async () => {
  const fill = async (name: string): Promise<number[]> => {
    await page.locator(".edit-bar").getByRole("button", { name, exact: true }).click();
    return (await inspector.constant()).map(Number);
  };
  expect(await fill("1, 2, 3…")).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await oneStep();
  expect((await fill("One-hot")).reduce((sum, each) => sum + each, 0)).toBe(1);
  await oneStep();
  const random = await fill("Random");
  await oneStep();
  const seed = page.locator(".edit-bar").getByRole("textbox", { name: "Seed" });
  await seed.fill("7");
  await seed.press("Enter");
  expect(await fill("Random")).not.toEqual(random);
  await oneStep();
  await seed.fill("0");
  await seed.press("Enter");
  expect(await fill("Random")).toEqual(random);
  await oneStep();
  expect(new Set(await fill("Ties")).size).toBeLessThanOrEqual(2);
  await oneStep();
});

test("a number is typed into the table; wrong text is refused with the rule, and stays until Escape", async () => {
  await inspector.enter();
  await inspector.tabTo(/^Table$/);
  await page.keyboard.press("Enter");
  await inspector.tabTo(/^Table of the slice of matrix:output/);
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type("12.5");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator("[role=gridcell]").nth(1).textContent()).toBe("12.5");
  expect(await page.locator("[role=gridcell][aria-selected=true]").getAttribute("id")).toMatch(/-1-1$/);
  await oneStep();
  await inspector.show("Table");
  await page.locator("[role=gridcell]").nth(1).click();
  await page.keyboard.type("1..5");
  await page.keyboard.press("Enter");
  const rule = page.locator(".table-rule");
  expect(await rule.textContent()).toBe("A number of float32, inf or nan.");
  await page.locator("[role=gridcell]").nth(8).click();
  expect(await page.locator(".table-input").inputValue()).toBe("1..5");
  await page.locator(".table-input").press("Escape");
  await rule.waitFor({ state: "detached" });
  await expect.poll(inspector.constant).toEqual(BEFORE);
});

test("a number is typed below the map", async () => {
  // A key in the very moment that the map appears, before it is laid out.
  await page.evaluate(() =>
    new MutationObserver((_, observer) => {
      const map = document.querySelector<HTMLElement>(".tensor-map");
      if (!map) return;
      observer.disconnect();
      map.focus();
      map.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", ctrlKey: true, bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true }),
  );
  await inspector.show("Heatmap");
  await expect.poll(() => inspector.line().textContent()).toContain("matrix:output[0, 0]");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("F2");
  await page.keyboard.type("x");
  expect(await page.locator(".cell-line .entry-error").textContent()).toBe(
    "A number of float32, inf or nan.",
  );
  await page.keyboard.press("Control+a");
  await page.keyboard.type("-inf");
  await page.keyboard.press("Enter");
  await expect.poll(() => inspector.line().textContent()).toBe("matrix:output[1, 0] = -inf");
  await oneStep();
});

test("integers keep to their type, and all of their digits", async () => {
  await inspector.select("small");
  await inspector.show("Table");
  await page.locator("[role=gridcell]").first().click();
  await page.keyboard.type("128");
  expect(await page.locator(".table-rule").textContent()).toBe("An integer of int8, from -128 to 127.");
  await page.locator(".table-input").press("Escape");
  await inspector.select("long");
  await expect.poll(() => page.locator("[role=gridcell]").first().textContent()).toBe("9007199254740993");
  await inspector.choose("Copy as NumPy");
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe("np.array([9007199254740993, 5], dtype=np.int64)");
});
