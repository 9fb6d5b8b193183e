/** Texts that say which cells of a tensor a picture shows. */

import type { Plane } from "../../net/generated.ts";
import type { ViewStrings } from "../../text/view.en.ts";

/** The slice that a picture shows, as an index of NumPy; empty if it is the whole tensor. */
export function sliceText(plane: Plane | undefined): string {
  const at = plane?.at ?? [];
  return at.length === 0 ? "" : `[${at.map((place) => place ?? ":").join(",")}]`;
}

/** What a picture shows of a tensor, in short: the slice, and how many of its cells are one of the picture. */
export function planeText(plane: Plane | undefined, t: ViewStrings): string {
  const [rows, columns] = plane?.area ?? [];
  const area = rows && columns ? t.areaShort(`${rows}×${columns}`, plane?.sampled ?? false) : "";
  return [sliceText(plane), area].filter(Boolean).join(" ");
}

/** The same as a sentence. */
export function planeTitle(pin: string, plane: Plane | undefined, t: ViewStrings): string {
  const [rows, columns] = plane?.area ?? [];
  const area = rows && columns ? t.areaOfCells(`${rows}×${columns}`, plane?.sampled ?? false) : "";
  return [`${pin}${sliceText(plane)}.`, area].filter(Boolean).join(" ");
}
