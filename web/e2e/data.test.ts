/** Data in: files and tables that are dropped, pasted or picked become constants, of any size. */

import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  copiedText,
  dropFile,
  library,
  listedValues,
  newPage,
  type Opened,
  open,
  pasteText,
} from "./harness.ts";

let opened: Opened;
let page: Page;
/** Files to drop. */
const files = mkdtempSync(path.join(tmpdir(), "studio-data-"));

beforeAll(async () => {
  opened = await open({ width: 1280, height: 800 });
  page = opened.page;
  await library(`
import gzip, json, numpy as np, nibabel, tifffile, zarr
from PIL import Image
at = ${JSON.stringify(`${files}/`)}
cells = np.arange(24, dtype="uint8").reshape(2, 4, 3)
Image.fromarray(cells).save(at + "photo.png")
Image.fromarray(cells).save(at + "photo.jpg")
tifffile.imwrite(at + "stack.tif", np.arange(24, dtype="uint16").reshape(2, 3, 4), photometric="minisblack")
open(at + "scan.nii.gz", "wb").write(gzip.compress(nibabel.Nifti1Image(np.arange(24, dtype="int16").reshape(2, 3, 4), np.eye(4)).to_bytes()))
open(at + "table.csv", "w").write("x,y\\n1,2.5\\n3,-4\\n")
open(at + "cut.png", "wb").write(open(at + "photo.png", "rb").read()[:-40])
np.save(at + "large.npy", np.arange(600_000, dtype="float32").reshape(600, 1000))
group = zarr.open_group(at + "cube.zarr", mode="w")
group.create_array("inner", data=np.arange(8.0), chunks=(3,))
print("null")
`);
  await page.waitForSelector(".card");
});
afterAll(async () => {
  await opened?.end();
});
afterEach(() => {
  // Refusals by the server are errors of the page's network.
  expect(opened.errors.splice(0).filter((each) => !each.includes("422"))).toEqual([]);
});

const START = { op: "Const", attrs: { value: { dtype: "float32", value: 0 } } };

function bytes(name: string): Buffer {
  return readFileSync(path.join(files, name));
}

async function spec(block: string): Promise<string | null> {
  return page.locator(`[id="block-${block}"] .spec`).textContent();
}

/** The first values that the inspector lists for a block after a run. */
async function values(block: string, count: number): Promise<number[]> {
  await page.click(`[id="block-${block}"] .block-title`);
  await page.keyboard.press("Alt+5");
  const pane = page.locator(`.pane[aria-label^="${block}:"]`);
  await pane.getByRole("button", { name: "List", exact: true }).click();
  await pane
    .locator(".element-table tr")
    .nth(count - 1)
    .waitFor();
  return Object.values(await listedValues(page))
    .slice(0, count)
    .map(Number);
}

async function valueIn(block: string): Promise<Record<string, unknown>> {
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+a");
  const { blocks } = JSON.parse(await copiedText(page)) as {
    blocks: Record<string, { attrs: { value: Record<string, unknown> } }>;
  };
  await page.keyboard.press("Escape");
  return blocks[block]?.attrs.value ?? {};
}

test.each([
  ["table.csv", "table", "f32 2×2", [1, 2.5, 3, -4]],
  ["photo.png", "photo", "u8 2×4×3", [0, 1, 2, 3]],
  ["stack.tif", "stack", "u16 2×3×4", [0, 1, 2, 3]],
  ["scan.nii.gz", "scan", "i16 2×3×4", [0, 1, 2, 3]],
] as const)("a dropped %s becomes a constant", async (name, block, type, first) => {
  await newPage(page, { start: START });
  await dropFile(page, name, bytes(name));
  await page.waitForSelector(`#block-${block}`);
  await expect.poll(() => spec(block)).toBe(type);
  await expect.poll(() => values(block, first.length)).toEqual(first);
});

test("a dropped JPEG becomes a constant of bytes", async () => {
  await newPage(page, { start: START });
  await dropFile(page, "photo.jpg", bytes("photo.jpg"));
  await page.waitForSelector("#block-photo");
  await expect.poll(() => spec("photo")).toBe("u8 2×4×3");
});

test("a table that a spreadsheet has copied is pasted as a constant, in one step that can be undone", async () => {
  await newPage(page, { start: START });
  await pasteText(page, "1,5\t2\r\n3\t4\r\n");
  await page.waitForSelector("#block-table");
  expect(await valueIn("table")).toEqual({
    dtype: "float32",
    value: [
      [1.5, 2],
      [3, 4],
    ],
  });
  await page.keyboard.press("Control+z");
  await page.waitForSelector("#block-table", { state: "detached" });
  await pasteText(page, "no numbers at all");
  await expect
    .poll(() => page.locator(".toast span").last().textContent())
    .toContain("no blocks and no table");
});

test("files are picked by keys", async () => {
  await newPage(page, { start: START });
  await page.locator(".canvas").focus();
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Control+i")]);
  await chooser.setFiles([path.join(files, "table.csv"), path.join(files, "photo.png")]);
  await page.waitForSelector("#block-table");
  await page.waitForSelector("#block-photo");
});

test("a Zarr folder is picked by keys, and dropped", async () => {
  await newPage(page, { start: START });
  await page.locator(".canvas").focus();
  await page.keyboard.press("Control+Shift+p");
  await page.keyboard.type("data from a folder");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Enter")]);
  await chooser.setFiles(path.join(files, "cube.zarr"));
  await page.waitForSelector("#block-inner");
  await expect.poll(() => values("inner", 8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  const session = await page.context().newCDPSession(page);
  const box = await page.locator(".canvas").boundingBox();
  const at = { x: (box?.x ?? 0) + 200, y: (box?.y ?? 0) + 300 };
  const data = { items: [], files: [path.join(files, "cube.zarr")], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, ...at, data });
  await page.waitForSelector("#block-inner_2");
});

test("a large array stays in a file beside the page, whole unless a part is wanted, and is shown by slices", async () => {
  await newPage(page, { start: START });
  await dropFile(page, "large.npy", bytes("large.npy"));
  const dialog = page.locator("dialog");
  await dialog.waitFor();
  expect(await dialog.textContent()).toContain("float32 [600, 1000]");
  // By keys: the part is left empty.
  await page.keyboard.press("Enter");
  await page.waitForSelector("#block-large");
  await dialog.waitFor({ state: "detached" });
  // Its value is there to be looked at without a run of the page.
  await page.waitForSelector("#block-large .live-mark.done");
  expect(await values("large", 3)).toEqual([0, 1, 2]);
  const { file, ...about } = await valueIn("large");
  expect(about).toEqual({ dtype: "float32", shape: [600, 1000] });
  await page.keyboard.press("Control+Shift+s");
  await page.fill("#save-path", "data.page.json");
  await page.press("#save-path", "Enter");
  await page.waitForFunction(() => document.querySelector(".save-state")?.textContent === "Saved");
  expect(readFileSync(path.join(opened.studio.folder, "data.page.json"), "utf8")).toContain(String(file));
  expect(statSync(path.join(opened.studio.folder, String(file))).size).toBeGreaterThan(2_400_000);
});

test("a part of a large array is taken by the mouse, and a wrong one is told", async () => {
  await newPage(page, { start: START });
  await dropFile(page, "large.npy", bytes("large.npy"));
  const field = page.getByLabel("Part of large");
  await field.fill("600");
  await page.locator("dialog button[type=submit]").click();
  await expect
    .poll(() => page.locator("dialog [role=alert]").textContent())
    .toContain("Axis 0 has 600 entries");
  await field.fill("1, 2:5");
  await page.locator("dialog button[type=submit]").click();
  await page.waitForSelector("#block-large");
  expect(await valueIn("large")).toEqual({ dtype: "float32", value: [1002, 1003, 1004] });
});

test("a file that is cut off gets a sentence", async () => {
  await newPage(page, { start: START });
  await dropFile(page, "cut.png", bytes("cut.png"));
  await expect
    .poll(() => page.locator(".toast span").last().textContent())
    .toContain("cut.png: must be a file that can be read");
  await page.click(".toast button");
});
