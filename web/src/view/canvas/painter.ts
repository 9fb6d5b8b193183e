/** Paints wires, frames and far blocks into any drawing context: the canvas, a PNG or an SVG. */

import type { Monitor } from "../../model/document.ts";
import { shortSpec } from "../../model/format.ts";
import {
  BLOCK_WIDTH,
  FOOTER_HEIGHT,
  type Point,
  pinRows,
  type Rect,
  ROW_HEIGHT,
  TITLE_HEIGHT,
} from "../../model/geometry.ts";
import { type BlockView, specOf } from "../../model/graph.ts";
import type { BlockState, Series } from "../../net/generated.ts";
import type { ViewStrings } from "../../text/view.en.ts";
import { type Colours, dtypeFamily, type Family } from "./colours.ts";
import type { DrawContext } from "./draw-context.ts";
import { paintMonitor } from "./monitor-painter.ts";
import { pinRole, tracePin } from "./pin-shapes.ts";
import type { BoxShape, Scene, WireShape } from "./scene.ts";
import { previewAttr, previewInput } from "./value-preview.ts";

export interface LiveSource {
  state(block: string): BlockState | undefined;
  picture(pin: string): HTMLCanvasElement | undefined;
  /** What the picture shows of a tensor; empty if it is all of it. */
  slice(pin: string): string;
  series(monitor: string): Series | undefined;
}

export interface Emphasis {
  readonly blocks: ReadonlySet<string>;
  readonly wires: ReadonlySet<string>;
  readonly boxes: ReadonlySet<string>;
  /** The wire under the pointer. */
  readonly hovered: string | null;
  /** Whether wires that do not touch the selection are dimmed. */
  readonly spotlight: boolean;
}

/** Nothing is selected or hovered. */
export const NO_EMPHASIS: Emphasis = {
  blocks: new Set(),
  wires: new Set(),
  boxes: new Set(),
  hovered: null,
  spotlight: false,
};

/** Level of detail of a block: a rectangle, its name, or everything. */
export type LevelOfDetail = "box" | "name" | "all";

const FAMILIES: readonly Family[] = ["any", "float", "int", "unsigned", "bool", "complex", "string", "state"];
const STATES: Record<BlockState["state"], "line" | "accent" | "good" | "bad"> = {
  waiting: "line",
  running: "accent",
  done: "good",
  cached: "good",
  failed: "bad",
  skipped: "line",
};

export class Painter {
  private readonly widths = new Map<string, number>();

  constructor(
    readonly ctx: DrawContext,
    readonly colours: Colours,
    public zoom: number,
    /** Whether names are written in smaller letters where there is little room, instead of being cut. */
    private readonly whole = false,
  ) {}

  // -- wires -----------------------------------------------------------------------------------

  wires(scene: Scene, ids: Iterable<string>, emphasis: Emphasis, curved: boolean): void {
    const looks = [...ids].map((id) => scene.wires.get(id)).filter((look) => look !== undefined);
    const lit = (look: WireShape) =>
      emphasis.wires.has(look.wire.id) ||
      look.wire.id === emphasis.hovered ||
      emphasis.blocks.has(look.wire.from.block) ||
      emphasis.blocks.has(look.wire.to.block);
    const near = looks.filter(lit);
    const plain = near.length === looks.length ? [] : looks.filter((look) => !lit(look));
    const { ctx: pen } = this;
    const width = Math.max(1.6, 0.9 / this.zoom);
    pen.globalAlpha =
      emphasis.spotlight && near.length > 0 ? this.colours.aside : this.zoom < 0.3 ? 0.55 : 0.8;
    this.strokes(plain, width, curved);
    pen.globalAlpha = 1;
    this.strokes(near, width * 1.5, curved);
    for (const look of near) {
      if (emphasis.wires.has(look.wire.id) || look.wire.id === emphasis.hovered)
        this.strokeOne(look, this.colours.accent, width * 2);
    }
  }

  private strokes(looks: readonly WireShape[], width: number, curved: boolean): void {
    const { ctx: pen, colours } = this;
    pen.lineWidth = width;
    for (const each of FAMILIES) {
      pen.strokeStyle = colours[each];
      pen.beginPath();
      for (const look of looks)
        if (look.family === each && !look.wire.order && !look.bad) this.trace(look, curved);
      pen.stroke();
    }
    for (const look of looks) {
      if (look.bad) this.strokeOne(look, colours.bad, width * 1.4);
      else if (look.wire.order) this.strokeOne(look, colours.any, width * 0.8);
    }
  }

  private strokeOne(look: WireShape, colour: string, width: number): void {
    const { ctx: pen } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(look.wire.order ? [2, 6] : look.bad ? [7, 4] : []);
    pen.beginPath();
    this.trace(look, true);
    pen.stroke();
    pen.setLineDash([]);
  }

  private trace(look: WireShape, curved: boolean): void {
    const { ctx: pen } = this;
    for (const [a, b, c, d] of look.curves) {
      pen.moveTo(a.x, a.y);
      if (curved) pen.bezierCurveTo(b.x, b.y, c.x, c.y, d.x, d.y);
      else pen.lineTo(d.x, d.y);
    }
  }

  /** The labels of wires: dtype and shape. */
  labels(scene: Scene, ids: Iterable<string>, emphasis: Emphasis): void {
    const { ctx: pen, colours } = this;
    pen.font = `12px ${colours.mono}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const id of ids) {
      const look = scene.wires.get(id);
      if (look === undefined || look.label === "") continue;
      const asked = id === emphasis.hovered || emphasis.wires.has(id);
      const words = asked ? look.label : look.text?.words;
      const at = look.text?.at ?? look.curves[0]?.[3];
      if (words === undefined || at === undefined) continue;
      const width = this.width(words) + 8;
      const { x, y } = at;
      pen.fillStyle = colours.ground;
      pen.fillRect(x - width / 2, y - 8, width, 16);
      pen.fillStyle = look.bad ? colours.bad : asked ? colours.ink : colours.inkSoft;
      pen.fillText(words, x, y + 0.5);
    }
  }

  /** The width of a text, memoised: measuring takes longer than drawing. */
  private width(text: string): number {
    const key = `${this.ctx.font} ${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      width = this.ctx.measureText(text).width;
      this.widths.set(key, width);
    }
    return width;
  }

  /** A text truncated to a width. */
  private ellipsize(text: string, room: number): string {
    let shown = truncateText(text, 60);
    for (let most = shown.length - 1; most > 1 && this.width(shown) > room; most--)
      shown = truncateText(text, most);
    return shown;
  }

  /** A name that ends within its room: cut, or whole in smaller letters. The font is the one to draw it with. */
  private named(text: string, room: number): string {
    if (!this.whole) return this.ellipsize(text, room);
    const { font } = this.ctx;
    const width = this.ctx.measureText(text).width;
    if (width > room)
      this.ctx.font = font.replace(/([\d.]+)px/, (_, size) => `${(Number(size) * room) / width}px`);
    return text;
  }

  /** The bend points of wires, as handles. */
  bends(scene: Scene, ids: Iterable<string>): void {
    const { ctx: pen, colours } = this;
    for (const id of ids) {
      const look = scene.wires.get(id);
      if (look === undefined) continue;
      for (const at of look.bends) {
        pen.beginPath();
        pen.arc(at.x, at.y, 4, 0, 2 * Math.PI);
        pen.fillStyle = colours[look.family];
        pen.fill();
      }
    }
  }

  /** A wire that is being drawn. */
  pendingWire(from: Point, to: Point, colour: string): void {
    const { ctx: pen } = this;
    const pull = Math.max(30, Math.abs(to.x - from.x) / 2);
    pen.strokeStyle = colour;
    pen.lineWidth = 2.4;
    pen.setLineDash([6, 4]);
    pen.beginPath();
    pen.moveTo(from.x, from.y);
    pen.bezierCurveTo(from.x + pull, from.y, to.x - pull, to.y, to.x, to.y);
    pen.stroke();
    pen.setLineDash([]);
  }

  // -- frames and other boxes --------------------------------------------------------------------

  frame(box: BoxShape, selected: boolean): void {
    const { ctx: pen, colours } = this;
    const { x, y, width, height } = box.rect;
    pen.beginPath();
    pen.roundRect(x, y, width, height, 10);
    pen.fillStyle = colours.frame;
    pen.fill();
    pen.strokeStyle = selected ? colours.accent : colours.frameLine;
    pen.lineWidth = selected ? Math.max(2, 1.5 / this.zoom) : Math.max(1, 0.8 / this.zoom);
    pen.stroke();
  }

  /** The title of a frame, legible at any zoom: inside of it, or from far on its upper edge, over what is there. */
  frameTitle({ rect: { x, y, width } }: BoxShape, title: string): void {
    const { ctx: pen, colours } = this;
    const size = Math.max(13, Math.round(12 / this.zoom));
    pen.font = `600 ${size}px ${colours.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    const inside = size <= 28;
    const shown = this.ellipsize(title, inside ? width - 24 : width * 2);
    const middle = inside ? y + Math.max(16, size * 0.75) : y;
    if (!inside) {
      pen.fillStyle = colours.ground;
      pen.fillRect(x, middle - size * 0.65, this.width(shown) + size, size * 1.3);
    }
    pen.fillStyle = inside ? colours.inkSoft : colours.ink;
    pen.fillText(shown, x + (inside ? 12 : size / 2), middle);
  }

  /** A note or monitor at a zoom where its own text is not legible. */
  farBox(box: BoxShape, title: string, selected: boolean): void {
    const { ctx: pen, colours } = this;
    const { x, y, width, height } = box.rect;
    pen.fillStyle = box.kind === "notes" ? colours.note : colours.surface;
    pen.fillRect(x, y, width, height);
    pen.strokeStyle = selected ? colours.accent : box.kind === "notes" ? colours.noteLine : colours.line;
    pen.lineWidth = Math.max(1, 1 / this.zoom);
    pen.strokeRect(x, y, width, height);
    if (this.zoom < 0.12) return;
    // Rounded, so that few text widths are measured.
    const size = this.legibleSize;
    pen.font = `600 ${size}px ${colours.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "top";
    pen.fillStyle = colours.inkSoft;
    const lines = box.kind === "notes" ? this.wrapped(title.split("\n")[0] ?? "", width - 24) : [title];
    const most = Math.max(1, Math.floor((height - 24) / (size * 1.35)));
    const cut = lines.length > most;
    lines.slice(0, most).forEach((line, i) => {
      const words = cut && i === most - 1 ? `${line} …` : line;
      pen.fillText(this.ellipsize(words, width - 24), x + 12, y + 12 + i * size * 1.35);
    });
  }

  /** A monitor with its title and what it shows. */
  monitor(
    box: BoxShape,
    title: string,
    monitor: Monitor | undefined,
    series: Series | undefined,
    selected: boolean,
    t: ViewStrings,
  ): void {
    this.farBox(box, title, selected);
    const { x, y, width, height } = box.rect;
    const size = this.zoom === 1 ? 12 : this.legibleSize;
    const below = 12 + size * 1.5;
    if (monitor && this.zoom >= 0.12)
      paintMonitor(
        { pen: this.ctx, colours: this.colours, size, t },
        { x, y: y + below, width, height: height - below },
        monitor,
        series,
      );
  }

  /** The size of letters that are 11 pixels high on the screen. */
  private get legibleSize(): number {
    return Math.max(12, Math.ceil(11 / this.zoom));
  }

  /** A note as wrapped plain text. */
  note(box: BoxShape, text: string): void {
    const { ctx: pen, colours } = this;
    const { x, y, width, height } = box.rect;
    pen.fillStyle = colours.note;
    pen.fillRect(x, y, width, height);
    pen.font = `12.5px ${colours.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    pen.fillStyle = colours.ink;
    const lines = text
      .replace(/[*_#`]/g, "")
      .split("\n")
      .flatMap((line) => this.wrapped(line, width - 28));
    const most = Math.floor((height - 12) / 18);
    lines.slice(0, most).forEach((line, i) => {
      pen.fillText(line, x + 14, y + 22 + i * 18);
    });
  }

  private wrapped(line: string, width: number): string[] {
    const lines = [""];
    for (const word of line.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trimStart();
      if (this.ctx.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  // -- blocks ------------------------------------------------------------------------------------

  block(scene: Scene, view: BlockView, live: LiveSource, emphasis: Emphasis, detail: LevelOfDetail): void {
    const { ctx: pen, colours } = this;
    const rect = scene.at(view.name);
    const { x, y, width, height } = rect;
    const problems = scene.graph.problems.get(view.name);
    const conflict = scene.conflicts.has(view.name);
    const state = live.state(view.name)?.state;
    const failed = state === "failed" || conflict;
    const selected = emphasis.blocks.has(view.name);
    if (detail === "all") {
      pen.beginPath();
      pen.roundRect(x, y, width, height, 8);
      pen.fillStyle = colours.surface;
      pen.fill();
      pen.beginPath();
      pen.roundRect(x, y, width, TITLE_HEIGHT, [8, 8, 0, 0]);
      pen.fillStyle = failed ? colours.badSoft : colours.sunken;
      pen.fill();
    } else {
      pen.fillStyle = colours.surface;
      pen.fillRect(x, y, width, height);
      pen.fillStyle = failed ? colours.badSoft : colours.sunken;
      pen.fillRect(x, y, width, TITLE_HEIGHT);
    }
    if (state !== undefined) {
      pen.fillStyle = colours[STATES[state]];
      pen.fillRect(x, y + height - 3, width, 3);
    }
    pen.strokeStyle = failed ? colours.bad : selected ? colours.accent : colours.line;
    pen.lineWidth = selected || failed ? Math.max(1.5, 1.6 / this.zoom) : Math.max(1, 0.7 / this.zoom);
    if (detail === "all") {
      pen.beginPath();
      pen.roundRect(x, y, width, height, 8);
      pen.stroke();
    } else pen.strokeRect(x, y, width, height);
    if (detail === "box") return;
    if (detail === "name") {
      this.nameOnly(view, rect, live);
      return;
    }
    this.title(view, rect);
    this.picture(view, rect, live);
    this.pins(scene, view, rect);
    this.rows(scene, view, rect, live, problems?.map((problem) => problem.arg ?? "") ?? []);
  }

  /** From far: name and kind of a block, in a size that is legible at this zoom, and its picture if there is room. */
  private nameOnly(view: BlockView, { x, y, width, height }: Rect, live: LiveSource): void {
    const { ctx: pen, colours } = this;
    const size = this.legibleSize;
    const room = width - 20;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    const first = y + Math.max(TITLE_HEIGHT / 2, size * 0.75);
    const second = first + size * 1.2;
    const kind = view.op !== view.name && second + size * 0.6 <= y + height;
    pen.font = `600 ${size}px ${colours.font}`;
    pen.fillStyle = colours.ink;
    pen.fillText(this.ellipsize(view.name, room), x + 10, first);
    if (kind) {
      pen.font = `${size}px ${colours.font}`;
      pen.fillStyle = colours.inkSoft;
      pen.fillText(this.ellipsize(view.op, room), x + 10, second);
    }
    const output = view.outputs[0];
    const picture = output && live.picture(`${view.name}:${output.key}`);
    const side = Math.min(y + height - 10 - (kind ? second : first) - size * 0.7, 56);
    if (picture && side > 16)
      this.contain(picture, { x: x + 10, y: y + height - side - 10, width: side, height: side });
  }

  private title(view: BlockView, { x, y }: Rect): void {
    const { ctx: pen, colours } = this;
    const room = BLOCK_WIDTH - 24;
    const [name, op] = [`600 12.5px ${colours.font}`, `12px ${colours.font}`];
    const middle = y + TITLE_HEIGHT / 2;
    pen.textBaseline = "middle";
    pen.font = op;
    const kept = view.op === view.name ? 0 : Math.min(this.width(view.op), room * 0.4) + 8;
    pen.font = name;
    pen.textAlign = "left";
    pen.fillStyle = colours.ink;
    const shown = this.named(view.name, room - kept);
    pen.fillText(shown, x + 12, middle);
    if (kept === 0) return;
    const left = room - this.width(shown) - 8;
    pen.font = op;
    pen.textAlign = "right";
    pen.fillStyle = colours.inkSoft;
    pen.fillText(this.named(view.op, left), x + BLOCK_WIDTH - 12, middle);
  }

  private picture(view: BlockView, { x, y, height }: Rect, live: LiveSource): void {
    const output = view.outputs[0];
    const picture = output && live.picture(`${view.name}:${output.key}`);
    if (picture)
      this.contain(picture, { x: x + 8, y: y + height - FOOTER_HEIGHT + 4, width: 32, height: 32 });
  }

  /** A picture as large as fits, with square cells: a column stays one. */
  contain(picture: HTMLCanvasElement, { x, y, width, height }: Rect): void {
    const scale = Math.min(width / picture.width, height / picture.height);
    const [w, h] = [picture.width * scale, picture.height * scale];
    this.ctx.drawImage(picture, x + (width - w) / 2, y + (height - h) / 2, w, h);
  }

  private pins(scene: Scene, view: BlockView, { x, y }: Rect): void {
    const { ctx: pen, colours } = this;
    const at = (row: number) => y + TITLE_HEIGHT + (row + 0.5) * ROW_HEIGHT;
    const pin = (
      dtype: string | undefined,
      role: ReturnType<typeof pinRole>,
      px: number,
      py: number,
      solid: boolean,
    ) => {
      tracePin(pen, role, px, py, 4.5);
      pen.fillStyle = solid ? colours[dtypeFamily(dtype)] : colours.surface;
      pen.fill();
      pen.strokeStyle = colours[dtypeFamily(dtype)];
      pen.lineWidth = 1.5;
      pen.stroke();
    };
    view.inputs.forEach((input, row) => {
      const dtype =
        typeof input.value === "string" ? specOf(scene.graph, input.value)?.dtype : input.info.dtypes[0];
      pin(dtype, pinRole(input.info, "input"), x, at(row), input.state === "wired");
    });
    view.outputs.forEach((output, row) => {
      const dtype = specOf(scene.graph, `${view.name}:${output.key}`)?.dtype ?? output.info.dtypes[0];
      pin(dtype, pinRole(output.info, "output"), x + BLOCK_WIDTH, at(row), true);
    });
  }

  private rows(
    scene: Scene,
    view: BlockView,
    { x, y, height }: Rect,
    live: LiveSource,
    bad: readonly string[],
  ): void {
    const { ctx: pen, colours } = this;
    // Returns the width that is left.
    const text = (
      words: string,
      align: "left" | "right",
      py: number,
      colour: string,
      font: string,
      room: number,
      { from = 12, name = false }: { from?: number; name?: boolean } = {},
    ) => {
      pen.font = `12px ${font}`;
      pen.textAlign = align;
      pen.textBaseline = "middle";
      pen.fillStyle = colour;
      const shown = name ? this.named(words, room) : this.ellipsize(words, room);
      pen.fillText(shown, align === "left" ? x + from : x + BLOCK_WIDTH - from, py);
      return room - this.width(shown) - 8;
    };
    const { font, mono, ink, inkSoft } = colours;
    const named = (name: string) => (bad.includes(name) ? colours.bad : inkSoft);
    const at = (row: number) => y + TITLE_HEIGHT + (row + 0.5) * ROW_HEIGHT;
    const whole = BLOCK_WIDTH - 24;
    for (let row = 0; row < pinRows(view); row++) {
      const [input, output] = [view.inputs[row], view.outputs[row]];
      const most = input ? whole * 0.45 : whole;
      const left = output
        ? text(output.key, "right", at(row), inkSoft, font, most, { name: true }) + whole - most
        : whole;
      if (!input) continue;
      const value = previewInput(input);
      const after = text(input.key, "left", at(row), named(input.info.name), font, left, { name: true });
      if (value !== "" && after > 12)
        text(value, "left", at(row), named(input.info.name), font, after, { from: 12 + left - after });
    }
    view.rows.forEach((attr, place) => {
      const row = at(pinRows(view) + place);
      const left = text(attr.name, "left", row, named(attr.name), font, whole * 0.7, { name: true });
      text(previewAttr(attr), "right", row, ink, mono, left + whole * 0.3);
    });
    const output = view.outputs[0];
    const spec = output && specOf(scene.graph, `${view.name}:${output.key}`);
    const slice = output ? live.slice(`${view.name}:${output.key}`) : "";
    const footer = [spec ? shortSpec(spec) : "", slice].filter(Boolean);
    footer.forEach((words, line) => {
      const middle = y + height - FOOTER_HEIGHT * (footer.length === 1 ? 0.5 : 0.7 - 0.4 * line);
      text(words, "left", middle, inkSoft, mono, BLOCK_WIDTH - 60, { from: 48, name: true });
    });
  }
}

export function truncateText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
