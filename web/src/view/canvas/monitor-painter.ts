/** Monitors painted with what they show, for exports and for zooms at which their own elements are not legible. */

import type { Monitor } from "../../model/document.ts";
import type { Rect } from "../../model/geometry.ts";
import type { Series } from "../../net/generated.ts";
import type { ViewStrings } from "../../text/view.en.ts";
import { bytesOf, renderColours, scaleFor } from "./colourmap.ts";
import type { Colours } from "./colours.ts";
import type { DrawContext } from "./draw-context.ts";
import { CURVE_COLOURS, curveLabels, formatNumber } from "./monitor-labels.ts";
import { planeText } from "./plane-text.ts";

const PADDING = 12;

interface Sheet {
  readonly pen: DrawContext;
  readonly colours: Colours;
  /** The size of letters. */
  readonly size: number;
  readonly t: ViewStrings;
}

/** Paints the content of a monitor into a rectangle; or that it has none yet. */
export function paintMonitor(sheet: Sheet, rect: Rect, monitor: Monitor, series: Series | undefined): void {
  const inner = {
    x: rect.x + PADDING,
    y: rect.y + PADDING / 2,
    width: rect.width - 2 * PADDING,
    height: rect.height - PADDING,
  };
  if (inner.width < 4 * sheet.size || inner.height < sheet.size) return;
  if (series === undefined || series.problem)
    line(sheet, series?.problem || sheet.t.nothingYet, inner.x, inner.y + sheet.size, inner.width);
  else if (monitor.kind === "number") numbers(sheet, inner, monitor, series);
  else if (monitor.kind === "trend") trend(sheet, inner, monitor, series);
  else if (monitor.kind === "image") image(sheet, inner, monitor, series);
  else if (monitor.kind === "histogram") histogram(sheet, inner, series);
}

function curveColour(colours: Colours, i: number): string {
  return colours[CURVE_COLOURS[i % CURVE_COLOURS.length] as "float"];
}

/** A text in a size in which it is whole. */
function line(
  { pen, colours, size }: Sheet,
  text: string,
  x: number,
  y: number,
  room: number,
  align: "left" | "right" = "left",
  colour = colours.inkSoft,
): void {
  pen.font = `${size}px ${colours.mono}`;
  const width = pen.measureText(text).width;
  if (width > room) pen.font = `${(size * room) / width}px ${colours.mono}`;
  pen.textAlign = align;
  pen.textBaseline = "alphabetic";
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

function numbers(sheet: Sheet, { x, y, width, height }: Rect, monitor: Monitor, series: Series): void {
  const labels = curveLabels(monitor.shows ?? [], series, sheet.t);
  const step = Math.min(height / Math.max(labels.length, 1), 2 * sheet.size);
  labels.forEach((label, i) => {
    const base = y + (i + 0.7) * step;
    line(sheet, label, x, base, width * 0.6);
    const value = formatNumber(series.values?.[i]?.at(-1));
    line(sheet, value, x + width, base, width * 0.38, "right", sheet.colours.ink);
  });
}

function trend(sheet: Sheet, { x, y, width, height }: Rect, monitor: Monitor, series: Series): void {
  const { pen, colours, size } = sheet;
  const { steps = [], values = [] } = series;
  const labels = curveLabels(monitor.shows ?? [], series, sheet.t);
  const finite = values.flat().filter((each): each is number => each !== null && Number.isFinite(each));
  const low = monitor.low ?? finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = monitor.high ?? finite.reduce((a, b) => Math.max(a, b), -Infinity);
  // Where there is little room, the curves go before the texts.
  const rows = Math.min(labels.length, Math.max(0, Math.floor(height / (1.3 * size)) - 5));
  const texts = height > 6 * size;
  const bottom = texts ? y + height - size * (1.3 * rows + 1.5) : y + height;
  const plot = { x, y, width, height: bottom - y };
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.strokeRect(plot.x, plot.y, plot.width, plot.height);
  const [first = 0, last = 1] = [steps[0], steps.at(-1)];
  const across = (step: number) => plot.x + ((step - first) / (last - first || 1)) * plot.width;
  const up = (value: number) =>
    plot.y + plot.height - ((value - low) / (high - low || 1)) * plot.height * 0.94 - plot.height * 0.03;
  values.forEach((curve, i) => {
    pen.beginPath();
    let drawn = false;
    // One point a pixel is enough.
    const stride = Math.max(1, Math.floor(curve.length / plot.width));
    for (let at = 0; at < curve.length; at += stride) {
      const value = curve[at];
      if (value === null || value === undefined || !Number.isFinite(value)) drawn = false;
      else if (drawn) pen.lineTo(across(steps[at] as number), up(value));
      else pen.moveTo(across(steps[at] as number), up(value));
      drawn = value !== null && value !== undefined;
    }
    pen.strokeStyle = curveColour(colours, i);
    pen.lineWidth = 1.5;
    pen.stroke();
    if (i >= rows) return;
    const base = bottom + size * (1.3 * i + 2.5);
    const words = `${labels[i]} ${formatNumber(curve.at(-1))}`;
    line(sheet, words, x, base, width, "left", curveColour(colours, i));
  });
  if (!texts) return;
  line(sheet, formatNumber(high), plot.x + 3, plot.y + size, width / 3);
  line(sheet, formatNumber(low), plot.x + 3, plot.y + plot.height - 3, width / 3);
  line(sheet, formatNumber(first), plot.x, bottom + size * 1.2, width / 3);
  line(sheet, formatNumber(last), plot.x + plot.width, bottom + size * 1.2, width / 3, "right");
}

function image(sheet: Sheet, { x, y, width, height }: Rect, monitor: Monitor, series: Series): void {
  const [rows = 0, columns = 0] = series.picture_shape ?? [];
  if (!series.picture || rows * columns === 0) return;
  const values = new Float32Array(bytesOf(series.picture).buffer);
  const finite = values.filter(Number.isFinite);
  const low = monitor.low ?? finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = monitor.high ?? finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const scale = scaleFor(Number.isFinite(low) ? low : 0, Number.isFinite(high) ? high : 1);
  const room = { width: width - 6 * sheet.size, height: height - 1.5 * sheet.size };
  const side = Math.min(room.width / columns, room.height / rows);
  const [w, h] = [columns * side, rows * side];
  const top = y + (room.height - h) / 2;
  sheet.pen.drawImage(renderColours(values, rows, columns, scale), x + (room.width - w) / 2, top, w, h);
  const bar = Array.from({ length: 64 }, (_, i) => scale.high - (i / 63) * (scale.high - scale.low));
  sheet.pen.drawImage(renderColours(bar, 64, 1, scale), x + room.width + 6, y, 10, room.height);
  const right = x + room.width + 20;
  line(sheet, formatNumber(scale.high), right, y + sheet.size, x + width - right);
  line(sheet, formatNumber(scale.low), right, y + room.height, x + width - right);
  line(sheet, planeText(series.plane, sheet.t), x, y + height, width);
}

function histogram(sheet: Sheet, { x, y, width, height }: Rect, series: Series): void {
  const { pen, colours, size } = sheet;
  const { counts = [], edges = [] } = series;
  const bins = Math.max(1, edges.length - 1);
  const most = Math.max(1, ...counts.flat());
  const bottom = y + height - 1.5 * size;
  counts.forEach((each, i) => {
    pen.fillStyle = curveColour(colours, i);
    pen.globalAlpha = 0.8;
    each.forEach((count, bin) => {
      const tall = ((bottom - y) * count) / most;
      pen.fillRect(x + ((bin + 0.06) / bins) * width, bottom - tall, (0.88 / bins) * width, tall);
    });
    pen.globalAlpha = 1;
  });
  const half = series.whole ? 0.5 : 0;
  if (edges.length === 0) return;
  line(sheet, formatNumber((edges[0] as number) + half), x, y + height, width / 2);
  line(sheet, formatNumber((edges.at(-1) as number) - half), x + width, y + height, width / 2, "right");
}
