/** Thumbnails of values, cached by summary, and texts of durations and sizes. */

import { elementCount } from "../../model/indexing.ts";
import type { Summary } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { strings } from "../strings.ts";
import { bytesOf, renderColours, scaleFor } from "./colourmap.ts";
import type { LiveSource } from "./painter.ts";
import { planeText } from "./plane-text.ts";

const thumbnails = new WeakMap<Summary, HTMLCanvasElement>();

/** The thumbnail of a value; undefined if it has none. Bytes are 0 for NaN, else linear from low to high. */
export function thumbnailOf(summary: Summary | undefined): HTMLCanvasElement | undefined {
  if (!summary?.picture) return undefined;
  const known = thumbnails.get(summary);
  if (known) return known;
  const [rows = 1, columns = 1] = summary.picture_shape ?? [];
  const low = summary.low ?? 0;
  const high = summary.high ?? 0;
  const scale = scaleFor(low, high);
  const values = Array.from(bytesOf(summary.picture), (byte) =>
    byte === 0 ? Number.NaN : low + ((byte - 1) / 254) * (high - low),
  );
  const picture = renderColours(values, rows, columns, scale);
  thumbnails.set(summary, picture);
  return picture;
}

/** What the painter shows of a page's last run. */
export function liveSource(page: number): LiveSource {
  return {
    state: (block) => live(page).blockState(block),
    picture: (pin) => thumbnailOf(live(page).summary(pin)),
    series: (monitor) => live(page).series(monitor),
    slice: (pin) => planeText(live(page).summary(pin)?.plane, strings()),
  };
}

export const BLANK_IMAGE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

const urls = new WeakMap<Summary, string>();

/** The thumbnail as a data URL: a canvas in each block would be a compositor layer and slow every frame. */
export function thumbnailUrl(summary: Summary | undefined): string {
  const picture = thumbnailOf(summary);
  if (summary === undefined || picture === undefined) return BLANK_IMAGE;
  const known = urls.get(summary) ?? picture.toDataURL();
  urls.set(summary, known);
  return known;
}

export type Health = "nan" | "inf" | "zero" | "ok";

export function healthOf(summary: Summary | undefined): Health {
  if (summary === undefined) return "ok";
  if ((summary.nans ?? 0) > 0) return "nan";
  if ((summary.infinities ?? 0) > 0) return "inf";
  const count = elementCount(summary.shape);
  return count > 0 && summary.zeros === count && summary.dtype !== "bool" ? "zero" : "ok";
}

/** A duration: 12 µs, 3.4 ms, 2.1 s. */
export function formatDuration(seconds: number): string {
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${trimmed(seconds * 1e3)} ms`;
  return seconds < 100 ? `${trimmed(seconds)} s` : `${Math.round(seconds)} s`;
}

function trimmed(number: number): string {
  return number < 10 ? number.toFixed(1) : String(Math.round(number));
}

export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    unit++;
  }
  return `${unit === 0 ? bytes : trimmed(bytes)} ${units[unit]}`;
}
