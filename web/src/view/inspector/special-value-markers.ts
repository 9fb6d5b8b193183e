/** Markers of special values: × for NaN, arrows for infinities, + and − for values outside of the colour range. */

import { ABOVE, BELOW, FIRST, INFINITY, NAN, ZERO } from "../../model/colour-index.ts";
import { MIN_MARKER_WIDTH, MIN_NUMBER_WIDTH } from "../../model/tiles.ts";

export const hasMarker = (shade: number): boolean => shade < FIRST && shade !== ZERO;

/** The least distance between markers of cells that are smaller than a marker, in pixels. */
const MIN_DISTANCE = 16;
const MIN_CLIPPED_DISTANCE = 28;

/** Draws the markers of cells. Of cells smaller than a marker only some get one, which covers their neighbours. */
export class SpecialValueMarkers {
  private readonly taken = new Set<number>();

  constructor(
    private readonly g: CanvasRenderingContext2D,
    /** For each colour index, whether text on it is white. */
    private readonly dark: Uint8Array,
  ) {}

  /** Draws the marker of a cell with this centre. */
  draw(shade: number, x: number, y: number, width: number, height: number): void {
    const least = Math.min(width, height);
    const small = least < MIN_MARKER_WIDTH;
    const clipped = shade >= BELOW;
    if (small) {
      const apart = clipped ? MIN_CLIPPED_DISTANCE : MIN_DISTANCE;
      const bin = (Math.floor(x / apart) * 65536 + Math.floor(y / apart)) * 2 + (clipped ? 1 : 0);
      if (this.taken.has(bin)) return;
      this.taken.add(bin);
    }
    if (clipped) {
      // In the corner where the number is shown, too.
      const corner = width >= MIN_NUMBER_WIDTH;
      const size = small || corner ? 2.5 : Math.min(4, least / 2 - 1);
      const at = corner ? { x: x + width / 2 - 5, y: y - height / 2 + 5 } : { x, y };
      this.sign(shade, at.x, at.y, size, small);
    } else this.figure(shade, x, y, small ? 3 : Math.min(5, least / 2 - 1), small);
  }

  /** + or −, in contrast to the cell's colour; with an outline where it covers other cells. */
  private sign(shade: number, x: number, y: number, size: number, rim: boolean): void {
    const { g } = this;
    const [ink, other] = this.dark[shade] ? ["#ffffff", "#14181f"] : ["#14181f", "#ffffff"];
    g.beginPath();
    g.moveTo(x - size, y);
    g.lineTo(x + size, y);
    if (shade === ABOVE) {
      g.moveTo(x, y - size);
      g.lineTo(x, y + size);
    }
    if (rim) {
      g.lineWidth = 3.5;
      g.strokeStyle = other as string;
      g.stroke();
    }
    g.lineWidth = 1.5;
    g.strokeStyle = ink as string;
    g.stroke();
  }

  /** × or an arrow, white on black; with a black background where it covers other cells. */
  private figure(shade: number, x: number, y: number, size: number, ground: boolean): void {
    const { g } = this;
    if (ground) {
      g.fillStyle = "#101014";
      g.fillRect(x - size - 1.5, y - size - 1.5, 2 * size + 3, 2 * size + 3);
    }
    g.strokeStyle = g.fillStyle = "#ffffff";
    g.lineWidth = 1.5;
    g.beginPath();
    if (shade === NAN) {
      g.moveTo(x - size, y - size);
      g.lineTo(x + size, y + size);
      g.moveTo(x + size, y - size);
      g.lineTo(x - size, y + size);
      g.stroke();
      return;
    }
    const up = shade === INFINITY ? -1 : 1;
    g.moveTo(x, y + up * size);
    g.lineTo(x - size, y - up * size);
    g.lineTo(x + size, y - up * size);
    g.closePath();
    g.fill();
  }
}
