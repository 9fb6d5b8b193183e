/** Dropped, pasted and picked files: pages and files with an embedded page are opened, arrays become constants. */

import { item, namesOf, paste } from "../../model/actions.ts";
import { parseClip } from "../../model/clipboard.ts";
import { isObject, type Json, type PageDocument } from "../../model/document.ts";
import { FORMAT } from "../../model/generated.ts";
import type { Point } from "../../model/geometry.ts";
import type { ImportedArray } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import { currentPage, dispatch } from "../active-page.ts";
import { canvasRef } from "../canvas-ref.ts";
import type { DroppedFolder } from "../dropped.ts";
import { strings } from "../strings.ts";
import { ui } from "../ui.ts";
import { pageInHtml, pageInPng, pageInSvg } from "./embedded-page.ts";

/** A file, or a folder packed in one, whose arrays become constants. */
export interface ArraySource {
  readonly name: string;
  readonly body: Blob;
  readonly isFolder: boolean;
  /** Where its constants are placed. */
  readonly at: Point;
}

const LARGE_FILE = 1 << 24;

export async function importFiles(files: readonly File[], at: Point): Promise<void> {
  for (const [i, file] of files.entries()) {
    const page = await pageIn(file);
    if (page !== undefined) await openText(file.name, page);
    else await importArrays({ name: file.name, body: file, isFolder: false, at: below(at, i) });
  }
}

/** A folder is one file of Zarr, or else its files are imported one by one. */
export async function importFolder({ name, files }: DroppedFolder, at: Point): Promise<void> {
  const isZarr = files.some(({ path }) => /^(zarr\.json|\.zarray|\.zgroup)$/.test(path));
  if (isZarr) await importArrays({ name, body: packed(files), isFolder: true, at });
  else
    await importFiles(
      files.map(({ file }) => file),
      at,
    );
}

/** The header's length, the header (paths and sizes), and the bytes of all files, none of which is read for it. */
function packed(files: DroppedFolder["files"]): Blob {
  const head = new TextEncoder().encode(JSON.stringify(files.map(({ path, file }) => [path, file.size])));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, head.length, true);
  return new Blob([length, head, ...files.map(({ file }) => file)]);
}

/** The text of the page in a file; undefined if files of this kind have none, or an image has none inside. */
async function pageIn(file: File): Promise<string | undefined> {
  if (/\.json$/i.test(file.name)) return file.text();
  if (/\.png$/i.test(file.name)) return pageInPng(new Uint8Array(await file.arrayBuffer())) ?? undefined;
  if (/\.svg$/i.test(file.name)) return pageInSvg(await file.text()) ?? "";
  if (/\.html?$/i.test(file.name)) return pageInHtml(await file.text()) ?? "";
  return undefined;
}

async function openText(name: string, text: string): Promise<void> {
  const page = parseClip(text);
  const t = strings();
  const { format } = page ?? {};
  if (page === undefined)
    studio.notice("error", /\.json$/i.test(name) ? t.notAPage(name) : t.noPageInside(name));
  else if (typeof format === "number" && format > FORMAT) studio.notice("error", t.newerFormat(name, format));
  else await ui.openDocument(page);
}

/** Imports arrays, and asks first which part of large ones is wanted; a notice says why it failed. */
export async function importArrays(source: ArraySource, parts?: Record<string, string>): Promise<void> {
  if (currentPage() === undefined) await ui.openPage({});
  const page = currentPage();
  if (page === undefined) return;
  if (source.body.size > LARGE_FILE) studio.notice("info", strings().reading(source.name));
  const answer = await uploaded(page.page, source, parts);
  if (typeof answer === "string") studio.notice("error", answer);
  else if (answer.some(({ constant }) => constant === null || constant === undefined))
    ui.openDialog({ kind: "import", source, arrays: answer });
  else addConstants(answer, source.at);
}

/** The arrays of a file as the server reads them, or why it cannot. */
export async function uploaded(
  page: number,
  { name, body, isFolder }: ArraySource,
  parts?: Record<string, string>,
): Promise<readonly ImportedArray[] | string> {
  const query = new URLSearchParams({ page: String(page), name });
  if (isFolder) query.set("folder", "1");
  if (parts) query.set("parts", JSON.stringify(parts));
  try {
    const answer = await fetch(`/api/array?${query}`, { method: "POST", body });
    if (!answer.ok) return await answer.text();
    return ((await answer.json()) as { arrays: ImportedArray[] }).arrays;
  } catch {
    return strings().notRead(name);
  }
}

/** A constant for each array, one below the other. */
export function addConstants(arrays: readonly ImportedArray[], at: Point): void {
  const page = currentPage();
  if (page === undefined || arrays.length === 0) return;
  const names = arrays.map(
    (array, i) =>
      array.name.replace(/[^A-Za-z0-9_.-]+/g, "_").replace(/^[^A-Za-z0-9]+|^\d+$/, "") || `array_${i + 1}`,
  );
  const clip: PageDocument = {
    format: FORMAT,
    blocks: Object.fromEntries(
      arrays.map(({ constant }, i) => [
        names[i] as string,
        { op: "Const", attrs: { value: constant as Json } },
      ]),
    ),
    layout: { blocks: Object.fromEntries(names.map((name, i) => [name, [0, i * 136]])) },
  };
  const adding = paste(page.document, clip, { at });
  dispatch(adding);
  canvasRef.current?.reveal(item("block", names[0] as string));
  // What stands in a file has a value to look at only after a run, here of these constants alone.
  const added = namesOf(adding.added, "block");
  const inFiles = added.filter((_, i) => isObject(arrays[i]?.constant) && "file" in arrays[i].constant);
  if (inFiles.length > 0 && page.run.state === "idle") studio.run(page.page, { to: inFiles });
}

function below({ x, y }: Point, count: number): Point {
  return { x, y: y + count * 136 };
}
