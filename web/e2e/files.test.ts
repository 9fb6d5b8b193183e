/** Files: versions of a page, parts of it as pages, files that it reads and writes, and files dropped on it. */

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { dropFile, library, listedValues, newPage, type Opened, open } from "./harness.ts";

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

const CONST = { op: "Const", attrs: { value: { dtype: "float32", value: [1, 2, 3] } } };

async function command(name: string): Promise<void> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+Shift+p");
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
}

async function saveAs(name: string): Promise<void> {
  await page.keyboard.press("Control+Shift+s");
  await page.fill("#save-path", name);
  await page.press("#save-path", "Enter");
  await saved();
}

async function saved(): Promise<void> {
  await page.waitForFunction(() => document.querySelector(".save-state")?.textContent === "Saved");
}

async function add(op: string): Promise<void> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("/");
  await page.keyboard.type(op);
  await page.keyboard.press("Enter");
}

/** What the value window lists for a block after a run. */
async function valuesOf(block: string, count: number): Promise<string[]> {
  await page.click(`[id="block-${block}"] .block-title`);
  await page.keyboard.press("Alt+5");
  const pane = page.locator(`.pane[aria-label^="${block}:"]`);
  await pane.getByRole("button", { name: "List", exact: true }).click();
  await pane
    .locator(".element-table tr")
    .nth(count - 1)
    .waitFor();
  return Object.values(await listedValues(page));
}

test("an older version is taken back, as one step that can be undone, and the page can be reverted to its file", async () => {
  const file = path.join(opened.studio.folder, "versions.page.json");
  await newPage(page, { start: CONST });
  await saveAs("versions.page.json");
  const first = readFileSync(file, "utf8");
  await add("square");
  await page.waitForSelector("#block-square");
  await page.keyboard.press("Control+s");
  await saved();
  expect(readFileSync(file, "utf8")).not.toBe(first);
  await command("versions");
  await page.locator("dialog [role=option]").first().click();
  await page.waitForSelector("#block-square", { state: "detached" });
  expect(readFileSync(file, "utf8")).not.toBe(first);
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+z");
  await page.waitForSelector("#block-square");
  await add("neg");
  await page.waitForSelector("#block-neg");
  await command("revert");
  await page.waitForSelector("#block-neg", { state: "detached" });
  await saved();
});

test("a page writes files only after a yes", async () => {
  const written = path.join(opened.studio.folder, "out.txt");
  const text = (value: string) => ({ op: "Const", attrs: { value: { dtype: "string", value } } });
  await newPage(page, {
    name: text("out.txt"),
    words: text("written"),
    write: { op: "WriteFile", in: { filename: "name:output", contents: "words:output" } },
  });
  await saveAs("writing");
  expect(existsSync(path.join(opened.studio.folder, "writing.page.json"))).toBe(true);
  await page.keyboard.press("Control+Enter");
  const dialog = page.locator("dialog");
  await dialog.waitFor();
  expect(await dialog.textContent()).toContain("write");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(existsSync(written)).toBe(false);
  await page.keyboard.press("Control+Enter");
  await dialog.getByRole("button", { name: "Allow" }).click();
  await page.waitForSelector('[id="block-write"] .live-mark.done');
  expect(readFileSync(written, "utf8")).toBe("written");
});

test("a selection becomes a page of its own that gives the same numbers as a block", async () => {
  await newPage(page, {
    start: CONST,
    minus: { op: "Neg", in: { x: "start:output" } },
    twice: { op: "AddV2", in: { x: "minus:y", y: "minus:y" } },
    end: { op: "Abs", in: { x: "twice:z" } },
  });
  await saveAs("whole.page.json");
  await page.waitForFunction(() => document.querySelectorAll(".block-footer .spec").length === 4);
  await page.click("#block-minus .block-title");
  await page.click("#block-twice .block-title", { modifiers: ["Shift"] });
  await command("Extract selection");
  await page.fill("#extract-path", "parts/twice.page.json");
  await page.press("#extract-path", "Enter");
  await page.waitForSelector("#block-twice", { state: "detached" });
  await expect.poll(() => page.locator(".block").count()).toBe(3);
  await page.keyboard.press("Shift+1");
  await expect.poll(() => existsSync(path.join(opened.studio.folder, "parts/twice.page.json"))).toBe(true);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#block-end .live-mark.done");
  await expect.poll(async () => (await valuesOf("end", 3)).map(Number)).toEqual([2, 4, 6]);
  await page.click("#block-end .block-title");
  await command("Extract selection");
  await page.fill("#extract-path", "parts/twice");
  // Which files there are is asked when the dialog opens.
  await expect.poll(() => page.locator("dialog button[type=submit]").isDisabled()).toBe(true);
  expect(await page.locator("dialog").textContent()).toContain("A file of this name exists");
  await page.keyboard.press("Escape");
});

test.each(["npz", "safetensors"])("arrays of a dropped %s file become constants", async (kind) => {
  const made = (await library(`
import base64, io, json, struct
import numpy as np
arrays = {"weights": np.array([[1.5, -2], [0, 4]], "float32"), "steps": np.array([1, 2, 3], "int64")}
out = io.BytesIO()
if "${kind}" == "npz":
    np.savez_compressed(out, **arrays)
else:
    head, at, body = {}, 0, b""
    for name, array in arrays.items():
        data = array.tobytes()
        dtype = {"float32": "F32", "int64": "I64"}[array.dtype.name]
        head[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [at, at + len(data)]}
        at, body = at + len(data), body + data
    text = json.dumps(head).encode()
    out.write(struct.pack("<Q", len(text)) + text + body)
print(json.dumps(base64.b64encode(out.getvalue()).decode()))
`)) as string;
  await newPage(page, { start: CONST });
  await dropFile(page, `arrays.${kind}`, Buffer.from(made, "base64"));
  await page.waitForSelector("#block-steps");
  await expect.poll(async () => (await valuesOf("weights", 4)).map(Number)).toEqual([1.5, -2, 0, 4]);
  await expect.poll(() => page.locator("#block-steps .spec").textContent()).toBe("i64 3");
});

async function exported(kind: string): Promise<{ name: string; bytes: Buffer }> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+e");
  const waiting = page.waitForEvent("download");
  await page.locator("dialog .file-list button", { hasText: kind }).click();
  const download = await waiting;
  return { name: download.suggestedFilename(), bytes: readFileSync((await download.path()) as string) };
}

/** Writes an npy file into the folder of the studio. */
async function write(name: string, array: string): Promise<void> {
  const file = JSON.stringify(path.join(opened.studio.folder, name));
  await library(`import numpy as np; np.save(${file}, ${array}); print("null")`);
}

test.each(["PNG", "SVG", "HTML", "JSON"])(
  "a %s file has the arrays of the page's files inside, and gives the same numbers in an empty folder",
  async (kind) => {
    await write("w.npy", "(np.arange(300) / 7).astype('float32')");
    const value = { dtype: "float32", shape: [300], file: "w.npy" };
    await newPage(page, {
      w: { op: "Const", attrs: { value } },
      minus: { op: "Neg", in: { x: "w:output" } },
    });
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("#block-minus .live-mark.done");
    const wanted = await valuesOf("minus", 100);
    const { name, bytes } = await exported(kind);
    const [here, there] = [opened, await open({ browser: opened.browser })];
    try {
      [opened, page] = [there, there.page];
      await page.waitForSelector(".card");
      await newPage(page, { start: CONST });
      await dropFile(page, name, bytes);
      await page.waitForSelector("#block-minus");
      await page.keyboard.press("Control+Enter");
      await page.waitForSelector("#block-minus .live-mark.done");
      const found = await valuesOf("minus", 100);
      expect(found).toEqual(wanted);
      expect(Number(found[2])).toBeCloseTo(-2 / 7, 5);
      expect(there.errors).toEqual([]);
    } finally {
      [opened, page] = [here, here.page];
      await there.end();
    }
  },
);

test("an export says which constants stay behind, and why", async () => {
  await write("huge.npy", "np.zeros(262_145, 'bool')");
  const constant = (dtype: string, file: string) => ({ op: "Const", attrs: { value: { dtype, file } } });
  await newPage(page, { huge: constant("bool", "huge.npy"), lost: constant("float32", "lost.npy") });
  const { bytes } = await exported("SVG");
  expect(bytes.toString()).toContain("huge.npy");
  await expect
    .poll(() => page.locator(".toast span").last().textContent())
    .toBe(
      "Too large to embed: huge (262,145 elements in huge.npy). All embedded arrays have 262,144 elements at most; " +
        "in another folder the page needs these files beside it. " +
        "Not embedded, since the files cannot be read: lost (lost.npy). Put them back, and export again.",
    );
  await page.click(".toast button");
});

test("an image monitor shows a map with its legend, and a histogram its bars", async () => {
  const matrix = {
    dtype: "float32",
    value: [
      [0, 1, 2],
      [3, 4, 5],
    ],
  };
  await newPage(
    page,
    { values: { op: "Const", attrs: { value: matrix } }, minus: { op: "Neg", in: { x: "values:output" } } },
    {
      monitors: {
        map: { kind: "image", shows: [{ pin: "minus:y" }] },
        bars: { kind: "histogram", shows: [{ pin: "minus:y" }] },
      },
      layout: {
        blocks: { values: [0, 0], minus: [320, 0] },
        monitors: { map: [0, 240, 320, 200], bars: [360, 240, 320, 200] },
      },
    },
  );
  await page.keyboard.press("Control+Enter");
  const map = page.locator(".canvas canvas.map");
  await map.waitFor();
  const cells = () =>
    map.evaluate((canvas: HTMLCanvasElement) => {
      const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
      return {
        width: canvas.width,
        height: canvas.height,
        colours: new Set(
          Array.from(data)
            .join()
            .match(/(\d+,){3}255/g),
        ).size,
      };
    });
  await expect.poll(cells).toEqual({ width: 3, height: 2, colours: 6 });
  await expect.poll(() => page.locator(".canvas .legend .high").textContent()).toBe("0");
  await expect.poll(() => page.locator(".canvas .legend .low").textContent()).toBe("-5");
  const bars = () =>
    page
      .locator(".canvas .histogram rect")
      .evaluateAll((all) => all.filter((bar) => Number(bar.getAttribute("height")) > 0).length);
  await expect.poll(bars).toBe(6);
});
