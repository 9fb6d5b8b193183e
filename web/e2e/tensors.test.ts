/** Tensors of every type, shape and size in the inspector: what is seen, copied, downloaded and turned in 3-D. */

import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { inEveryTheme } from "./axe.ts";
import { library, type Opened, restingBox } from "./harness.ts";
import { inspecting, openInspector } from "./inspecting.ts";

/** Of each type numbers that are easily lost, as the page writes them and as Python does. */
const TYPES: Readonly<Record<string, [value: unknown[], python: string]>> = {
  float32: [[0.1, "nan", "-inf", -1.5e-45], "np.array([0.1, np.nan, -np.inf, -1.5e-45], np.float32)"],
  float64: [[0.1, "inf", 1e308, 5e-324], "np.array([0.1, np.inf, 1e308, 5e-324])"],
  float16: [[0.1, "nan", 65504, 6e-8], "np.array([0.1, np.nan, 65504, 6e-8], np.float16)"],
  bfloat16: [[0.1, "nan", 3e38, -1e-39], "np.array([0.1, np.nan, 3e38, -1e-39], ml_dtypes.bfloat16)"],
  int8: [[-128, 0, 1, 127], "np.array([-128, 0, 1, 127], np.int8)"],
  int64: [["9007199254740993", 0, "-9223372036854775808", 1], "np.array([9007199254740993, 0, -2**63, 1])"],
  uint64: [["18446744073709551615", 0, 1, 2], "np.array([2**64 - 1, 0, 1, 2], np.uint64)"],
  bool: [[true, false, false, true], "np.array([True, False, False, True])"],
  complex64: [["1-2j", "nan+1j", "3", "0.5j"], "np.array([1-2j, complex('nan+1j'), 3, 0.5j], np.complex64)"],
  string: [
    ["a, b", 'c"d', "é\n", { base64: "/wA=" }],
    'np.array([b"a, b", b\'c"d\', "é\\n".encode(), b"\\xff\\0"], object)',
  ],
};
const OTHERS = ["int16", "int32", "uint8", "uint16", "uint32", "complex128"];

const constant = (dtype: string, value: unknown) => ({ op: "Const", attrs: { value: { dtype, value } } });
const random = (shape: number[], seed = 1) => ({
  op: "RandomStandardNormal",
  attrs: { dtype: "float32", seed },
  in: { shape: { dtype: "int32", value: shape } },
});
const reshaped = (tensor: string, shape: number[]) => ({
  op: "Reshape",
  in: { tensor, shape: { dtype: "int32", value: shape } },
});
const WINDOWS = { ksize: [1, 2, 2, 2, 1], strides: [1, 2, 2, 2, 1], padding: "VALID" };

const BLOCKS: Record<string, unknown> = {
  ...Object.fromEntries(
    [...Object.keys(TYPES), ...OTHERS].flatMap((dtype) => {
      const value = TYPES[dtype]?.[0] ?? [0, 1, 2, 3];
      const [name, pin] = [`c-${dtype}`, `c-${dtype}:output`];
      const again = dtype === "string" ? { op: "StringJoin", in: { inputs: [pin] } } : reshaped(pin, [2, 2]);
      return [
        [name, constant(dtype, [value.slice(0, 2), value.slice(2)])],
        [`of-${dtype}`, again],
      ];
    }),
  ),
  scalar: constant("float32", 3.5),
  empty: constant("float32", [[], []]),
  emptied: reshaped("empty:output", [0, 3]),
  variable: { op: "VariableV2", initial: { dtype: "float32", value: [1, 2] } },
  split: {
    op: "Split",
    attrs: { num_split: 2 },
    in: { axis: 0, value: { dtype: "float32", value: [1, 2] } },
  },
  count: { op: "Range", in: { start: 0, limit: 1_000_000, delta: 1 } },
  row: reshaped("count:output", [1, 1_000_000]),
  eight: random([3, 2, 4, 3, 2, 5, 6, 7]),
  volume: random([1, 16, 16, 16, 2]),
  pool: { op: "MaxPool3D", attrs: WINDOWS, in: { input: "volume:output" } },
  far: { op: "Mul", in: { x: "pool:output", y: 1000.0 } },
  odd: constant(
    "float32",
    [0, 1].map((z) => [0, 1, 2].map((y) => [z ? 1 : "nan", "inf", y - 1])),
  ),
  "odd-twice": { op: "Mul", in: { x: "odd:output", y: 2.0 } },
  cube: random([64, 64, 64], 2),
  wide: random([64, 65, 64], 3),
  huge: { op: "Fill", in: { dims: { dtype: "int32", value: [60, 1000, 1000] }, value: 2.0 } },
  more: { op: "Add", in: { x: "huge:output", y: 1.0 } },
};

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
afterEach(() => {
  expect(opened.errors.splice(0)).toEqual([]);
});

const clipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
const PYTHON = "import json, sys, numpy as np, ml_dtypes";
/** Whether two arrays have one type, one shape and the same bits; of strings the same bytes. */
const SAME = `def same(a, b):
    bits = [x.tolist() if x.dtype == object else x.tobytes() for x in (a, b)]
    return a.dtype == b.dtype and a.shape == b.shape and bits[0] == bits[1]`;

describe.each(Object.entries(TYPES))("%s", (dtype, [, python]) => {
  const want = `(${python}).reshape(2, 2)`;

  test.each(["of-", "c-"])("is copied as NumPy, %s, and is the same array", async (kind) => {
    await inspector.select(`${kind}${dtype}`);
    await inspector.choose("Copy as NumPy");
    await expect.poll(clipboard).toContain("np.array(");
    const text = await clipboard();
    const same = await library(`${PYTHON}
${SAME}
print(json.dumps(bool(same(${text}, ${want}))))`);
    expect(same, text).toBe(true);
    await page.evaluate(() => navigator.clipboard.writeText(""));
  });

  test("is copied as CSV, and reads back as the same cells", async () => {
    await inspector.select(`of-${dtype}`);
    await inspector.choose("Copy slice as CSV");
    await expect.poll(clipboard).toContain(",");
    const rows = await library(`${PYTHON}
import csv, io
cells = [cell for row in csv.reader(io.StringIO(${JSON.stringify(await clipboard())}, newline="")) for cell in row]
want = ${want}.ravel()
if want.dtype == object:
    # Bytes that are no text cannot be in a spreadsheet.
    print(json.dumps(cells[:3] == [each.decode() for each in want[:3]]))
elif want.dtype == bool:
    print(json.dumps(cells == ["true" if each else "false" for each in want]))
else:
    number = complex if want.dtype.kind == "c" else int if want.dtype.kind in "iu" else float
    found = np.array([number(cell) for cell in cells], want.dtype)
    print(json.dumps(bool(np.array_equal(found, want, equal_nan=want.dtype.kind not in "iu"))))`);
    expect(rows).toBe(true);
    await page.evaluate(() => navigator.clipboard.writeText(""));
  });

  test("is downloaded as npy, unless it is text", async () => {
    await inspector.select(`of-${dtype}`);
    await page.getByRole("button", { name: "Copy and download" }).click();
    const item = page.locator(".menu-item", { hasText: "Download npy" });
    if (dtype === "string") {
      expect(await item.isDisabled()).toBe(true);
      await page.keyboard.press("Escape");
      return;
    }
    const [download] = await Promise.all([page.waitForEvent("download"), item.click()]);
    const file = readFileSync(await download.path()).toString("base64");
    const same = await library(`${PYTHON}
import base64, io
${SAME}
want = ${want}
found = np.load(io.BytesIO(base64.b64decode("${file}")))
print(json.dumps(bool(same(found.view(want.dtype) if found.dtype.kind == "V" else found, want))))`);
    expect(same).toBe(true);
    if (dtype === "bfloat16")
      await expect.poll(() => page.locator(".said").textContent()).toContain(".view(ml_dtypes.bfloat16)");
  });
});

test.each([...Object.keys(TYPES).filter((dtype) => dtype !== "string"), ...OTHERS])(
  "a map and a table of %s say its numbers",
  async (dtype) => {
    await inspector.select(`of-${dtype}`);
    await inspector.show("Table");
    const read = () => page.locator("[role=gridcell]").allTextContents();
    const isNumber = (cell: string) => /^(-?(\d|inf|nan)|true|false)/.test(cell);
    await expect.poll(async () => (await read()).filter(isNumber)).toHaveLength(4);
    const cells = await read();
    expect(cells).toHaveLength(4);
    await inspector.show("Heatmap");
    const firstCell = async () => {
      await page.locator(".tensor-map").press("Control+Home");
      return inspector.line().textContent();
    };
    await expect.poll(firstCell).toBe(`of-${dtype}:output[0, 0] = ${cells[0]}`);
  },
);

describe("what is out of the ordinary opens too", () => {
  test("text as a list", async () => {
    await inspector.select("of-string");
    await expect
      .poll(() => page.locator(".element-table td:nth-child(2)").first().textContent())
      .toBe("a, b");
  });
  test.each(["empty", "emptied"])("no cells, which is said: %s", async (block) => {
    await inspector.select(block);
    await expect.poll(() => page.locator(".pane-main").textContent()).toContain("has no cells");
    await inspector.choose("Copy as NumPy");
    await expect.poll(clipboard).toMatch(/^np\.zeros\(\((2, 0|0, 3),\), dtype=np\.float32\)$/);
  });
  test("one number", async () => {
    await inspector.select("scalar");
    await page.locator(".tensor-map").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => inspector.line().textContent()).toBe("scalar:output[] = 3.5");
  });
  test("a variable, and one of a list of tensors", async () => {
    await inspector.select("variable");
    await expect.poll(() => inspector.statistic("Max")).toBe(2);
    await inspector.select("split");
    await page.locator(".pane-choice").selectOption("split:output[1]");
    await expect.poll(() => inspector.statistic("Max")).toBe(2);
  });
  test("a row of a million cells, to its end", async () => {
    await inspector.select("row");
    await inspector.show("Table");
    await page.locator("[role=grid]").focus();
    await page.keyboard.press("Control+End");
    const active = page.locator("[role=gridcell][aria-selected=true]");
    await expect.poll(() => active.textContent()).toBe("999999");
    const [cell, grid] = [await restingBox(active), await restingBox(page.locator("[role=grid]"))];
    expect(cell.x + cell.width).toBeLessThanOrEqual(grid.x + grid.width + 1);
    expect(await page.locator("[role=columnheader]").last().getAttribute("aria-label")).toBe(
      "axis 1: 999999",
    );
    await page.keyboard.press("Control+Home");
    await expect.poll(() => active.textContent()).toBe("0");
    await inspector.show("Heatmap");
  });
});

test("the eight axes of a tensor have sliders within reach, at every width and four times side by side", async () => {
  const reached = async (): Promise<void> => {
    const pane = page.locator('.pane[aria-label^="eight:"]');
    const bars = pane.locator(".pane-bars");
    await expect.poll(() => bars.evaluate((each) => each.scrollWidth <= each.clientWidth)).toBe(true);
    const sliders = pane.locator(".axis-sliders input");
    await expect.poll(() => sliders.count()).toBe(4);
    for (let i = 0; i < 4; i++) {
      await sliders.nth(i).focus();
      await page.keyboard.press("End");
      expect((await restingBox(sliders.nth(i))).width).toBeGreaterThan(40);
    }
    await expect
      .poll(() => sliders.evaluateAll((all) => all.map((each) => (each as HTMLInputElement).value)))
      .toEqual(["2", "1", "3", "2"]);
    const map = await restingBox(pane.locator(".tensor-map"));
    expect(map.height).toBeGreaterThan(60);
    expect(map.width).toBeGreaterThan(140);
  };
  await inspector.select("eight");
  await reached();
  await page.setViewportSize({ width: 900, height: 700 });
  await reached();
  for (const block of ["pool", "far", "volume"]) {
    await inspector.select(block);
    await inspector.keep(block);
  }
  await inspector.select("eight");
  await reached();
  await page.setViewportSize({ width: 1440, height: 900 });
  await reached();
  await inEveryTheme(page);
  await inspector.letAllGo();
});

test("tensors of very different sizes have colours of their own, until they are to share", async () => {
  await inspector.select("pool");
  await inspector.keep("pool");
  await inspector.select("far");
  const said = page.locator(".range-said").first();
  await expect.poll(() => said.textContent()).toMatch(/^A range of its own: in one for all/);
  await expect.poll(async () => new Set(await inspector.ranges()).size).toBe(2);
  await page.getByRole("button", { name: "Shared", exact: true }).first().click();
  await expect.poll(async () => new Set(await inspector.ranges()).size).toBe(1);
  await page.getByRole("button", { name: "Own", exact: true }).first().click();
  await expect.poll(() => said.textContent()).toBe("A range of its own.");
  await inspector.letAllGo();
});

test("a range is typed; what lies beyond it is said and marked", async () => {
  await inspector.select("pool");
  const high = page.getByRole("textbox", { name: "Upper end of the colour range" });
  await high.fill("0.5");
  await high.press("Enter");
  await expect.poll(() => page.locator(".histogram-ends").textContent()).toContain("≥");
  expect(await page.locator(".range-mode select").inputValue()).toBe("typed");
  await page.locator(".range-mode select").selectOption("all");
  await expect.poll(() => page.locator(".histogram-ends").textContent()).not.toContain("≥");
});

describe("one cursor", () => {
  test("a cell that is picked in the inspector is Explain's, and the other way round", async () => {
    await inspector.release();
    await inspector.select("pool");
    await inspector.show("Heatmap");
    await page.locator(".tensor-map").focus();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Explain cell by cell" }).first().click();
    const status = page.locator(".explain-status");
    await expect.poll(() => status.textContent()).toMatch(/^pinned: .*\[0,0,1,0,0\]/);
    await page.keyboard.press("s");
    await expect.poll(() => status.textContent()).toMatch(/\[0,0,1,0,1\]/);
    await page.getByRole("button", { name: "Back to the page" }).click();
    await expect.poll(() => inspector.line().textContent()).toMatch(/^pool:output\[0, 0, 1, 0, 1\] = /);
    await page.locator(".tensor-map").focus();
    await page.keyboard.press("Escape");
  });

  test("of an input too, and sliders stand at it", async () => {
    await inspector.select("pool");
    await page.getByRole("button", { name: "Explain cell by cell" }).first().click();
    const input = page.locator(".explain-tensor", { hasText: "volume:output" }).locator(".tensor-map");
    await input.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("PageDown");
    await page.keyboard.press("Enter");
    const status = page.locator(".explain-status");
    await expect.poll(() => status.textContent()).toMatch(/^pinned: /);
    const cell = /\[[\d,]+\]/.exec((await status.textContent()) ?? "")?.[0].replaceAll(",", ", ");
    await page.getByRole("button", { name: "Back to the page" }).click();
    await page.waitForSelector('.pane[aria-label="volume:output"] .tensor-map');
    await expect.poll(() => inspector.line().textContent()).toContain(`volume:output${cell} = `);
    await page.locator(".tensor-map").focus();
    await page.keyboard.press("Escape");
  });
});

test("how panes stand and what was chosen in them is the same after another tab, and after Explain", async () => {
  await inspector.select("volume");
  await inspector.keep("volume");
  await inspector.select("pool");
  const roles = () =>
    page
      .locator(".pane")
      .evaluateAll((all) => all.map((each) => each.querySelector(".axis-roles")?.textContent));
  await page
    .locator('.pane[aria-label^="pool:"]')
    .getByRole("button", { name: /^H 8: axis/ })
    .focus();
  await page.keyboard.press("ArrowRight");
  await page
    .locator('.pane[aria-label^="volume:"]')
    .getByRole("button", { name: /^D 16: axis/ })
    .focus();
  await page.keyboard.press("ArrowRight");
  await page.locator('.pane[aria-label^="volume:"]').getByRole("button", { name: "Table" }).click();
  await page.locator(".range-mode select").first().selectOption("most");
  const stand = async () => ({ roles: await roles(), ranges: await inspector.ranges() });
  let before = await stand();
  // Numbers of the server may still narrow a range down.
  const stays = async () => {
    const last = before;
    await page.waitForTimeout(500);
    before = await stand();
    return JSON.stringify(before) === JSON.stringify(last);
  };
  await expect.poll(stays).toBe(true);
  expect(new Set(before.roles).size).toBe(2);
  const asBefore = async () => {
    await page.locator('.pane[aria-label^="volume:"] [role=grid]').waitFor();
    await page.locator('.pane[aria-label^="pool:"] .tensor-map').waitFor();
    await expect.poll(stand).toEqual(before);
  };
  await page.click("#tab-problems");
  await page.click("#tab-inspector");
  await asBefore();
  await page
    .locator('.pane[aria-label^="pool:"]')
    .getByRole("button", { name: "Explain cell by cell" })
    .click();
  await page.locator(".explain-status").waitFor();
  await page.getByRole("button", { name: "Back to the page" }).click();
  await asBefore();
  await page.locator(".range-mode select").first().selectOption("all");
  await page
    .locator('.pane[aria-label^="pool:"]')
    .getByRole("button", { name: /^H 8: axis/ })
    .focus();
  await page.keyboard.press("ArrowLeft");
  await inspector.show("Heatmap");
  await inspector.letAllGo();
});

describe("3-D", () => {
  test("is loaded when it is opened, and is turned by keys and by mouse", async () => {
    const loaded = (): Promise<number> =>
      page.evaluate(
        () => performance.getEntriesByType("resource").filter(({ name }) => /Volume/.test(name)).length,
      );
    expect(await loaded()).toBe(0);
    await inspector.select("cube");
    await inspector.show("3-D");
    const box = page.locator(".volume-box");
    await box.waitFor();
    expect(await loaded()).toBeGreaterThan(0);
    const picture = () => box.locator("canvas").evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    const first = await picture();
    await box.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(picture).not.toBe(first);
    const turned = await picture();
    const at = await restingBox(box);
    await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
    await page.mouse.down();
    await page.mouse.move(at.x + at.width / 2 + 60, at.y + at.height / 2 + 10, { steps: 4 });
    await page.mouse.up();
    await expect.poll(picture).not.toBe(turned);
    const dense = await picture();
    await page.locator(".volume-threshold input").focus();
    await page.keyboard.press("End");
    await expect.poll(picture).not.toBe(dense);
    await inEveryTheme(page);
  });

  test("has a slider for each axis that it does not show, and follows the cursor on these", async () => {
    await inspector.select("pool");
    await inspector.show("3-D");
    await page.locator(".volume-box").waitFor();
    const places = (within: Locator) =>
      within.locator(".axis-sliders .slice").evaluateAll((all) => all.map((each) => each.textContent));
    await expect.poll(() => places(page.locator(".pane"))).toEqual(["C0/1"]);
    await page.getByRole("button", { name: "Explain cell by cell" }).first().click();
    const input = page.locator(".explain-tensor", { hasText: "volume:output" });
    await input.getByRole("button", { name: "3-D" }).click();
    await input.locator(".volume-box").waitFor();
    await expect.poll(() => places(input)).toEqual(["C0/1"]);
    await page.locator(".explain").focus();
    await page.keyboard.press("s");
    await page.keyboard.press("s");
    await expect.poll(() => places(input)).toEqual(["C1/1"]);
    await input.getByRole("button", { name: "Heatmap" }).click();
    await page.getByRole("button", { name: "Back to the page" }).click();
    await inspector.show("Heatmap");
  });

  test("another tensor's numbers are asked for once", async () => {
    await inspector.select("volume");
    await inspector.show("3-D");
    await page.locator(".volume-box").waitFor();
    const session = await opened.context.newCDPSession(page);
    await session.send("Network.enable");
    const asked: string[] = [];
    session.on("Network.webSocketFrameSent", ({ response }) => asked.push(response.payloadData));
    await inspector.select("cube");
    await page.locator(".volume-box").waitFor();
    const looks = () => asked.filter((each) => each.includes('"read slice"'));
    await expect.poll(looks).not.toEqual([]);
    // Time enough for a second one.
    await page.waitForTimeout(300);
    expect(looks()).toHaveLength(1);
    await session.detach();
    await inspector.show("Heatmap");
  });

  test("has the shapes of the map for NaN, infinities and what is clipped", async () => {
    /** How many points have this colour, as a picture has it in memory. */
    const points = (colour: number) =>
      page.locator(".volume-box canvas").evaluate((canvas: HTMLCanvasElement, wanted) => {
        const g = canvas.getContext("2d") as CanvasRenderingContext2D;
        const { data } = g.getImageData(0, 0, canvas.width, canvas.height);
        return new Uint32Array(data.buffer).filter((each) => each === wanted).length;
      }, colour);
    const [white, dark] = [0xffffffff, 0xff1f1814];
    await inspector.select("odd-twice");
    await inspector.show("3-D");
    await page.locator(".volume-box").focus();
    await expect.poll(() => points(white)).toBeGreaterThan(50);
    expect(await points(dark)).toBe(0);
    const high = page.getByRole("textbox", { name: "Upper end of the colour range" });
    await high.fill("0.5");
    await high.press("Enter");
    await expect.poll(() => points(dark)).toBeGreaterThan(5);
    await page.locator(".range-mode select").selectOption("all");
    await inspector.show("Heatmap");
  });

  test("has the same cursor", async () => {
    await inspector.select("pool");
    await inspector.show("Heatmap");
    await page.locator(".tensor-map").focus();
    await page.keyboard.press("Control+Home");
    await inspector.show("3-D");
    const box = page.locator(".volume-box");
    await box.focus();
    for (const key of ["Shift+ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown", "PageDown"])
      await page.keyboard.press(key);
    await expect.poll(() => inspector.line().textContent()).toMatch(/^pool:output\[0, 1, 2, 1, 0\] = /);
    await page.keyboard.press("Enter");
    await inspector.show("Table");
    await expect
      .poll(() => page.locator("[role=gridcell][aria-selected=true]").getAttribute("id"))
      .toMatch(/-2-1$/);
    await page.locator("[role=grid]").focus();
    await page.keyboard.press("Escape");
    await inspector.show("Heatmap");
  });

  test.each([
    ["of-float32", "The 3-D view needs three axes longer than 1; this tensor has 2."],
    ["wide", "The 3-D view has at most 64 cells along an axis; axis 1 has 65."],
  ])("says what to do where there is no box: %s", async (block, words) => {
    await inspector.select(block);
    await inspector.show("3-D");
    await expect.poll(() => page.locator(".pane-main .empty").textContent()).toContain(words);
    await inspector.show("Heatmap");
  });
});

test("large tensors are compared by an estimate at once; looking at all can be stopped and begun again", async () => {
  const timed = async (block: string): Promise<number> => {
    const begun = Date.now();
    await inspector.select(block);
    return Date.now() - begun;
  };
  // How long a small one takes says how busy the machine is.
  const small = await timed("pool");
  expect(await timed("huge")).toBeLessThan(small + 750);
  await page.getByRole("button", { name: /^Compare as A/ }).click();
  await inspector.select("more");
  await page.getByRole("button", { name: /^Compare as B/ }).click();
  const compared = page.locator(".pane.compares");
  const looking = compared.locator(".looking");
  await looking.waitFor();
  expect(await looking.textContent()).toContain("≈ estimated from 131,072 of 60,000,000 cells.");
  await looking.getByRole("button", { name: /Stop$/ }).click();
  await looking.getByRole("button", { name: "Scan all cells" }).click();
  await looking.waitFor({ state: "detached", timeout: 60_000 });
  expect(await compared.locator(".worst p").textContent()).toBe("60,000,000 cells differ");
  await page.getByRole("button", { name: "End the comparison" }).click();
});
