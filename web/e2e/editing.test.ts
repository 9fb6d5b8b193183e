/** What pointers, fingers and files do to a page, in the real thing. */

import { readFileSync } from "node:fs";
import type { Download, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type Box,
  copiedText,
  dropFile,
  library,
  newPage,
  type Opened,
  open,
  pasteText,
  restingBox,
} from "./harness.ts";

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
  // Refusals by the server are errors of the page's network.
  expect(opened.errors.splice(0).filter((each) => !each.includes("422"))).toEqual([]);
});

const CHAIN = {
  format: 1,
  blocks: {
    a: { op: "Const", attrs: { value: { dtype: "float32", value: [1, 2, 3] } } },
    b: { op: "Neg", in: { x: "a:output" } },
    c: { op: "Abs", in: { x: "b:y" } },
    loose: { op: "Square" },
  },
  layout: { blocks: { a: [0, 0], b: [320, 0], c: [640, 0], loose: [320, 240] } },
};

/** A new page with the chain on it. */
async function chain(): Promise<void> {
  await page.keyboard.press("Escape");
  await newPage(page, CHAIN.blocks, { layout: CHAIN.layout });
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  await restingBox(page.locator("#block-loose"));
}

interface Copied {
  blocks: Record<string, { op: string; in?: Record<string, unknown> }>;
  layout?: { wires?: Record<string, unknown> };
}

async function copiedPage(): Promise<Copied> {
  return JSON.parse(await copiedText(page));
}

async function copied(): Promise<Copied["blocks"]> {
  return (await copiedPage()).blocks;
}

/** The blocks of the page, by selecting and copying everything. */
async function wholePage(): Promise<Copied> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+a");
  const found = await copiedPage();
  await page.keyboard.press("Escape");
  return found;
}

async function blocks(): Promise<Copied["blocks"]> {
  return (await wholePage()).blocks;
}

async function place(selector: string): Promise<{ x: number; y: number }> {
  const box = await restingBox(page.locator(selector));
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function drag(from: { x: number; y: number }, to: { x: number; y: number }): Promise<void> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 3 });
  await page.mouse.move(to.x, to.y, { steps: 3 });
  await page.mouse.up();
}

const undo = () => page.keyboard.press("Control+z");

describe("by mouse", () => {
  beforeEach(chain);

  test("a drag is one step of undo", async () => {
    const before = await place("#block-c .block-title");
    await drag(before, { x: before.x + 40, y: before.y + 80 });
    const height = async () => (await place("#block-c .block-title")).y;
    await expect.poll(height).toBeGreaterThan(before.y + 50);
    await page.locator(".canvas").focus();
    await undo();
    await expect.poll(height).toBeCloseTo(before.y, 0);
  });

  test("a marquee selects what it touches", async () => {
    const [a, b] = [await place("#block-a"), await place("#block-b")];
    await drag({ x: a.x - 110, y: a.y - 70 }, { x: b.x + 20, y: b.y + 10 });
    expect(Object.keys(await copied()).sort()).toEqual(["a", "b"]);
  });

  test("a wire is drawn from pin to pin, and taken off again", async () => {
    await drag(await place("#block-b .pin.out"), await place("#block-loose .pin.in"));
    expect((await blocks()).loose?.in).toEqual({ x: "b:y" });
    const pin = await place("#block-loose .pin.in");
    await drag(pin, { x: pin.x - 60, y: pin.y + 90 });
    expect((await blocks()).loose?.in).toBeUndefined();
  });

  test("a wire dropped in the open offers what fits, wires the best pin, and says why others do not fit", async () => {
    const pin = await place("#block-loose .pin.out");
    const names = page.locator(".found [role=option]:not([aria-disabled=true]) .name");
    const from = await place("#block-a .pin.out");
    await drag(from, { x: from.x + 40, y: pin.y + 60 });
    await page.keyboard.type("max pool 3d");
    const volume = page.locator(".found [role=option]", {
      has: page.getByText("MaxPool3D", { exact: true }),
    });
    await volume.waitFor();
    expect(await volume.getAttribute("aria-disabled")).toBe("true");
    expect(await volume.textContent()).toContain("axes");
    await page.locator(".search input").fill("gather");
    await names.first().waitFor();
    expect(await names.first().textContent()).toContain("params");
    await page.keyboard.press("Enter");
    expect(Object.values(await blocks()).find((each) => each.op.startsWith("Gather"))?.in).toEqual({
      params: "a:output",
    });
  });

  test("a wire that would create a cycle is refused in words", async () => {
    await drag(await place("#block-c .pin.out"), await place("#block-b .pin.in"));
    await page.waitForSelector(".toast");
    expect(await page.locator(".toast").textContent()).toContain("cycle");
    await page.click(".toast button");
    expect((await blocks()).b?.in).toEqual({ x: "a:output" });
  });

  test("a block dropped on a wire is put between its ends", async () => {
    const [b, c] = [await place("#block-b .pin.out"), await place("#block-c .pin.in")];
    const loose = await place("#block-loose .block-title");
    const body = await place("#block-loose");
    await drag(loose, { x: (b.x + c.x) / 2, y: b.y - (body.y - loose.y) });
    const now = await blocks();
    expect([now.loose?.in, now.c?.in]).toEqual([{ x: "b:y" }, { x: "loose:y" }]);
  });

  test("a block is taken away and its wires healed", async () => {
    await page.click("#block-b .block-title");
    await page.keyboard.press("Control+Delete");
    await page.waitForSelector("#block-b", { state: "detached" });
    expect((await blocks()).c?.in).toEqual({ x: "a:output" });
  });

  test("wires are cut by a line across them", async () => {
    const [b, c] = [await place("#block-b .pin.out"), await place("#block-c .pin.in")];
    const x = (b.x + c.x) / 2;
    await page.keyboard.down("Alt");
    await drag({ x, y: b.y - 60 }, { x, y: b.y + 60 });
    await page.keyboard.up("Alt");
    expect((await blocks()).c?.in).toBeUndefined();
  });

  test("a wire is bent where it is pulled", async () => {
    const [b, c] = [await place("#block-b .pin.out"), await place("#block-c .pin.in")];
    const middle = { x: (b.x + c.x) / 2, y: b.y };
    await drag(middle, { x: middle.x, y: middle.y + 64 });
    expect((await wholePage()).layout?.wires).toEqual({ "c:x": [[expect.any(Number), expect.any(Number)]] });
  });

  test("what is copied is pasted with its wires", async () => {
    const [a, b] = [await place("#block-a"), await place("#block-b")];
    await drag({ x: a.x - 110, y: a.y - 70 }, { x: b.x + 20, y: b.y + 10 });
    await pasteText(page, JSON.stringify({ format: 1, blocks: await copied() }));
    await page.waitForSelector("#block-b_2");
    expect((await blocks()).b_2?.in).toEqual({ x: "a_2:output" });
  });

  test("far blocks are selected like near ones", async () => {
    for (let i = 0; i < 4; i++) await page.keyboard.press("-");
    await expect.poll(() => page.locator(".block").count()).toBe(0);
    // Everything was shown before zooming out, so the middle of the page is the middle of the canvas.
    const centre = await place(".canvas");
    await drag({ x: centre.x - 400, y: centre.y - 200 }, { x: centre.x + 400, y: centre.y + 200 });
    expect(Object.keys(await copied()).length).toBe(4);
  });
});

test("a long constant opens as a grid at its block, by mouse and by keys, and each edit is a step of undo", async () => {
  await chain();
  const value = { dtype: "float32", value: Array.from({ length: 12 }, (_, i) => i) };
  await pasteText(page, JSON.stringify({ format: 1, blocks: { long: { op: "Const", attrs: { value } } } }));
  await page.click("#block-long .row-value");
  const box = page.getByRole("dialog", { name: "Constant value of long" });
  const beside = await restingBox(box);
  expect(Math.abs(beside.x - (await place("#block-long .pin.out")).x)).toBeLessThan(400);
  await page.keyboard.type("7");
  await page.keyboard.press("Enter");
  await page.keyboard.type("8");
  await page.keyboard.press("Escape");
  expect(await box.count()).toBe(1);
  await page.keyboard.press("Escape");
  await box.waitFor({ state: "detached" });
  const cells = async () =>
    ((await blocks()).long as { attrs?: { value?: { value: number[] } } }).attrs?.value;
  expect((await cells())?.value.slice(0, 3)).toEqual([7, 1, 2]);
  await page.click("#block-long .block-title");
  await page.keyboard.press("v");
  await box.waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("9");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  expect((await cells())?.value.slice(0, 3)).toEqual([7, 9, 2]);
  await undo();
  expect((await cells())?.value.slice(0, 3)).toEqual([7, 1, 2]);
  await undo();
  expect((await cells())?.value.slice(0, 3)).toEqual([0, 1, 2]);
});

test("what is wrong at a selected block lies above its neighbours", async () => {
  const wrong = (b: number[][]) => ({ op: "MatMul", in: { a: [[1, 2]], b } });
  const blocks = { over: wrong([[1, 2, 3]]), under: wrong([[1, 2]]) };
  await newPage(page, blocks, { layout: { blocks: { over: [0, 0], under: [0, 180] } } });
  await page.keyboard.press("1");
  await page.click("#block-over .block-title");
  await page.waitForSelector("#block-under .block-problem");
  const said = await restingBox(page.locator("#block-over .block-problem"));
  const owner = () =>
    page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.closest(".block-problem")?.textContent, [
      said.x + 40,
      said.y + said.height - 6,
    ] as const);
  await expect.poll(owner).toContain("got 1");
});

test("a placeholder has no value before one is typed, then one of its type and shape", async () => {
  await newPage(page, { p: { op: "Placeholder", attrs: { dtype: "int32", shape: [2, null] } } });
  await page.click("#block-p .block-title");
  const section = page.locator(".section", { hasText: "Feed value" });
  await section.waitFor();
  expect(await section.locator("input").count()).toBe(0);
  await section.getByRole("button", { name: "Type a value" }).click();
  expect(await section.locator("select").inputValue()).toBe("int32");
  expect(await section.getByLabel("Shape").inputValue()).toBe("2, 1");
  await section.getByRole("button", { name: /p$/ }).click();
  await section.getByRole("button", { name: "Type a value" }).waitFor();
});

test("a block that is added covers no note", async () => {
  await newPage(page, { a: { op: "Const", attrs: { value: { dtype: "float32", value: 1 } } } });
  await page.keyboard.press("n");
  await page.waitForSelector(".note textarea");
  await page.keyboard.type("A note.");
  await page.keyboard.press("Escape");
  await page.locator(".canvas").focus();
  await page.keyboard.press("/");
  await page.locator(".search input").fill("Abs");
  await page.locator(".search [role=option]", { hasText: "Abs" }).first().click();
  await page.waitForSelector("#block-abs");
  const block = await restingBox(page.locator("#block-abs"));
  const note = await restingBox(page.locator(".note"));
  const apart = (a: Box, b: Box) => a.y + a.height <= b.y || a.x + a.width <= b.x;
  expect(apart(note, block) || apart(block, note)).toBe(true);
});

test("gradients with respect to the only thing there is need no choice", async () => {
  const a = { op: "Const", attrs: { value: { dtype: "float32", value: [1, 2] } } };
  await newPage(page, { a, b: { op: "Square", in: { x: "a:output" } } });
  await page.click("#block-b .block-title");
  await page.keyboard.press("Shift+G");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".block").length === 3);
  expect(Object.values(await blocks())).toContainEqual(
    expect.objectContaining({ op: "gradients", in: expect.objectContaining({ xs: ["a:output"] }) }),
  );
});

test("a note is written in Markdown and shown without scripts", async () => {
  await chain();
  await page.keyboard.press("n");
  await page.waitForSelector(".note textarea");
  await page.keyboard.type(
    '**bold** <img src=x onerror="window.hacked = 1"> <script>window.hacked = 1</script>',
  );
  await page.keyboard.press("Escape");
  await page.waitForSelector(".note strong");
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  expect(await page.locator(".note img, .note script").count()).toBe(0);
  expect(await page.locator(".note strong").allTextContents()).toEqual(["bold"]);
});

test("a finger wires by tap and tap", async () => {
  await chain();
  const [from, to] = [await place("#block-b .pin.out"), await place("#block-loose .pin.in")];
  for (const { x, y } of [from, to]) {
    await page.evaluate(
      ({ x, y }) => {
        const at = {
          bubbles: true,
          cancelable: true,
          clientX: x,
          clientY: y,
          pointerType: "touch",
          pointerId: 7,
          isPrimary: true,
        };
        const target = document.elementFromPoint(x, y) as Element;
        target.dispatchEvent(new PointerEvent("pointerdown", at));
        target.dispatchEvent(new PointerEvent("pointerup", at));
      },
      { x, y },
    );
  }
  await expect.poll(async () => (await blocks()).loose?.in).toEqual({ x: "b:y" });
});

test("a finger that rests opens the menu, and what lies under it when it leaves is not pressed", async () => {
  await chain();
  const { x, y } = await place("#block-b .block-title");
  const finger = await opened.context.newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...touchPoints: { x: number; y: number }[]) =>
    finger.send("Input.dispatchTouchEvent", { type, touchPoints });
  await touch("touchStart", { x, y });
  await page.waitForSelector("[role=menu]");
  await touch("touchEnd");
  await page.waitForTimeout(400);
  expect(await page.locator("[role=menu]").count()).toBe(1);
  expect(await page.locator(".block.selected").getAttribute("id")).toBe("block-b");
  await page.keyboard.press("Escape");
  // Sent together, so that the finger does not rest before it moves when the machine is busy.
  await Promise.all([touch("touchStart", { x, y }), touch("touchMove", { x: x + 40, y })]);
  await page.waitForTimeout(900);
  expect(await page.locator("[role=menu]").count()).toBe(0);
  await touch("touchEnd");
});

async function exported(kind: string): Promise<{ name: string; bytes: Buffer }> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+e");
  const waiting = page.waitForEvent("download");
  await page.locator("dialog .file-list button", { hasText: kind }).click();
  const download: Download = await waiting;
  return { name: download.suggestedFilename(), bytes: readFileSync((await download.path()) as string) };
}

describe("out and in", () => {
  test.each(["PNG", "SVG", "HTML"])(
    "a %s file holds the page, and opens when it is dropped",
    async (kind) => {
      await chain();
      const { name, bytes } = await exported(kind);
      const tabs = await page.locator(".page-tab").count();
      await dropFile(page, name, bytes);
      await page.waitForFunction((before) => document.querySelectorAll(".page-tab").length > before, tabs);
      await page.waitForSelector("#block-loose");
      await expect.poll(blocks).toEqual(CHAIN.blocks);
    },
  );

  test.each([
    ["other.html", "<p>Hello</p>", "contains no page"],
    ["notes.txt", "Hello", "must hold numbers"],
    ["cut.page.json", '{"format": 1, "blocks": {', "is not a page"],
    ["later.page.json", '{"format": 99, "blocks": {}}', "format 99"],
    ["broken.safetensors", "\x02\0\0\0\0\0\0\0{{", "that can be read"],
  ])("%s is refused with the reason", async (name, text, reason) => {
    await chain();
    await dropFile(page, name, Buffer.from(text));
    const toast = page.locator(".toast", { hasText: name });
    await toast.waitFor();
    expect(await toast.textContent()).toContain(reason);
    await page.click(".toast button");
  });

  test("a script gives the page's numbers", async () => {
    await chain();
    await page.click("#block-c .block-title");
    await page.locator("label", { hasText: "Fetch this output" }).locator("input").check();
    await page.click("#block-loose .block-title");
    await page.keyboard.press("Delete");
    const { bytes } = await exported("Python");
    const found = (await library(`
import contextlib, io, json
text = io.StringIO()
with contextlib.redirect_stdout(text):
    exec(${JSON.stringify(bytes.toString())})
print(json.dumps(text.getvalue()))
`)) as string;
    expect(found).toMatch(/1\.?0?,? +2\.?0?,? +3/);
  });

  test("an HTML file needs nothing but itself", async () => {
    await chain();
    const html = (await exported("HTML")).bytes.toString();
    expect(html).toContain("<svg");
    expect(html).not.toMatch(/(src|href)="(?!data:)/);
  });

  test("arrays that are dropped become constants", async () => {
    await chain();
    const npy = (await library(`
import base64, io, json, numpy as np
file = io.BytesIO()
np.save(file, np.array([[1.5, -2.0], [np.inf, 0.1]], dtype=np.float32))
print(json.dumps(base64.b64encode(file.getvalue()).decode()))
`)) as string;
    const npz = (await library(`
import base64, io, json, numpy as np
file = io.BytesIO()
np.savez_compressed(file, weights=np.arange(6, dtype=np.int64).reshape(2, 3).T)
print(json.dumps(base64.b64encode(file.getvalue()).decode()))
`)) as string;
    await dropFile(page, "numbers.npy", Buffer.from(npy, "base64"));
    await dropFile(page, "more.npz", Buffer.from(npz, "base64"));
    for (const name of ["numbers", "weights"]) await page.waitForSelector(`#block-${name}`);
    const now = (await blocks()) as Record<string, { attrs?: { value?: unknown } }>;
    expect(now.numbers?.attrs?.value).toEqual({
      dtype: "float32",
      value: [
        [1.5, -2],
        ["inf", 0.1],
      ],
    });
    expect(now.weights?.attrs?.value).toEqual({
      dtype: "int64",
      value: [
        [0, 3],
        [1, 4],
        [2, 5],
      ],
    });
  });
});

test("a file that something else has changed is not overwritten silently", async () => {
  await chain();
  await page.keyboard.press("Control+s");
  await page.fill("#save-path", "kept.page.json");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".save-state")?.textContent === "Saved");
  const { writeFileSync } = await import("node:fs");
  const file = `${opened.studio.folder}/kept.page.json`;
  writeFileSync(file, '{"format": 1, "title": "another"}\n');
  await page.click("#block-c .block-title");
  await page.keyboard.press("Delete");
  await page.keyboard.press("Control+s");
  await page.waitForSelector("dialog[open]");
  expect(readFileSync(file, "utf8")).toContain("another");
  await page.getByRole("button", { name: "Overwrite" }).click();
  await page.waitForFunction(() => document.querySelector(".save-state")?.textContent === "Saved");
  expect(readFileSync(file, "utf8")).toContain("loose");
});
