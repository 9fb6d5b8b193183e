/** The inspector: what blocks hold, by mouse and by keyboard alone, against the library's own numbers. */

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { inEveryTheme } from "./axe.ts";
import { library, type Opened, restingBox } from "./harness.ts";
import { inspecting, openInspector } from "./inspecting.ts";

const WINDOWS = { ksize: [1, 2, 2, 2, 1], strides: [1, 2, 2, 2, 1], padding: "VALID" };
const VOLUME = [1, 4, 4, 4, 2];

/** Numbers of both signs, from a fixed order. */
function numbers(shape: readonly number[], from = { place: 0 }): unknown {
  const [size, ...rest] = shape;
  if (size === undefined) return ((from.place++ * 37) % 101) - 50;
  return Array.from({ length: size }, () => numbers(rest, from));
}

const BLOCKS = {
  volume: { op: "Const", attrs: { value: { dtype: "float32", value: numbers(VOLUME) } } },
  max: { op: "MaxPool3D", attrs: WINDOWS, in: { input: "volume:output" } },
  mean: { op: "AvgPool3D", attrs: WINDOWS, in: { input: "volume:output" } },
  log: { op: "Log", in: { x: "mean:output" } },
  twice: { op: "Add", in: { x: "log:y", y: "log:y" } },
  matrix: { op: "Const", attrs: { value: { dtype: "float32", value: numbers([3, 3]) } } },
  square: { op: "Square", in: { x: "matrix:output" } },
  count: { op: "Range", in: { start: 0, limit: 1_000_000, delta: 1 } },
  big: { op: "Reshape", in: { tensor: "count:output", shape: { dtype: "int32", value: [1000, 1000] } } },
};

const LIBRARY = `
import json, numpy as np
from backblocks import raw_ops as ops
blocks = json.loads(${JSON.stringify(JSON.stringify(BLOCKS))})
x = np.array(blocks["volume"]["attrs"]["value"]["value"], np.float32)
how = blocks["max"]["attrs"]
a, b = (np.asarray(op(input=x, **how)) for op in (ops.MaxPool3D, ops.AvgPool3D))
with np.errstate(all="ignore"):
    log = np.log(b)
print(json.dumps(dict(
    high=float(a.max()), low=float(a.min()), mean=float(a.mean()), first=float(a.ravel()[0]),
    differ=int((a != b).sum()), worst=[int(i) for i in np.unravel_index(np.abs(a - b).argmax(), a.shape)],
    bad=[int(i) for i in np.argwhere(~np.isfinite(log))[0]], nans=int(np.isnan(log).sum()),
)))
`;

interface Expected {
  high: number;
  low: number;
  mean: number;
  first: number;
  differ: number;
  worst: number[];
  bad: number[];
  nans: number;
}

let opened: Opened;
let page: Page;
let expected: Expected;
let inspector: ReturnType<typeof inspecting>;

beforeAll(async () => {
  opened = await openInspector(BLOCKS);
  page = opened.page;
  inspector = inspecting(page);
  expected = (await library(LIBRARY)) as Expected;
});
afterAll(async () => {
  await opened?.end();
});
afterEach(() => {
  expect(opened.errors.splice(0)).toEqual([]);
});

describe("by mouse", () => {
  beforeEach(async () => {
    await inspector.select("max");
    await inspector.show("Heatmap");
  });

  test("the statistics are the library's, and axes are named from the data format", async () => {
    await expect.poll(() => inspector.statistic("Max")).toBeCloseTo(expected.high);
    await expect.poll(() => inspector.statistic("Min")).toBeCloseTo(expected.low);
    await expect.poll(() => inspector.statistic("Mean")).toBeCloseTo(expected.mean, 2);
    const roles = async () =>
      (await page.locator(".axis-role").allTextContents()).map((text) => text.replace(/ \d+$/, ""));
    await expect.poll(roles).toEqual(["RowsH", "ColumnsW", "Tiles acrossD", "Tiles downC", "SlidersN"]);
  });

  test("a cell that is pointed at is said with its number", async () => {
    const { x, y } = await inspector.cellAt(14, 30);
    await page.mouse.move(x, y);
    await expect
      .poll(() => inspector.line().textContent())
      .toBe(`max:output[0, 0, 0, 0, 0] = ${expected.first}`);
  });

  test("the map is drawn in colours, and a cell has its number", async () => {
    const colours = () =>
      page
        .locator(".tensor-map canvas")
        .first()
        .evaluate((canvas: HTMLCanvasElement) => {
          const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(
            0,
            0,
            canvas.width,
            canvas.height,
          );
          return new Set(new Uint32Array(data.buffer)).size;
        });
    await expect.poll(colours).toBeGreaterThan(8);
  });

  test("an axis is dragged from one role to another, and the one there takes its place", async () => {
    const from = await restingBox(page.locator('[data-axis-role="across"] .axis-chip').first());
    const to = await restingBox(page.locator('[data-axis-role="rows"]').first());
    await page.mouse.move(from.x + 8, from.y + 8);
    await page.mouse.down();
    await page.mouse.move(to.x + 10, to.y + 10, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => page.locator('[data-axis-role="rows"]').textContent()).toBe("RowsD 2");
    expect(await page.locator('[data-axis-role="across"]').textContent()).toBe("Tiles acrossH 2");
  });

  test("the next NaN or infinity is found, and the block that made it first", async () => {
    await inspector.select("twice");
    await expect.poll(() => inspector.statistic("NaN")).toBe(expected.nans);
    await page.getByRole("button", { name: "Next NaN or infinity" }).click();
    await expect
      .poll(() => inspector.line().textContent())
      .toContain(`twice:z[${expected.bad.join(", ")}] = nan`);
    await page.getByRole("button", { name: /^First in log:y/ }).click();
    await page.waitForSelector('.pane[aria-label="log:y"]');
  });

  test("two tensors stand side by side with the same colours, and one is kept", async () => {
    await page.getByRole("button", { name: /^Pin this tensor/ }).click();
    await inspector.select("mean");
    await expect.poll(() => page.locator(".pane").count()).toBe(2);
    const same = page.getByRole("button", { name: "Shared", exact: true }).first();
    await expect.poll(() => same.getAttribute("aria-pressed")).toBe("true");
    const ranges = async () => {
      const all = await inspector.ranges();
      return [all.length, new Set(all).size];
    };
    await expect.poll(ranges).toEqual([2, 1]);
    await expect
      .poll(() => page.locator(".range-said").first().textContent())
      .toBe("One range for all 2 tensors.");
    await page.getByRole("button", { name: "Own", exact: true }).first().click();
    await expect.poll(ranges).toEqual([2, 2]);
    await same.click();
    await expect.poll(async () => new Set(await inspector.ranges()).size).toBe(1);
    await inspector.letAllGo();
  });

  test("of four side by side, the one of the selection is in sight", async () => {
    for (const block of ["max", "mean", "log"]) {
      await inspector.select(block);
      await inspector.keep(block);
    }
    const whole = (block: string) =>
      page.locator(`.pane[aria-label^="${block}:"]`).evaluate((pane) => {
        const [inner, outer] = [pane, pane.parentElement as Element].map((each) =>
          each.getBoundingClientRect(),
        );
        return inner && outer && inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
      });
    for (const block of ["twice", "max", "square"]) {
      await inspector.select(block);
      await expect.poll(() => whole(block), { message: block }).toBe(true);
    }
    expect(await page.locator(".pane").count()).toBe(4);
    await inspector.letAllGo();
  });

  test("A and B are compared: how many cells differ, and where most", async () => {
    await page.getByRole("button", { name: /^Compare as A/ }).click();
    await inspector.select("mean");
    await page.getByRole("button", { name: /^Compare as B/ }).click();
    const compared = page.locator(".pane.compares");
    await compared.waitFor();
    await expect
      .poll(() => compared.locator(".worst p").textContent())
      .toBe(expected.differ === 0 ? "All cells are equal." : `${expected.differ} cells differ`);
    expect(await compared.locator(".worst li").count()).toBe(Math.min(10, expected.differ));
    await compared.locator(".worst li button").first().click();
    await expect
      .poll(() => compared.locator(".cell-line [role=status]").textContent())
      .toContain(`[${expected.worst.join(", ")}]`);
    for (const by of ["relative", "ulp"]) {
      await compared.locator("select").first().selectOption(by);
      await expect.poll(() => compared.locator(".worst li").count()).toBeGreaterThan(0);
    }
    await inEveryTheme(page);
    await page.getByRole("button", { name: "End the comparison" }).click();
  });

  test("all of its axes are copied as NumPy", async () => {
    await inspector.choose("Copy as NumPy");
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toMatch(/^np\.array\(\[\[\[\[\[/);
    const text = await page.evaluate(() => navigator.clipboard.readText());
    expect(await library(`import json, numpy as np; print(json.dumps(float((${text}).max())))`)).toBeCloseTo(
      expected.high,
    );
  });

  test("the handles of the histogram say which numbers have colours", async () => {
    const handle = page.getByRole("slider", { name: "Upper end of the colour range" });
    const box = await restingBox(handle);
    await page.mouse.move(box.x + 12, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x - 60, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    const [now, most] = ["aria-valuenow", "aria-valuemax"].map(
      (name) => async () => Number(await handle.getAttribute(name)),
    ) as [() => Promise<number>, () => Promise<number>];
    await expect.poll(now).toBeLessThan(expected.high);
    await page.locator(".range-mode select").selectOption("all");
    await expect.poll(async () => [(await most()) > 0, (await most()) - (await now())]).toEqual([true, 0]);
  });

  test("it is docked at the right and back again", async () => {
    await page.getByRole("button", { name: "Dock at the right" }).click();
    await page.waitForSelector("#right .tensor-map");
    await page.getByRole("button", { name: "Dock at the bottom" }).click();
    await page.waitForSelector("#bottom .tensor-map");
  });
});

describe("by keyboard alone", () => {
  test("cells, slices and axes are reached, and what is heard names them", async () => {
    await inspector.select("max");
    await inspector.enter();
    await inspector.tabTo(/^Heatmap$/);
    await page.keyboard.press("Enter");
    await inspector.tabTo(/^Heatmap of max:output/);
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowRight");
    await expect
      .poll(() => inspector.line().textContent())
      .toMatch(/^max:output\[0, 0, 0, 1, 0\] = -?[\d.]+$/);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => inspector.line().textContent()).toMatch(/^max:output\[0, 1, 0, 0, 0\]/);
    await page.keyboard.press("PageUp");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => inspector.line().textContent()).toMatch(/^max:output\[0, 0, 1, 1, 0\]/);
    await page.keyboard.press("Enter");
    await inspector.tabTo(/^H 2: axis/, "Shift+Tab");
    const before = await page.locator('[data-axis-role="rows"]').textContent();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.locator('[data-axis-role="columns"]').textContent()).toContain("H");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => page.locator('[data-axis-role="rows"]').textContent()).toBe(before);
    // The first Escape lets go of the cell that Enter kept, the second leads back to the canvas.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.classList.contains("canvas"));
  });

  test("sliders, the brush of the histogram, keeping, comparing and the worst cells are reached", async () => {
    await inspector.select("max");
    await inspector.enter();
    await inspector.tabTo(/^Lower end of the colour range$/);
    const [low] = await inspector.ranges();
    await page.keyboard.press("ArrowRight");
    await expect.poll(async () => (await inspector.ranges())[0]).not.toBe(low);
    await page.locator(".range-mode select").selectOption("all");
    await inspector.enter();
    await inspector.tabTo(/^Table$/);
    await page.keyboard.press("Enter");
    await inspector.tabTo(/^Index on axis C$/);
    await page.keyboard.press("End");
    await inspector.tabTo(/^Table of the slice/);
    await page.keyboard.press("Control+Home");
    await expect.poll(() => inspector.line().textContent()).toMatch(/^max:output\[.*, 0, 1\]/);
    const rows = await page.locator('[data-axis-role="rows"] .axis-chip').textContent();
    expect(await page.locator("[role=rowheader]").first().getAttribute("aria-label")).toBe(`${rows?.[0]} 0`);
    expect(await page.locator("[role=columnheader]").nth(1).getAttribute("aria-label")).toBe("W 0");
    await inspector.tabTo(/^Pin this tensor/, "Shift+Tab");
    await page.keyboard.press("Enter");
    // The pane that is kept is the same one: with its table, and with the focus.
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
      .toBe("Unpin");
    expect(await page.locator("[role=grid]").count()).toBe(1);
    await inspector.tabTo(/^Compare as A/, "Shift+Tab");
    await page.keyboard.press("Enter");
    await inspector.select("mean");
    await inspector.enter();
    await inspector.tabTo(/^Compare as B/);
    if (!(await focusIsIn("mean"))) await page.keyboard.press("Tab");
    await inspector.tabTo(/^Compare as B/);
    await page.keyboard.press("Enter");
    await page.locator(".pane.compares .worst li").first().waitFor();
    await inspector.tabTo(new RegExp(`^\\[${expected.worst.join(", ")}\\]`));
    await page.keyboard.press("Enter");
    await expect
      .poll(() => page.locator(".pane.compares .cell-line [role=status]").textContent())
      .toContain(`[${expected.worst.join(", ")}]`);
    await inspector.release();
    await page.getByRole("button", { name: "End the comparison" }).click();
    await inspector.letAllGo();
    await inspector.show("Heatmap");
  });

  test("N finds what is no number", async () => {
    await inspector.select("log");
    await inspector.enter();
    await inspector.tabTo(/^Heatmap of log:y/);
    await page.keyboard.press("n");
    await expect.poll(() => inspector.line().textContent()).toMatch(/^log:y\[.+\] = nan$/);
  });

  test("a number is typed into the table", async () => {
    await inspector.select("matrix");
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
    await inspector.undo();
  });
});

test("a tensor of a million cells moves less than a megabyte, also while one moves in it", async () => {
  await inspector.select("matrix");
  await inspector.show("Heatmap");
  const session = await opened.context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.webSocketFrameReceived", ({ response }) => {
    bytes += response.opcode === 2 ? (response.payloadData.length * 3) / 4 : response.payloadData.length;
  });
  await inspector.select("big");
  await expect.poll(() => inspector.statistic("Max")).toBe(999_999);
  // Time enough for what must not be fetched.
  await page.waitForTimeout(800);
  expect(bytes).toBeLessThan(1_000_000);
  await page.getByRole("button", { name: "Larger cells" }).click();
  await page.getByRole("button", { name: "Larger cells" }).click();
  await page.locator(".tensor-map").focus();
  await page.keyboard.press("Control+End");
  await expect.poll(() => inspector.line().textContent()).toBe("big:output[999, 999] = 999999");
  expect(bytes).toBeLessThan(1_500_000);
  await session.detach();
});

describe("axe finds nothing serious", () => {
  test.each(["Heatmap", "Table", "List"] as const)("in the %s of a value and of a constant", async (way) => {
    const content = { Heatmap: ".tensor-map", Table: "[role=gridcell]", List: ".element-table td" }[way];
    await inspector.select("max");
    await inspector.show(way);
    await page.waitForSelector(content);
    await inEveryTheme(page);
    const other = way === "List" ? "max" : "volume";
    await inspector.select(other);
    await page.waitForSelector(`.pane[aria-label^="${other}:"] ${content}`);
    await inEveryTheme(page);
    await inspector.show("Heatmap");
  });
});

/** Whether what has the focus stands in the pane of a block. */
function focusIsIn(block: string): Promise<boolean> {
  return page.evaluate(
    (name) => document.activeElement?.closest(`.pane[aria-label^="${name}:"]`) !== null,
    block,
  );
}
