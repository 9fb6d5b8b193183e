/** Labels and colours of the curves of monitors. */

import type { MonitorSource } from "../../model/document.ts";
import type { Curve, Series } from "../../net/generated.ts";
import type { ViewStrings } from "../../text/view.en.ts";

/** The colour classes of curves and bars, in order. */
export const CURVE_COLOURS = ["float", "string", "int", "bool", "complex", "unsigned"] as const;

export function shownLabel(shown: MonitorSource | undefined): string {
  if (shown === undefined) return "";
  return shown.label ?? shown.pin + (shown.element ? `[${shown.element.join("][")}]` : "");
}

/** The label of each curve or number: the output, and the element of it. */
export function curveLabels(shows: readonly MonitorSource[], { curves }: Series, t: ViewStrings): string[] {
  const all: readonly Curve[] = curves ?? shows.map((_, shown) => ({ shown }));
  return all.map(({ shown, element, mean_of }) => {
    const place = element ? `[${element.join("][")}]` : "";
    return `${shownLabel(shows[shown])}${place}${mean_of ? `, ${t.meanOf(mean_of)}` : ""}`;
  });
}

export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(5)));
}
