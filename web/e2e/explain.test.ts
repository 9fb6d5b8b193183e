/** The Explain view: what lights up and where numbers come from, by mouse and by keyboard alone. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { inEveryTheme } from "./axe.ts";
import { library, type Opened, open, restingBox, writeWithMonitorsInPanel } from "./harness.ts";

/** One of each kind of op that lights up its sources. */
const MOVES = {
  format: 1,
  title: "Moves",
  blocks: {
    a: constant([2, 3, 4]),
    turned: { op: "Transpose", in: { x: "a:output", perm: { dtype: "int32", value: [2, 0, 1] } } },
    flat: { op: "Reshape", in: { tensor: "a:output", shape: { dtype: "int32", value: [6, 4] } } },
    product: { op: "MatMul", in: { a: "flat:output", b: "flat:output" }, attrs: { transpose_b: true } },
    sum: { op: "Sum", in: { input: "a:output", axis: { dtype: "int32", value: [1] } } },
    row: constant([4]),
    added: { op: "AddV2", in: { x: "a:output", y: "row:output" } },
    less: { op: "Sub", in: { x: "a:output", y: "row:output" } },
    joined: {
      op: "ConcatV2",
      in: { values: ["flat:output", "flat:output"], axis: { dtype: "int32", value: 0 } },
    },
    picked: {
      op: "GatherV2",
      in: {
        params: "flat:output",
        indices: { dtype: "int32", value: [5, 0, 5] },
        axis: { dtype: "int32", value: 0 },
      },
    },
    part: {
      op: "Slice",
      in: {
        input: "a:output",
        begin: { dtype: "int32", value: [0, 1, 1] },
        size: { dtype: "int32", value: [2, 2, 3] },
      },
    },
    padded: {
      op: "Pad",
      in: {
        input: "row:output",
        paddings: { dtype: "int32", value: [[2, 1]] },
      },
    },
  },
  run: {
    fetch: [
      "turned:y",
      "product:product",
      "sum:output",
      "added:z",
      "less:z",
      "joined:output",
      "picked:output",
      "part:output",
      "padded:output",
    ],
  },
};

/** More cells than a tab takes whole. */
const HUGE = {
  format: 1,
  title: "Huge",
  blocks: {
    volume: {
      op: "StatelessRandomNormal",
      in: {
        shape: { dtype: "int32", value: [1, 160, 160, 128, 1] },
        seed: { dtype: "int32", value: [6, 1] },
      },
    },
    pool: {
      op: "MaxPool3D",
      in: { input: "volume:output" },
      attrs: { ksize: [1, 3, 3, 3, 1], strides: [1, 2, 2, 2, 1], padding: "SAME" },
    },
  },
};

/** Windows with a NaN and with ties, codes of numbers, drawn windows, channels that come first, and a whole row. */
const KINDS = {
  format: 1,
  title: "Kinds",
  blocks: {
    odd: typed("float32", [
      [
        [[1], [3], ["nan"]],
        [[3], [2], [5]],
        [[4], [4], [0]],
      ],
    ]),
    pool: {
      op: "MaxPool",
      in: { input: "odd:output" },
      attrs: { ksize: [1, 2, 2, 1], strides: [1, 1, 1, 1], padding: "VALID" },
    },
    codes: typed("uint8", [
      [
        [[10], [200], [30]],
        [[3], [20], [255]],
        [[4], [4], [0]],
      ],
    ]),
    coded: {
      op: "QuantizedConv2D",
      in: {
        input: "codes:output",
        filter: {
          dtype: "uint8",
          value: [
            [[[128]], [[200]]],
            [[[10]], [[64]]],
          ],
        },
        min_input: { dtype: "float32", value: -1 },
        max_input: { dtype: "float32", value: 1 },
        min_filter: { dtype: "float32", value: -2 },
        max_filter: { dtype: "float32", value: 2 },
      },
      attrs: { strides: [1, 1, 1, 1], padding: "SAME" },
    },
    averaged: {
      op: "QuantizedAvgPool",
      in: {
        input: "codes:output",
        min_input: { dtype: "float32", value: -1 },
        max_input: { dtype: "float32", value: 1 },
      },
      attrs: { ksize: [1, 2, 2, 1], strides: [1, 1, 1, 1], padding: "VALID" },
    },
    image: constant([1, 4, 4, 1]),
    resized: {
      op: "FusedResizeAndPadConv2D",
      in: {
        input: "image:output",
        size: { dtype: "int32", value: [6, 6] },
        paddings: {
          dtype: "int32",
          value: [
            [0, 0],
            [1, 1],
            [1, 1],
            [0, 0],
          ],
        },
        filter: {
          dtype: "float32",
          value: [
            [[[1]], [[0.5]]],
            [[[-1]], [[2]]],
          ],
        },
      },
      attrs: { mode: "REFLECT", strides: [1, 2, 2, 1], padding: "VALID" },
    },
    drawn: {
      op: "FractionalAvgPool",
      in: { value: "image:output" },
      attrs: { pooling_ratio: [1, 1.5, 1.5, 1] },
    },
    drawn_grad: {
      op: "FractionalAvgPoolGrad",
      in: {
        orig_input_tensor_shape: { dtype: "int64", value: [1, 4, 4, 1] },
        out_backprop: "drawn:output",
        row_pooling_sequence: "drawn:row_pooling_sequence",
        col_pooling_sequence: "drawn:col_pooling_sequence",
      },
    },
    first: constant([1, 2, 3, 3]),
    channels: {
      op: "AvgPool",
      in: { value: "first:output" },
      attrs: { ksize: [1, 1, 2, 2], strides: [1, 1, 1, 1], padding: "VALID", data_format: "NCHW" },
    },
    rows: constant([2, 3]),
    soft: { op: "Softmax", in: { logits: "rows:output" } },
  },
};

function typed(dtype: string, value: unknown): object {
  return { op: "Const", attrs: { value: { dtype, value } } };
}

function constant(shape: number[]): object {
  const from = { place: 0 };
  const fill = ([size, ...rest]: number[]): unknown =>
    size === undefined ? ((from.place++ * 7) % 11) - 3 : Array.from({ length: size }, () => fill(rest));
  return { op: "Const", attrs: { value: { dtype: "float32", value: fill(shape) } } };
}

let opened: Opened;
let page: Page;

beforeAll(async () => {
  opened = await open({
    prepare: ({ folder }) => {
      writeFileSync(path.join(folder, "moves.page.json"), JSON.stringify(MOVES));
      writeFileSync(path.join(folder, "huge.page.json"), JSON.stringify(HUGE));
      writeFileSync(path.join(folder, "kinds.page.json"), JSON.stringify(KINDS));
      writeWithMonitorsInPanel(folder, "lesson_avg_pool_edge");
    },
  });
  page = opened.page;
  await page.waitForSelector(".card");
});
afterAll(async () => {
  await opened?.end();
});
beforeEach(() => {
  opened.errors.length = 0;
});

async function ran(): Promise<void> {
  await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
}

async function openLesson(title: string): Promise<void> {
  if (await page.locator(".explain").count()) await leave();
  await page.click(".brand");
  await page.locator(".card", { hasText: title }).first().click();
  await page.waitForSelector(".canvas");
  await ran();
}

async function select(block: string): Promise<void> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+f");
  await page.keyboard.type(block);
  await page.keyboard.press("Enter");
  await page.locator(".canvas").focus();
}

async function explain(block: string): Promise<void> {
  await select(block);
  await page.keyboard.press("e");
  await page.waitForSelector(".explain-tensor .tensor-map");
}

async function leave(): Promise<void> {
  await page.locator(".explain-bar button").first().click();
  // The focus comes a frame later, and would be taken from what is typed into before.
  await page.waitForSelector(".canvas:focus");
}

/** The panel of a tensor, by the name that the page has for it. */
function panel(pin: string): Locator {
  return page.locator(".explain-tensor", { has: page.locator(`header span[title^="${pin} "]`) });
}

function map(pin: string): Locator {
  return panel(pin).locator(".tensor-map");
}

async function status(): Promise<string> {
  return (await page.locator(".explain-status").textContent()) ?? "";
}

async function statusIs(text: string): Promise<void> {
  await expect.poll(status).toBe(text);
}

/** Waits until the marks of these tensors have so many points at least: they are drawn with the next frame. */
async function lit(pins: readonly string[], least: number): Promise<void> {
  for (const pin of pins) await expect.poll(() => marked(pin), { message: pin }).toBeGreaterThan(least);
}

/** How many points of a tensor's marks are not clear. */
function marked(pin: string): Promise<number> {
  return map(pin)
    .locator("canvas")
    .nth(1)
    .evaluate((canvas: HTMLCanvasElement) => {
      const g = canvas.getContext("2d") as CanvasRenderingContext2D;
      const { data } = g.getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i]) count++;
      return count;
    });
}

/** Moves to the first cell of a tensor, and steps through all of it; every total must be the shown number. */
async function walk(pin: string, cells: number): Promise<void> {
  await map(pin).focus();
  await page.keyboard.press("ArrowRight");
  // Beyond the left edge of a tile is the one before it.
  for (let tile = 0; tile < 4; tile++)
    for (const key of ["Control+Home", "ArrowLeft"]) await page.keyboard.press(key);
  await page.keyboard.press("Control+Home");
  // In the first row a tensor is called by the name of its pin alone.
  await expect.poll(status).toMatch(new RegExp(`^(pinned: )?(${pin}|${pin.split(":")[1]})\\[0(,0)*\\]`));
  for (let cell = 0; cell < cells; cell++) {
    const total = page.locator(".explain-made").first().locator("[data-agrees]");
    await expect.poll(() => total.getAttribute("data-agrees")).toBe("true");
    const before = await status();
    if (cell === cells - 1) return;
    await page.keyboard.press("s");
    await expect.poll(status).not.toBe(before);
  }
}

describe("max pooling and its gradient", () => {
  test("a cell under the pointer lights up its window, its winner and its gradient, without a request", async () => {
    await openLesson("What max pooling keeps");
    await page.click("#block-pool .block-title");
    await page.getByRole("button", { name: "Explain cell by cell" }).click();
    await page.waitForSelector(".explain-tensor .tensor-map");
    await page.evaluate(() => {
      const { send } = WebSocket.prototype;
      const seen: unknown[] = [];
      WebSocket.prototype.send = function (data) {
        seen.push(data);
        send.call(this, data);
      };
      Object.assign(window, { seen });
    });
    /** What was sent since this was asked last. */
    const sent = () => page.evaluate(() => (window as unknown as { seen: unknown[] }).seen.splice(0));
    const box = await restingBox(map("pool:output"));
    // What the view itself has to ask for may still be on its way.
    const quiet = async () => {
      await page.waitForTimeout(600);
      return sent();
    };
    await expect.poll(quiet).toEqual([]);
    await page.mouse.move(box.x + 12, box.y + 30);
    const [value, window, winner] = (await library(`
import json, numpy as np, backblocks as bb
from backblocks import examples
page = bb.open_page(examples.path("lesson_max_pool"))
x = np.array(page.blocks["volume"].attrs["value"]["value"])[0, :2, :2, :2, 0]
place = np.unravel_index(x.argmax(), x.shape)
print(json.dumps([x.max(), "[0, 0-1, 0-1, 0-1, 0]", [0, *map(int, place), 0]]))
`)) as [number, string, number[]];
    await statusIs(`output[0,0,0,0,0] = ${value}, maximum of input${window}, at [${winner.join(",")}]`);
    await lit(["volume:output", "pool:output", "grad:output", "back:output"], 100);
    expect(await sent()).toEqual([]);
    expect(await page.locator(".explain-table tbody tr").count()).toBe(8);
    expect(await page.locator(".explain-table tr.part-wins").count()).toBe(1);
    expect(opened.errors).toEqual([]);
  });

  test("a click pins the cell, Escape releases it, and the buttons step and play", async () => {
    const box = await restingBox(map("pool:output"));
    await page.mouse.click(box.x + 12, box.y + 30);
    await expect.poll(status).toContain("pinned: output[0,0,0,0,0]");
    const pinned = await status();
    await page.mouse.move(box.x + 90, box.y + 30);
    // Time enough for a cell that must not be said.
    await page.waitForTimeout(100);
    expect(await status()).toBe(pinned);
    await page.keyboard.press("Escape");
    await expect.poll(status).not.toContain("pinned");
    await page.mouse.move(box.x + 200, box.y - 200);
    await page.getByRole("button", { name: "Step", exact: true }).click();
    await expect.poll(status).toContain("output[0,0,0,1,0]");
    await page.getByRole("button", { name: "Step back" }).click();
    await expect.poll(status).toContain("output[0,0,0,0,0]");
    await page.getByRole("button", { name: "Play" }).click();
    await expect.poll(status).toMatch(/output\[0,(?!0,0,0,0\])/);
    await page.getByRole("button", { name: "Pause" }).click();
    const stays = async () => {
      const before = await status();
      await page.waitForTimeout(1000);
      return (await status()) === before;
    };
    await expect.poll(stays).toBe(true);
    expect(await status()).not.toContain("output[0,1,1,1,0]");
    // Each cell is shown for a moment only; the last one stays.
    await page.getByRole("button", { name: "Play" }).click();
    await expect.poll(status).toContain("output[0,1,1,1,0]");
    await page.getByRole("button", { name: "Play" }).waitFor();
  });

  test("every number is the sum of its contributions", async () => {
    await walk("pool:output", 8);
    await walk("back:output", 16);
  });

  test("a finite difference agrees with the gradient", async () => {
    await map("back:output").focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("button", { name: "Check with a finite difference" }).click();
    await expect.poll(() => page.locator(".explain-check").textContent()).toContain("They agree.");
  });

  test("what is found of a cell is not said of the next one", async () => {
    await page.evaluate(() => {
      const { send } = WebSocket.prototype;
      WebSocket.prototype.send = function (data) {
        WebSocket.prototype.send = send;
        setTimeout(() => send.call(this, data), 300);
      };
    });
    await page.getByRole("button", { name: "Check with a finite difference" }).click();
    await page.keyboard.press("s");
    // Time enough for the answer, which must not be shown.
    await page.waitForTimeout(800);
    expect(await page.locator(".explain-check p").count()).toBe(0);
  });

  test("a box of cells is loaded when it is asked for, shows the same cursor, and turns by keys", async () => {
    const loaded = () =>
      page.evaluate(
        () => performance.getEntriesByType("resource").filter(({ name }) => name.includes("Volume")).length,
      );
    expect(await loaded()).toBe(0);
    await panel("volume:output").getByRole("button", { name: "3-D" }).click();
    const canvas = panel("volume:output").locator(".volume-box canvas");
    await canvas.waitFor();
    expect(await loaded()).toBe(1);
    const picture = () => canvas.evaluate((each: HTMLCanvasElement) => each.toDataURL());
    await restingBox(canvas);
    const before = await picture();
    await panel("volume:output").locator(".volume-box").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(picture).not.toBe(before);
    const turned = await picture();
    await page.keyboard.press("-");
    await expect.poll(picture).not.toBe(turned);
    const box = await restingBox(canvas);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await expect.poll(status).toMatch(/^input\[0,\d,\d,\d,0\] = /);
    await panel("volume:output").getByRole("button", { name: "Heatmap" }).click();
  });
});

describe("other windows", () => {
  test("ties are shown as the op treats them, and a finite difference says that it is not valid there", async () => {
    await openLesson("Ties");
    await explain("pool");
    await map("pool:output").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(status).toContain("at [0,0,0,1,0], with 1 cell as large");
    await expect.poll(() => page.locator(".explain-table tr.part-ties").count()).toBe(1);
    await map("all:output").focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowLeft"]) await page.keyboard.press(key);
    await walk("all:output", 4);
    await walk("first:output", 2);
    await page.getByRole("button", { name: "Check with a finite difference" }).click();
    await expect.poll(() => page.locator(".explain-check").textContent()).toContain("no slope");
  });

  test("a mean at an edge is over the cells that exist", async () => {
    await openLesson("Average pooling at a padded edge");
    await explain("pool");
    await walk("pool:output", 1);
    const aside = page.locator(".explain-aside");
    await expect.poll(() => aside.textContent()).toContain("5 cells of the window's 9 lie outside");
    expect(await aside.textContent()).toContain("÷ 4");
    await walk("pool:output", 16);
    await walk("back:output", 1);
    await expect.poll(() => aside.textContent()).toContain("divided by the cells that exist, not by 9");
    await walk("back:output", 16);
    await page.getByRole("button", { name: "Add the gradient of back with respect to grad" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".explain-strip").length === 3);
    await walk("d_back:output", 2);
  });

  test("a convolution and its two gradients add up, cell by cell", async () => {
    await openLesson("A convolution and its two gradients");
    await explain("conv");
    await walk("conv:output", 9);
    await walk("back_image:output", 25);
    await walk("back_filter:output", 9);
    await map("filter:output").focus();
    await page.keyboard.press("ArrowRight");
    await lit(["image:output", "conv:output", "back_filter:output", "back_image:output"], 50);
  });

  test("the second gradient of a convolution is a convolution of what flows back", async () => {
    await page
      .getByRole("button", { name: "Add the gradient of back_image with respect to out_backprop" })
      .click();
    await page.waitForFunction(() => document.querySelectorAll(".explain-strip").length === 4);
    await walk("d_back_image_out_backprop:output", 9);
    await lit(["conv:output"], 50);
  });

  test("the second gradient stands below the first", async () => {
    await openLesson("The second gradient");
    await explain("again");
    await expect
      .poll(() => page.locator(".explain-title").allTextContents())
      .toEqual(["Forward", "Gradient", "Second gradient"]);
    const last = await restingBox(page.locator(".explain-strip", { hasText: "MaxPool3DGradGrad" }));
    const below = await restingBox(page.locator(".explain-status"));
    expect(last.y + last.height).toBeLessThanOrEqual(below.y);
    await page.keyboard.press("s");
    // Steps begin in the block that was asked for.
    await expect
      .poll(() => page.locator(".explain-status").textContent())
      .toContain("output[0,0,0,0,0] = 0.2");
    await walk("again:output", 4);
    await expect
      .poll(() => page.locator(".explain-formula").first().textContent())
      .toBe("output[0,0,1,1,0] = grad[0,0,2,2,0] = 1.1");
    await lit(["volume:output", "back:output", "wish:output"], 50);
  });

  test("a gradient that is not there is added by a button, and shown", async () => {
    await openLesson("Strides and dilations");
    await explain("dilation_2");
    await page.getByRole("button", { name: "Add the gradient of dilation_2 with respect to filter" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".explain-strip").length === 2);
    await walk("d_dilation_2_filter:output", 9);
    expect(opened.errors).toEqual([]);
  });
});

test("a picture fills its monitor below the canvas too", async () => {
  if (await page.locator(".explain").count()) await leave();
  await page.click(".brand");
  await page.locator(".file-list button", { hasText: "in_panel" }).click();
  await page.waitForSelector(".canvas");
  await page.keyboard.press("Control+Enter");
  await ran();
  await page.click("#tab-monitors");
  const picture = page.locator(".monitor-strip canvas.map").first();
  await expect.poll(async () => (await picture.boundingBox())?.width ?? 0).toBeGreaterThan(150);
});

test("ops that move, join, pick, add and multiply cells light up their sources", async () => {
  if (await page.locator(".explain").count()) await leave();
  await page.click(".brand");
  await page.locator(".file-list button", { hasText: "moves" }).click();
  await page.waitForSelector(".canvas");
  await page.keyboard.press("Control+Enter");
  await ran();
  for (const [block, said] of [
    ["turned", "y[3,1,2] = 4, a copy of x[1, 2, 3]"],
    ["flat", "output[5,3] = 4, a copy of tensor[1, 2, 3]"],
    ["product", "product[5,5] = 51, sum over a[5, 0-3] times b[5, 0-3]"],
    ["sum", "output[1,3] = 5, sum over input[1, 0-2, 3]"],
    ["added", "z[1,2,3] = 11, sum of x[1, 2, 3] and y[3]"],
    ["less", "z[1,2,3] = -3, x[1, 2, 3] minus y[3]"],
    ["joined", "output[11,3] = 4, a copy of values[1][5, 3]"],
    ["picked", "output[2,3] = 4, a copy of params[5, 3]"],
    ["part", "output[1,1,2] = 4, a copy of input[1, 2, 3]"],
    ["padded", "output[6] = 0, no cell leads to it"],
  ] as const) {
    await explain(block);
    await map(`${block}:${said.split("[")[0]}`).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Control+End");
    await statusIs(said);
    await leave();
  }
});

describe("every kind of window", () => {
  const aside = async () => (await page.locator(".explain-aside").textContent()) ?? "";
  const rule = () => page.locator(".explain-op .formula").first().textContent();

  test("a difference from TensorFlow is marked at the cell that it touches, and not at others", async () => {
    await page.click(".brand");
    await page.locator(".file-list button", { hasText: "kinds" }).click();
    await page.waitForSelector(".canvas");
    await page.keyboard.press("Control+Enter");
    await ran();
    await explain("pool");
    await map("pool:output").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(aside).toContain("Not at this cell:");
    expect(await page.locator(".difference.here").count()).toBe(0);
    await page.keyboard.press("ArrowRight");
    const here = page.locator(".difference.here");
    await expect.poll(() => here.count()).toBe(1);
    expect(await here.textContent()).toContain("A NaN is among the numbers that lead here.");
    expect(await here.textContent()).toContain("MaxPool nan");
    await leave();
  });

  test("codes are multiplied, averaged and shown with what they stand for", async () => {
    await explain("coded");
    await walk("coded:output", 9);
    await expect.poll(aside).toContain("The numbers that they represent are multiplied and added up");
    await leave();
    await explain("averaged");
    await walk("averaged:output", 4);
    await expect.poll(aside).toContain("÷ 4 = 69.75 → 69");
    expect(await aside()).toContain("truncated to an integer");
    await leave();
  });

  test("an image that is resized first has the weights of what it is made of", async () => {
    await explain("resized");
    await walk("resized:output", 9);
    await expect.poll(() => page.locator(".explain-table th").allTextContents()).toContain("weight");
    await leave();
  });

  test("windows that were drawn are checked as they were drawn", async () => {
    await explain("drawn_grad");
    await walk("drawn_grad:output", 16);
    await page.getByRole("button", { name: "Check with a finite difference" }).click();
    await expect.poll(() => page.locator(".explain-check").textContent()).toContain("They agree.");
    await leave();
  });

  test("the rule is written in the layout of the block", async () => {
    await explain("channels");
    await expect.poll(rule).toBe("output[n, c, h, w] = meankh, kw value[n, c, h + kh, w + kw]");
    expect(await panel("first:output").locator("header").textContent()).toContain("value");
    await leave();
  });

  test("what only the op can tell is said as the op and what it gives", async () => {
    await explain("soft");
    await map("soft:softmax").focus();
    await page.keyboard.press("ArrowRight");
    await expect
      .poll(() => page.locator(".explain-formula").first().textContent())
      .toMatch(/^softmax\[0,0\] = Softmax\(-3, 4, 0\) = 0\.0008/);
    expect(await page.locator(".explain-total").textContent()).toMatch(/^Softmax gives 0\.0008/);
    await leave();
    expect(opened.errors).toEqual([]);
  });
});

test("of tensors that are too large to be fetched, the numbers behind a cell come when it is pinned", async () => {
  await page.click(".brand");
  await page.locator(".file-list button", { hasText: "huge" }).click();
  await page.waitForSelector(".canvas");
  await page.keyboard.press("Control+Enter");
  await ran();
  await explain("pool");
  expect(await panel("volume:output").textContent()).toContain("are fetched when it is pinned");
  await map("pool:output").focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(status).toContain("output[0,0,0,0,0] = ");
  expect(await page.locator("[data-agrees]").count()).toBe(0);
  await page.keyboard.press("Enter");
  const total = page.locator("[data-agrees]");
  await expect.poll(() => total.getAttribute("data-agrees")).toBe("true");
  await page.keyboard.press("Escape");
  await leave();
});

test("all of it works by keyboard alone", async () => {
  await openLesson("What max pooling keeps");
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+f");
  await page.keyboard.type("pool");
  await page.keyboard.press("Enter");
  await page.keyboard.press("e");
  await page.waitForSelector(".explain-tensor .tensor-map");
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    if (
      await page.evaluate(
        () =>
          document.activeElement?.closest("[aria-label='output output']") !== null &&
          document.activeElement?.classList.contains("tensor-map"),
      )
    )
      break;
  }
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await expect.poll(status).toContain("output[0,0,1,0,0] = ");
  await page.keyboard.press("Enter");
  await expect.poll(status).toContain("pinned");
  await page.keyboard.press("ArrowRight");
  await expect.poll(status).toContain("pinned: output[0,0,1,1,0]");
  await page.keyboard.press("Escape");
  await expect.poll(status).not.toContain("pinned");
  await page.keyboard.press("s");
  await expect.poll(status).toContain("output[0,1,0,0,0]");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement?.classList.contains("canvas"));
  expect(await page.locator(".explain").count()).toBe(0);
});

describe("axe finds nothing serious", () => {
  test("while a cell is explained, as maps, with axes and as a box", async () => {
    await openLesson("The second gradient");
    await explain("pool");
    await map("back:output").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await panel("volume:output").getByRole("button", { name: "Axes" }).click();
    await panel("wish:output").getByRole("button", { name: "3-D" }).click();
    await page.getByRole("button", { name: "Check with a finite difference" }).click();
    await page.locator(".explain-check p .mono").waitFor();
    await panel("wish:output").locator(".volume-box canvas").waitFor();
    await inEveryTheme(page);
  });

  test("in Korean", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".canvas");
    await page.keyboard.press("Control+,");
    await page.selectOption("#setting-language", "ko");
    await page.keyboard.press("Escape");
    await select("pool");
    await page.keyboard.press("e");
    await page.waitForSelector(".explain-tensor .tensor-map");
    await map("pool:output").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(status).toContain("최댓값");
    await expect.poll(() => page.locator(".explain-aside").textContent()).toContain("이 셀이 아닌 곳:");
    await map("back:output").focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("button", { name: "유한 차분으로 확인" }).click();
    await expect.poll(() => page.locator(".explain-check").textContent()).toContain("서로 맞습니다.");
    expect(await page.locator(".explain-op .formula").nth(1).textContent()).toContain(", 단 argmax");
    await inEveryTheme(page);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".canvas");
    await expect.poll(() => page.locator(".note").first().textContent()).toContain("2차 기울기");
    await page.keyboard.press("Control+,");
    await page.selectOption("#setting-language", "en");
    await page.keyboard.press("Escape");
  });
});
