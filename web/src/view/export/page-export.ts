/** Exports of a page as PNG, SVG and HTML, with the page embedded. */

import { MAX_CELLS } from "../../model/constant-cells.ts";
import { isObject, type Json, localizedText } from "../../model/document.ts";
import { stringifyExact } from "../../model/exact-json.ts";
import type { BlockView } from "../../model/graph.ts";
import type { OmittedArray } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { type PageState, studio } from "../../state/store.ts";
import { readColours } from "../canvas/colours.ts";
import { type DrawContext, escapeXml, SvgContext } from "../canvas/draw-context.ts";
import { NO_EMPHASIS, Painter } from "../canvas/painter.ts";
import { Scene } from "../canvas/scene.ts";
import { titleOf } from "../canvas/stage.ts";
import { liveSource } from "../canvas/thumbnails.ts";
import { useSettings } from "../settings.ts";
import { strings } from "../strings.ts";
import { embedInPng } from "./embedded-page.ts";

const MARGIN = 32;
/** Browsers limit the size of canvases. */
const MAX_PIXELS = 16_000_000;
const MAX_NAMED = 12;

/** The JSON of the page; its arrays stay in their files. */
export function pageText(page: PageState): string {
  return stringifyExact(page.document);
}

export function hasFiles(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.some(hasFiles);
  if (!isObject(value)) return false;
  return ("dtype" in value && typeof value.file === "string") || Object.values(value).some(hasFiles);
}

/** The page with its arrays inline, so that it opens in any folder. Arrays that are omitted are named in a notice. */
export async function pageWithArrays(page: PageState): Promise<string> {
  if (!hasFiles(page.document)) return pageText(page);
  const { text, omitted = [] } = await studio.requests.pageWithArrays(page.page);
  if (omitted.length > 0) studio.notice("error", omittedText(omitted));
  return text;
}

function omittedText(omitted: readonly OmittedArray[]): string {
  const t = strings();
  const listed = (names: readonly string[]) =>
    names.length > MAX_NAMED ? `${names.slice(0, MAX_NAMED).join(", ")}, …` : names.join(", ");
  const large = omitted.flatMap(({ name, file, elements }) =>
    elements ? [t.elementsIn(name, elements, file)] : [],
  );
  const lost = omitted.flatMap(({ name, file, elements }) => (elements ? [] : [`${name} (${file})`]));
  const sentences = [
    ...(large.length > 0 ? [t.tooLargeInside(listed(large), MAX_CELLS)] : []),
    ...(lost.length > 0 ? [t.unreadableInside(listed(lost))] : []),
  ];
  return sentences.join(" ");
}

function frameOf(scene: Scene): { x: number; y: number; width: number; height: number } {
  const around = scene.bounds() ?? { x: 0, y: 0, width: 400, height: 200 };
  return {
    x: around.x - MARGIN,
    y: around.y - MARGIN,
    width: around.width + 2 * MARGIN,
    height: around.height + 2 * MARGIN,
  };
}

/** Paints the whole page in full detail. */
function paintAll(pen: DrawContext, scene: Scene, page: PageState): void {
  const painter = new Painter(pen, readColours(), 1, true);
  const frame = frameOf(scene);
  pen.fillStyle = painter.colours.ground;
  pen.fillRect(frame.x, frame.y, frame.width, frame.height);
  const { document } = page;
  for (const box of scene.boxes) {
    if (box.kind !== "frames") continue;
    painter.frame(box, false);
    painter.frameTitle(box, titleOf(scene, box));
  }
  const wires = [...scene.wires.keys()];
  painter.wires(scene, wires, NO_EMPHASIS, true);
  painter.bends(scene, wires);
  painter.labels(scene, wires, NO_EMPHASIS);
  const values = liveSource(page.page);
  for (const name of scene.graph.blocks.keys())
    painter.block(scene, scene.block(name) as BlockView, values, NO_EMPHASIS, "all");
  for (const box of scene.boxes) {
    const note = document.notes?.[box.name];
    const { language } = useSettings.getState();
    if (box.kind === "notes") painter.note(box, localizedText(language, note?.text, note?.texts));
    else if (box.kind === "monitors")
      painter.monitor(
        box,
        titleOf(scene, box),
        document.monitors?.[box.name],
        values.series(box.name),
        false,
        strings(),
      );
  }
}

/** The page as PNG, with `inside` embedded. */
export async function pagePng(page: PageState, inside?: string): Promise<Blob> {
  const scene = new Scene(page.graph, page.places, "all");
  const frame = frameOf(scene);
  const scale = Math.min(2, Math.sqrt(MAX_PIXELS / (frame.width * frame.height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(frame.width * scale);
  canvas.height = Math.ceil(frame.height * scale);
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  g.setTransform(scale, 0, 0, scale, -frame.x * scale, -frame.y * scale);
  g.imageSmoothingEnabled = false;
  paintAll(g, scene, page);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("The browser could not make a picture of this size.");
  if (inside === undefined) return blob;
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return new Blob([embedInPng(bytes, inside)], { type: "image/png" });
}

export function pageSvg(page: PageState, inside?: string): string {
  const scene = new Scene(page.graph, page.places, "all");
  const { x, y, width, height } = frameOf(scene);
  const pen = new SvgContext();
  paintAll(pen, scene, page);
  const metadata =
    inside === undefined ? "" : `<metadata id="backblocks-page">${escapeXml(inside)}</metadata>`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${x} ${y} ${width} ${height}" width="${width}" height="${height}">` +
    `<title>${escapeXml(page.document.title ?? "")}</title>${metadata}${pen.elements.join("")}</svg>`
  );
}

/** The page as a self-contained HTML file: image, description, table of blocks, embedded page. */
export function pageHtml(page: PageState, inside: string, language: string): string {
  const { document } = page;
  const rows = [...page.graph.blocks.values()].map((view) => {
    const inputs = view.inputs
      .filter((pin) => typeof pin.value === "string")
      .map((pin) => `${pin.key} ← ${String(pin.value)}`);
    const gives = view.outputs.map((pin) => {
      const spec = page.graph.checked?.pins[`${view.name}:${pin.key}`];
      const held = live(page.page).summary(`${view.name}:${pin.key}`);
      return `${pin.key}${spec ? ` ${spec.dtype} [${(spec.shape ?? ["?"]).join(", ")}]` : ""}${held ? ` = ${held.text}` : ""}`;
    });
    return `<tr><th scope="row">${escapeXml(view.name)}</th><td>${escapeXml(view.op)}</td><td>${escapeXml(inputs.join(", "))}</td><td>${escapeXml(gives.join(", "))}</td></tr>`;
  });
  const style =
    "body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1100px;padding:0 1rem;color:#18202b;background:#fff}" +
    "svg{max-width:100%;height:auto;border:1px solid #dde2e8;border-radius:8px}table{border-collapse:collapse;width:100%}" +
    "th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid #dde2e8;vertical-align:top;font-weight:400}th{font-weight:600}";
  return (
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">` +
    `<title>${escapeXml(document.title ?? "backblocks")}</title><style>${style}</style></head><body>` +
    `<h1>${escapeXml(document.title ?? "")}</h1><p>${escapeXml(document.about ?? "")}</p>${pageSvg(page)}` +
    `<table><tbody>${rows.join("")}</tbody></table>` +
    `<script type="application/json" id="backblocks-page">${inside.replaceAll("<", "\\u003c")}</script></body></html>`
  );
}

/** Downloads a file. */
export function download(name: string, what: Blob | string, type = "text/plain"): void {
  const blob = typeof what === "string" ? new Blob([what], { type }) : what;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
