/** The loop nests of convolution and pooling, as the ops declare them, for tests and benchmarks. */

import type { Shapes } from "../model/loop-nest.ts";
import type { AccessMap, Cells, Coordinate } from "../net/generated.ts";

export interface Sliding {
  readonly batch: number;
  readonly sizes: readonly number[];
  readonly channels: number;
  readonly window: readonly number[];
  readonly stride: number;
  readonly dilation: number;
  readonly pad: number;
}

export interface Sample {
  readonly accessMaps: readonly AccessMap[];
  readonly shapes: Shapes;
}

function cells(...at: (string | Coordinate)[]): Cells {
  return { at: at.map((each) => (typeof each === "string" ? { steps: { [each]: 1 } } : each)) };
}

function outSizes({ sizes, window, stride, dilation, pad }: Sliding): number[] {
  return sizes.map((size, axis) =>
    Math.max(0, Math.floor((size + 2 * pad - ((window[axis] as number) - 1) * dilation - 1) / stride) + 1),
  );
}

function loopsOf(prefix: string, sizes: readonly number[]): Record<string, number> {
  return Object.fromEntries(sizes.map((size, axis) => [`${prefix}${axis}`, size]));
}

/** Input coordinates of a window: position * stride - pad + tap * dilation. */
function reading(taps: string, { sizes, stride, dilation, pad }: Sliding): Coordinate[] {
  return sizes.map((_, axis) => ({
    offset: -pad,
    steps: { [`o${axis}`]: stride, [`${taps}${axis}`]: dilation },
  }));
}

function places(prefix: string, { sizes }: Sliding): string[] {
  return sizes.map((_, axis) => `${prefix}${axis}`);
}

/** Convolution or one of its gradients; `output` is the tensor that is computed. */
export function convolution(how: Sliding, filters: number, output: "y" | "x" | "w" = "y"): Sample {
  const out = outSizes(how);
  const accessMap: AccessMap = {
    rule: "sum",
    of: ["x", "w", "y"].filter((each) => each !== output),
    loops: { n: how.batch, ...loopsOf("o", out), co: filters, ...loopsOf("k", how.window), ci: how.channels },
    cells: {
      x: cells("n", ...reading("k", how), "ci"),
      w: cells(...places("k", how), "ci", "co"),
      y: cells("n", ...places("o", how), "co"),
    },
  };
  const shapes = {
    x: [how.batch, ...how.sizes, how.channels],
    w: [...how.window, how.channels, filters],
    y: [how.batch, ...out, filters],
  };
  return { accessMaps: [accessMap], shapes };
}

/** Pooling; `rule` is max or mean. */
export function pooling(how: Sliding, rule: string): Sample {
  const out = outSizes(how);
  const accessMap: AccessMap = {
    rule,
    of: ["x"],
    loops: { n: how.batch, ...loopsOf("o", out), c: how.channels, ...loopsOf("k", how.window) },
    cells: { x: cells("n", ...reading("k", how), "c"), y: cells("n", ...places("o", how), "c") },
  };
  return {
    accessMaps: [accessMap],
    shapes: { x: [how.batch, ...how.sizes, how.channels], y: [how.batch, ...out, how.channels] },
  };
}

/** The gradient of max pooling: each dx depends on whole windows of x. */
export function poolingGradient(how: Sliding): Sample {
  const { shapes } = pooling(how, "max");
  const out = outSizes(how);
  const loops = { n: how.batch, ...loopsOf("o", out), c: how.channels };
  const accessMap: AccessMap = {
    rule: "winners",
    of: ["dy", "x"],
    loops: { ...loops, ...loopsOf("k", how.window), ...loopsOf("t", how.window) },
    cells: {
      x: cells("n", ...reading("t", how), "c"),
      dy: cells("n", ...places("o", how), "c"),
      dx: cells("n", ...reading("k", how), "c"),
    },
  };
  return {
    accessMaps: [accessMap],
    shapes: { x: shapes.x as number[], dy: shapes.y as number[], dx: shapes.x as number[] },
  };
}
