/** The subset of CanvasRenderingContext2D that the painter uses, and its implementation for SVG. */

export type DrawContext = Pick<
  CanvasRenderingContext2D,
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "globalAlpha"
  | "font"
  | "textAlign"
  | "textBaseline"
  | "fillRect"
  | "strokeRect"
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "bezierCurveTo"
  | "arc"
  | "rect"
  | "roundRect"
  | "closePath"
  | "fill"
  | "stroke"
  | "fillText"
  | "measureText"
  | "setLineDash"
> & { drawImage(image: HTMLCanvasElement, x: number, y: number, width: number, height: number): void };

const ruler = () => document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;

/** A drawing context that produces SVG elements. */
export class SvgContext implements DrawContext {
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "12px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  readonly elements: string[] = [];
  private path: string[] = [];
  private dash: number[] = [];
  private readonly measure = ruler();

  fillRect(x: number, y: number, width: number, height: number): void {
    this.add("rect", `x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" ${this.filled()}`);
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.add("rect", `x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" ${this.stroked()}`);
  }
  beginPath(): void {
    this.path = [];
  }
  moveTo(x: number, y: number): void {
    this.path.push(`M${n(x)} ${n(y)}`);
  }
  lineTo(x: number, y: number): void {
    this.path.push(`L${n(x)} ${n(y)}`);
  }
  bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number): void {
    this.path.push(`C${[a, b, c, d, x, y].map(n).join(" ")}`);
  }
  /** Full circles only, which is all that the painter draws. */
  arc(x: number, y: number, radius: number): void {
    const r = n(radius);
    this.path.push(
      `M${n(x - radius)} ${n(y)}a${r} ${r} 0 1 0 ${n(2 * radius)} 0a${r} ${r} 0 1 0 ${n(-2 * radius)} 0`,
    );
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.path.push(`M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}z`);
  }
  roundRect(
    x: number,
    y: number,
    width: number,
    height: number,
    radii?: number | DOMPointInit | Iterable<number | DOMPointInit>,
  ): void {
    const [a, b, c, d] = corners(radii);
    const turn = (r: number, dx: number, dy: number) =>
      r > 0 ? `a${n(r)} ${n(r)} 0 0 1 ${n(dx)} ${n(dy)}` : "";
    this.path.push(
      `M${n(x + a)} ${n(y)}H${n(x + width - b)}${turn(b, b, b)}V${n(y + height - c)}${turn(c, -c, c)}` +
        `H${n(x + d)}${turn(d, -d, -d)}V${n(y + a)}${turn(a, a, -a)}z`,
    );
  }
  closePath(): void {
    this.path.push("z");
  }
  fill(): void {
    this.add("path", `d="${this.path.join("")}" ${this.filled()}`);
  }
  stroke(): void {
    if (this.path.length > 0) this.add("path", `d="${this.path.join("")}" ${this.stroked()}`);
  }
  fillText(text: string, x: number, y: number): void {
    const anchor = { center: "middle", right: "end", end: "end", left: "start", start: "start" }[
      this.textAlign
    ];
    const baseline = { middle: "central", top: "text-before-edge" }[this.textBaseline as string];
    const base = baseline === undefined ? "" : `dominant-baseline="${baseline}" `;
    this.elements.push(
      `<text x="${n(x)}" y="${n(y)}" text-anchor="${anchor}" ${base}style="font:${escapeXml(this.font)}" ${this.filled()}>${escapeXml(text)}</text>`,
    );
  }
  measureText(text: string): TextMetrics {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }
  setLineDash(dash: Iterable<number>): void {
    this.dash = [...dash];
  }
  drawImage(image: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.add(
      "image",
      `x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" style="image-rendering:pixelated" href="${image.toDataURL()}"`,
    );
  }

  private add(kind: string, attributes: string): void {
    this.elements.push(`<${kind} ${attributes}/>`);
  }
  private filled(): string {
    return `fill="${escapeXml(String(this.fillStyle))}"${this.opacity()}`;
  }
  private stroked(): string {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return `fill="none" stroke="${escapeXml(String(this.strokeStyle))}" stroke-width="${n(this.lineWidth)}"${dash}${this.opacity()}`;
  }
  private opacity(): string {
    return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
  }
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function corners(
  radii: number | DOMPointInit | Iterable<number | DOMPointInit> | undefined,
): [number, number, number, number] {
  if (typeof radii === "number") return [radii, radii, radii, radii];
  const all = radii !== undefined && Symbol.iterator in radii ? [...radii].map(Number) : [];
  return [all[0] ?? 0, all[1] ?? 0, all[2] ?? 0, all[3] ?? 0];
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
