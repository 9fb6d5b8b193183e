/** What the browser hands over by drop, paste or a file dialog: files and folders. */

import { parseClip } from "../model/clipboard.ts";
import type { Point } from "../model/geometry.ts";
import { pasteText } from "../state/clipboard.ts";
import { currentPage } from "./active-page.ts";
import { canvasRef } from "./canvas-ref.ts";

export interface DroppedFolder {
  readonly name: string;
  /** Files with their paths below the folder. */
  readonly files: readonly { readonly path: string; readonly file: File }[];
}

const importing = () => import("./export/dropped-files.ts");

/** Imports what was dropped. The browser forgets it after the event, so that it is looked at at once. */
export async function dropData(data: DataTransfer, at: Point): Promise<void> {
  const entries = [...data.items].map((each) => each.webkitGetAsEntry());
  const folders = entries.filter((each) => each?.isDirectory) as FileSystemDirectoryEntry[];
  const files = [...data.files].filter(({ name }) => !folders.some((folder) => folder.name === name));
  const { importFiles, importFolder } = await importing();
  await importFiles(files, at);
  for (const folder of folders) await importFolder({ name: folder.name, files: await filesIn(folder) }, at);
}

async function filesIn(folder: FileSystemDirectoryEntry, before = ""): Promise<DroppedFolder["files"]> {
  const found: { path: string; file: File }[] = [];
  for (const entry of await entriesOf(folder)) {
    const path = before + entry.name;
    if (entry.isDirectory) found.push(...(await filesIn(entry as FileSystemDirectoryEntry, `${path}/`)));
    else {
      const file = await new Promise<File>((resolve, reject) => {
        (entry as FileSystemFileEntry).file(resolve, reject);
      });
      found.push({ path, file });
    }
  }
  return found;
}

/** All entries of a folder, which the browser gives a hundred at a time. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return all;
    all.push(...some);
  }
}

/** Imports files, or a folder, that the user picks in the browser's dialog. */
export function pickData(folder: boolean): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.webkitdirectory = folder;
  input.addEventListener("change", async () => {
    const { importFiles, importFolder } = await importing();
    const files = [...(input.files ?? [])];
    if (!folder) return importFiles(files, centre());
    const name = files[0]?.webkitRelativePath.split("/")[0] ?? "";
    const inside = files.map((file) => ({ path: file.webkitRelativePath.slice(name.length + 1), file }));
    return importFolder({ name, files: inside }, centre());
  });
  input.click();
}

/** Pastes files, blocks, or a table of numbers as a spreadsheet copies it. */
export async function pasteData(text: string, files: readonly File[] = []): Promise<void> {
  const page = currentPage();
  if (page === undefined) return;
  const isTable = /\d/.test(text) && /[\t\n,;]/.test(text.trim()) && parseClip(text) === undefined;
  if (files.length === 0 && !isTable) {
    pasteText(page.page, text);
    return;
  }
  const { importFiles, importArrays } = await importing();
  if (isTable)
    await importArrays({ name: "table.csv", body: new Blob([text]), isFolder: false, at: centre() });
  else await importFiles(files, centre());
}

function centre(): Point {
  return canvasRef.current?.centre() ?? { x: 0, y: 0 };
}
