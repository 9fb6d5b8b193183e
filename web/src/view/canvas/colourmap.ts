/** Colour maps: a sequential one for numbers of one sign, a diverging one from blue through white to orange otherwise. */

type Rgb = readonly [number, number, number];

const ONE_SIGN: readonly Rgb[] = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];
const BOTH_SIGNS: readonly Rgb[] = [
  [20, 70, 150],
  [62, 124, 190],
  [128, 178, 219],
  [199, 220, 236],
  [245, 245, 245],
  [250, 216, 180],
  [244, 165, 96],
  [217, 108, 38],
  [153, 60, 10],
];

function between(stops: readonly Rgb[], t: number): Rgb {
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [stops[i] as Rgb, stops[i + 1] as Rgb];
  const f = at - i;
  return [a[0] + (b[0] - a[0]) * f, a[1] + (b[1] - a[1]) * f, a[2] + (b[2] - a[2]) * f];
}

export interface Scale {
  readonly low: number;
  readonly high: number;
  colour(value: number): Rgb;
}

/** The colour scale from low to high, symmetric around 0 if the range has both signs. */
export function scaleFor(low: number, high: number): Scale {
  if (low < 0 && high > 0) {
    const most = Math.max(-low, high);
    return { low: -most, high: most, colour: (value) => between(BOTH_SIGNS, (value + most) / (2 * most)) };
  }
  const span = high - low || 1;
  return { low, high, colour: (value) => between(ONE_SIGN, high === low ? 0.5 : (value - low) / span) };
}

/** Renders numbers as an image, one pixel each; NaN is magenta. */
export function renderColours(
  values: ArrayLike<number>,
  rows: number,
  columns: number,
  scale: Scale,
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(columns, 1);
  canvas.height = Math.max(rows, 1);
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = g.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < rows * columns; i++) {
    const value = values[i] as number;
    const [r, green, b] = Number.isNaN(value) ? [200, 0, 160] : scale.colour(value);
    image.data.set([r, green, b, 255], i * 4);
  }
  g.putImageData(image, 0, 0);
  return canvas;
}

export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}
