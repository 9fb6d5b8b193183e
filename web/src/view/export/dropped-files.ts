/** Dropped files: pages and files with an embedded page are opened, arrays become constants. */

import { item, paste } from "../../model/actions.ts";
import { parseClip } from "../../model/clipboard.ts";
import { constantOf } from "../../model/constant-cells.ts";
import type { PageDocument } from "../../model/document.ts";
import { FORMAT } from "../../model/generated.ts";
import type { Point } from "../../model/geometry.ts";
import { studio } from "../../state/store.ts";
import { currentPage, dispatch } from "../active-page.ts";
import { canvasRef } from "../canvas-ref.ts";
import { strings } from "../strings.ts";
import { ui } from "../ui.ts";
import { type ArrayFile, ArrayFileError, readArrays } from "./array-files.ts";
import { pageInHtml, pageInPng, pageInSvg } from "./embedded-page.ts";

export async function dropFiles(files: readonly File[], at: Point): Promise<void> {
  const arrays: ArrayFile[] = [];
  for (const file of files) {
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const page = pageIn(file.name, bytes);
      if (page !== null) await openText(file.name, page);
      else arrays.push(...(await readArrays(file.name, bytes)));
    } catch (error) {
      const faults = strings().arrayFaults;
      const [name, why] =
        error instanceof ArrayFileError ? [error.file, error.why(faults)] : [file.name, faults.broken];
      studio.notice("error", `${name}: ${why}`);
    }
  }
  if (arrays.length > 0) await addConstants(arrays, at);
}

/** The text of the page in a file; null if files of this kind have none. */
function pageIn(name: string, bytes: Uint8Array): string | null {
  if (/\.json$/i.test(name)) return new TextDecoder().decode(bytes);
  if (/\.png$/i.test(name)) return pageInPng(bytes) ?? "";
  if (/\.svg$/i.test(name)) return pageInSvg(new TextDecoder().decode(bytes)) ?? "";
  if (/\.html?$/i.test(name)) return pageInHtml(new TextDecoder().decode(bytes)) ?? "";
  return null;
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

/** A constant for each array, one below the other. */
async function addConstants(arrays: readonly ArrayFile[], at: Point): Promise<void> {
  if (currentPage() === undefined) await ui.openPage({});
  const page = currentPage();
  if (page === undefined) return;
  const names = arrays.map(
    (array, i) =>
      array.name.replace(/[^A-Za-z0-9_.-]+/g, "_").replace(/^[^A-Za-z0-9]+|^\d+$/, "") || `array_${i + 1}`,
  );
  const clip: PageDocument = {
    format: FORMAT,
    blocks: Object.fromEntries(
      arrays.map(({ dtype, shape, elements }, i) => [
        names[i] as string,
        { op: "Const", attrs: { value: constantOf({ dtype, shape, elements }) } },
      ]),
    ),
    layout: { blocks: Object.fromEntries(names.map((name, i) => [name, [0, i * 136]])) },
  };
  dispatch(paste(page.document, clip, { at }));
  canvasRef.current?.reveal(item("block", names[0] as string));
}
