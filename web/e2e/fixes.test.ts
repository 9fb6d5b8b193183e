/** Fixes of problems: by the mouse, in the list and at the block, and by keys; linked gradients; one dtype of a Const. */

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { copiedText, newPage, type Opened, open } from "./harness.ts";

let opened: Opened;
let page: Page;

beforeAll(async () => {
  opened = await open({ width: 1280, height: 800 });
  page = opened.page;
  await page.waitForSelector(".card");
});
afterAll(async () => {
  await opened?.end();
});
afterEach(() => {
  expect(opened.errors.splice(0)).toEqual([]);
});

interface Block {
  op: string;
  in?: Record<string, unknown>;
  attrs?: Record<string, unknown>;
}

const constant = (value: unknown, dtype = "float32"): Block => ({
  op: "Const",
  attrs: { value: { dtype, value } },
});
const rows = ([count, size]: readonly [number, number]): number[][] =>
  Array.from({ length: count }, (_, i) => Array.from({ length: size }, (_, j) => i * size + j));

/** The blocks of the page as the document has them. */
async function blocks(): Promise<Record<string, Block>> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+a");
  const text = await copiedText(page);
  await page.keyboard.press("Escape");
  return (JSON.parse(text) as { blocks: Record<string, Block> }).blocks;
}

async function listed(): Promise<string[]> {
  return page.locator(".problem-line .fix").allTextContents();
}

async function noProblems(): Promise<void> {
  await page.waitForSelector(".block.conflict", { state: "detached" });
  await expect.poll(listed).toEqual([]);
}

/** Selects a block by its title. */
async function select(name: string): Promise<void> {
  await page.click(`[id="block-${name}"] .block-title`);
  await page.locator(".canvas").focus();
}

async function opens(made: Record<string, Block>, layout: Record<string, number[]>): Promise<void> {
  await newPage(page, made, { layout: { blocks: layout } });
  await page.keyboard.press("Alt+4");
  await page.waitForSelector("#tab-problems:focus");
  await page.waitForSelector(".problem-line .fix");
}

const SUM = {
  a: constant([1, 2]),
  b: { op: "Cast", in: { x: "c:output" }, attrs: { DstT: "int32" } },
  c: constant([3, 4]),
  sum: { op: "AddV2", in: { x: "a:output", y: "b:y" } },
};
const SUM_LAYOUT = { a: [0, 0], c: [0, 160], b: [260, 160], sum: [560, 40] };

test("a Cast is inserted from the list of problems by the mouse, as one step that can be undone", async () => {
  await opens(SUM, SUM_LAYOUT);
  expect(await listed()).toEqual(["Insert Cast before y (DstT = float32)"]);
  await page.click(".problem-line .fix");
  await noProblems();
  const made = await blocks();
  expect(made.sum?.in).toEqual({ x: "a:output", y: "cast:y" });
  expect(made.cast).toEqual({ op: "Cast", in: { x: "b:y" }, attrs: { DstT: "float32" } });
  await page.keyboard.press("Control+z");
  await page.waitForSelector(".problem-line .fix");
  expect(await blocks()).toEqual(SUM);
});

test("a Cast is inserted at the block by the mouse, once however often it is clicked", async () => {
  await opens(SUM, SUM_LAYOUT);
  await page.dblclick("#block-sum .block-problem .fix");
  await noProblems();
  expect(Object.keys(await blocks())).toEqual(["a", "b", "c", "sum", "cast"]);
});

test("of several fixes one is chosen by keys: a constant gets the dtype that the others have", async () => {
  await opens(
    {
      a: constant([1, 2]),
      b: constant([3, 4], "int32"),
      sum: { op: "AddV2", in: { x: "a:output", y: "b:output" } },
    },
    { a: [0, 0], b: [0, 160], sum: [320, 40] },
  );
  await select("sum");
  await page.keyboard.press("q");
  await page.waitForSelector(".menu");
  expect(await page.locator(".menu [role=menuitem]").allTextContents()).toEqual([
    "Make y float32",
    "Insert Cast before y (DstT = float32)",
  ]);
  await page.keyboard.press("Enter");
  await noProblems();
  expect((await blocks()).b).toEqual(constant([3, 4]));
});

test("a window that does not fit gets SAME, by keys alone and without a selection", async () => {
  await opens(
    {
      x: constant([
        [
          [[1], [2]],
          [[3], [4]],
        ],
      ]),
      pool: {
        op: "MaxPool",
        in: { input: "x:output" },
        attrs: { ksize: [1, 5, 5, 1], strides: [1, 1, 1, 1], padding: "VALID" },
      },
    },
    { x: [0, 0], pool: [320, 0] },
  );
  await page.locator(".canvas").focus();
  await page.keyboard.press("q");
  await noProblems();
  expect((await blocks()).pool?.attrs?.padding).toBe("SAME");
});

test.each([
  [
    "transposed",
    [2, 3],
    [4, 3],
    "Set transpose_b = true",
    { a: "a:output", b: "b:output" },
    { transpose_b: true },
  ],
  ["swapped", [3, 4], [2, 3], "Swap a and b", { a: "b:output", b: "a:output" }, undefined],
] as const)("matrices that do not meet are %s", async (_, first, second, text, inputs, attrs) => {
  await opens(
    {
      a: constant(rows(first)),
      b: constant(rows(second)),
      product: { op: "MatMul", in: { a: "a:output", b: "b:output" } },
    },
    { a: [0, 0], b: [0, 200], product: [320, 40] },
  );
  expect(await listed()).toEqual([text]);
  await page.click(".problem-line .fix");
  await noProblems();
  const { product } = await blocks();
  expect([product?.in, product?.attrs]).toEqual([inputs, attrs]);
});

test("a bias of another size is set to the number of channels", async () => {
  await opens(
    {
      x: constant([[[[1, 2, 3]]]]),
      b: constant([1, 2]),
      sum: { op: "BiasAdd", in: { value: "x:output", bias: "b:output" } },
    },
    { x: [0, 0], b: [0, 200], sum: [320, 40] },
  );
  expect(await listed()).toEqual(["Resize bias to [3]"]);
  await page.click(".problem-line .fix");
  await noProblems();
  expect((await blocks()).b).toEqual(constant([1, 2, 0]));
});

const WINDOW = { ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "VALID" };
const POOLS = {
  x: constant([rows([4, 4]).map((row) => row.map((cell) => [cell]))]),
  pool: { op: "MaxPool", in: { input: "x:output" }, attrs: WINDOW },
  ones: { op: "OnesLike", in: { x: "pool:output" } },
  grad: {
    op: "MaxPoolGrad",
    in: { orig_input: "x:output", orig_output: "pool:output", grad: "ones:y" },
    attrs: { ksize: [1, 3, 3, 1], strides: [1, 1, 1, 1], padding: "SAME" },
  },
};

async function setKsize(block: string, size: string): Promise<void> {
  await select(block);
  await page.keyboard.press("Alt+2");
  const field = page.locator('.panel [aria-label="ksize H"]');
  await field.fill(size);
  await field.press("Enter");
  await page.keyboard.press("Escape");
}

test("a gradient block is matched to its forward block, follows it, and stays as it is once parted", async () => {
  await opens(POOLS, { x: [0, 0], pool: [300, 0], ones: [0, 240], grad: [300, 240] });
  expect(await listed()).toEqual([
    "Match pool: ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = VALID",
  ]);
  await select("grad");
  await page.keyboard.press("q");
  await noProblems();
  expect((await blocks()).grad?.attrs).toEqual(WINDOW);
  // Linked: one change of the forward block is one of both, and so is its undo.
  await setKsize("pool", "1");
  const both = await blocks();
  expect([both.pool?.attrs?.ksize, both.grad?.attrs?.ksize]).toEqual([
    [1, 1, 2, 1],
    [1, 1, 2, 1],
  ]);
  await select("grad");
  await page.keyboard.press("Alt+2");
  await page.waitForSelector(".panel .linked");
  await page.keyboard.press("Control+z");
  expect((await blocks()).grad?.attrs).toEqual(WINDOW);
  // Parted: the gradient block has its own value, which the forward block's leaves alone.
  await setKsize("grad", "3");
  await setKsize("pool", "1");
  const parted = await blocks();
  expect([parted.pool?.attrs?.ksize, parted.grad?.attrs?.ksize]).toEqual([
    [1, 1, 2, 1],
    [1, 3, 2, 1],
  ]);
});

test("the dtype of a Const is set in one place", async () => {
  await newPage(page, { c: { op: "Const", attrs: { value: [1, 2], dtype: "float64" } } });
  await select("c");
  await page.keyboard.press("Alt+2");
  const types = page.locator(".panel select", { has: page.locator("option", { hasText: "bfloat16" }) });
  await expect.poll(() => types.count()).toBe(1);
  expect(await types.inputValue()).toBe("float64");
  expect(await page.locator("#block-c .attr-name").allTextContents()).toEqual(["value"]);
  await types.selectOption("int32");
  await expect.poll(async () => (await blocks()).c).toEqual(constant([1, 2], "int32"));
});
