/** Short previews of attributes and constants, as blocks show them. */

import { cellsOf, formatCell } from "../../model/constant-cells.ts";
import { isObject, type Json } from "../../model/document.ts";
import type { AttrRow, InputPin } from "../../model/graph.ts";
import { valueText } from "../../model/values.ts";

/** The preview of a constant: its first elements, and its shape if there are more. */
export function previewConstant(value: Json | undefined): string {
  const cells = cellsOf(value);
  if (cells === undefined)
    return isObject(value) && Array.isArray(value.shape) ? `[${value.shape.join("×")}]` : "";
  const first = cells.elements.slice(0, 4).map(formatCell).join(" ");
  if (cells.elements.length <= 4) return cells.shape.length === 0 ? first : `[${first}]`;
  return `[${cells.shape.join("×")}] ${first}…`;
}

export function previewInput(pin: InputPin): string {
  return pin.state === "constant" ? previewConstant(pin.value) : "";
}

export function previewAttr(row: AttrRow): string {
  if (row.value === undefined) return "–";
  if (row.info?.kind === "tensor") return previewConstant(row.value);
  if (row.info?.kind === "shape" && row.value === null) return "?";
  return Array.isArray(row.value) && !row.value.some(Array.isArray)
    ? row.value.map((each) => (each === null ? "?" : String(each))).join(" ")
    : valueText(row.value);
}
