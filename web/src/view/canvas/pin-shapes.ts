/** Outlines of pins, which tell their role without colour. */

import type { PinInfo } from "../../model/ops.ts";
import type { DrawContext } from "./draw-context.ts";

export type PinRole = "tensor" | "constant" | "list" | "state";

/** The role of a pin, by dtype and count. */
export function pinRole(info: PinInfo, kind: "input" | "output"): PinRole {
  if (info.dtypes.length === 1 && info.dtypes[0] === "resource") return "state";
  if (info.count === "list" || info.count === "mixed list") return "list";
  if (
    kind === "input" &&
    info.dtypes.length > 0 &&
    info.dtypes.every((dtype) => dtype === "int32" || dtype === "int64")
  )
    return "constant";
  return "tensor";
}

/** The outline of a pin around a point: circle, diamond, bar or square. */
export function tracePin(pen: DrawContext, role: PinRole, x: number, y: number, size: number): void {
  pen.beginPath();
  if (role === "tensor") pen.arc(x, y, size, 0, 2 * Math.PI);
  else if (role === "constant") {
    pen.moveTo(x, y - size * 1.25);
    pen.lineTo(x + size * 1.25, y);
    pen.lineTo(x, y + size * 1.25);
    pen.lineTo(x - size * 1.25, y);
    pen.closePath();
  } else if (role === "list") pen.rect(x - size * 0.6, y - size * 1.5, size * 1.2, size * 3);
  else pen.rect(x - size, y - size, size * 2, size * 2);
}
