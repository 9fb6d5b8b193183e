import { describe, expect, test } from "vitest";
import type { AccessMap, Explained } from "../net/generated.ts";
import { ops } from "../testing/fixtures.ts";
import { pooling, poolingGradient, type Sliding } from "../testing/window-ops.ts";
import {
  counterpartsOf,
  explainedBlock,
  type HighlightKind,
  highlightsOf,
  regionText,
} from "./highlights.ts";

const how: Sliding = { batch: 1, sizes: [4], channels: 1, window: [3], stride: 1, dilation: 1, pad: 0 };

function explained(
  block: string,
  op: string,
  pins: Record<string, [name: string, pin: string]>,
  { accessMaps, shapes }: ReturnType<typeof pooling>,
  outputs: string[],
  forward = "",
): Explained {
  const named = (accessMap: AccessMap): AccessMap => ({
    ...accessMap,
    of: accessMap.of.map((each) => pins[each]?.[0] ?? each),
    cells: Object.fromEntries(
      Object.entries(accessMap.cells).map(([key, cells]) => [pins[key]?.[0] ?? key, cells]),
    ),
  });
  const tensors = Object.entries(pins).map(([key, [name, pin]]) => [
    name,
    { pin, dtype: "float32", shape: [...(shapes[key] as number[])] },
  ]);
  return {
    kind: "explained",
    request: 1,
    block,
    op,
    step: 1,
    tensors: Object.fromEntries(tensors),
    outputs,
    access_maps: accessMaps.map(named),
    forward,
  };
}

const forward = explained(
  "pool",
  "MaxPool3D",
  { x: ["input", "volume:output"], y: ["output", "pool:output"] },
  pooling(how, "max"),
  ["output"],
);
const back = explained(
  "back",
  "MaxPool3DGrad",
  {
    x: ["orig_input", "volume:output"],
    y: ["orig_output", "pool:output"],
    dy: ["grad", "ones:y"],
    dx: ["output", "back:output"],
  },
  { ...poolingGradient(how), shapes: { ...poolingGradient(how).shapes, y: [1, 2, 1] } },
  ["output"],
  "pool",
);
const rows = [explainedBlock(forward), explainedBlock(back)];
const counterparts = counterpartsOf(rows, ops);
const values: Record<string, number[]> = {
  "volume:output": [5, 1, 5, 2],
  "pool:output": [5, 5],
  "ones:y": [1, 1],
};

function lit(pin: string, place: number): Record<string, Partial<Record<HighlightKind, number[]>>> {
  const found = highlightsOf(rows, counterparts, (tensor, at) => values[tensor]?.[at], pin, place);
  return Object.fromEntries(
    [...found].map(([tensor, kinds]) => [
      tensor,
      Object.fromEntries([...kinds].map(([kind, places]) => [kind, [...places].sort((a, b) => a - b)])),
    ]),
  );
}

describe("what lights up", () => {
  test("an input and its gradient, an output and what flows back from it are counterparts", () => {
    expect(counterparts.get("volume:output")).toEqual(["volume:output", "back:output"]);
    expect(counterparts.get("pool:output")).toEqual(["pool:output", "ones:y"]);
  });

  test("from an output: its window, the winner and what ties; below it, where its gradient goes", () => {
    expect(lit("pool:output", 0)).toEqual({
      "pool:output": { here: [0] },
      "ones:y": { here: [0] },
      "volume:output": { from: [0, 1, 2], winner: [0], tie: [2] },
      "back:output": { feeds: [0, 1, 2], winner: [0], tie: [2] },
    });
  });

  test("from an input: the windows that read it, and those that it wins", () => {
    const found = lit("volume:output", 2);
    expect(found["pool:output"]).toEqual({ feeds: [0, 1], tie: [0], winner: [1] });
    expect(found["back:output"]?.here).toEqual([2]);
  });

  test("from a gradient: what flows back to it, of that what it gets, and who won each window", () => {
    const found = lit("back:output", 2);
    expect(found["ones:y"]).toEqual({ from: [0, 1], tie: [0], winner: [1] });
    expect(found["volume:output"]?.winner).toEqual([0, 2]);
  });
});

describe("regions in words", () => {
  test.each([
    [[5], [3, 4], "[1, 1]"],
    [[0, 1, 4, 5], [3, 4], "[0-1, 0-1]"],
    [[0, 2, 8, 10], [3, 4], "[0-2:2, 0-2:2]"],
    [[0, 1, 3], [1, 9], "[0, 0,1,3]"],
  ])("%j of %j are %s", (places, shape, text) => {
    expect(regionText(places, shape)).toBe(text);
  });
});
