import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Shapes } from "../../model/loop-nest.ts";
import type { AccessMap } from "../../net/generated.ts";
import { explainEn } from "../../text/explain.en.ts";
import { generalFormula } from "./general-formula.ts";

interface Call {
  op: string;
  shapes: Shapes;
  outputs: string[];
  access_maps: AccessMap[];
}

const calls = JSON.parse(
  readFileSync(new URL("../../testing/cells.fixture.json", import.meta.url), "utf8"),
) as Call[];

function written(op: string, which = 0): string {
  const call = calls.find((each) => each.op === op) as Call;
  const accessMap = call.access_maps[which] as AccessMap;
  return generalFormula(accessMap, call.outputs[0] as string, op, call.shapes, explainEn, which > 0)
    .map(({ text, low }) => (low ? `{${text}}` : text))
    .join("");
}

test.each([
  ["MaxPool", "output[n, h, w, c] = max{kh, kw} input[n, 2h + kh, w + kw, c]"],
  [
    "MaxPoolGrad",
    "output[n, ih, iw, c] = Σ{h, w} grad[n, h, w, c], where argmax{jh, jw} orig_input[n, 2h + jh, w + jw, c] = [n, ih, iw, c]",
  ],
  [
    "MaxPoolGradGrad",
    "output[n, h, w, c] = grad[n, 2h + kh, w + kw, c], where (kh, kw) = argmax{kh, kw} orig_input[n, 2h + kh, w + kw, c]",
  ],
  ["AvgPool", "output[n, h, w, c] = mean{kh, kw} value[n, 2h + kh, w + kw, c]"],
  [
    "AvgPoolGrad",
    "output[n, ih, iw, c] = Σ{h, w} grad[n, h, w, c] / cells of its window, where ih = 2h + kh, iw = w + kw",
  ],
  ["MaxPool3D", "output[n, c, d, h, w] = max{kd, kh} input[n, c, d + kd, 2h + kh, w]"],
  [
    "Conv2D",
    "output[n, h, w, co] = Σ{kh, kw, ci} input[n, 2h + kh, w + 2kw - 1, ci] · filter[kh, kw, ci, co]",
  ],
  [
    "Conv2DBackpropInput",
    "output[n, ih, iw, ci] = Σ{h, w, kh, kw, co} out_backprop[n, h, w, co] · filter[kh, kw, ci, co], where ih = 2h + kh, iw = w + 2kw - 1",
  ],
  [
    "FusedResizeAndPadConv2D",
    "output[n, h, w, co] = Σ{kh, kw, ci, bh, bw} weight[8bh + 2h + kh] · weight[5bw + w + kw] · input[n, h′(bh, h, kh), w′(bw, w, kw), ci] · filter[kh, kw, ci, co]",
  ],
  ["AddV2", "z[i, j, k] = x[i, 0, k] + y[j, 0]"],
  ["Relu", "activations[i] = Relu(features[i])"],
  ["GatherV2", "output[i, j, k] = params[i, indices[j, k]]"],
  ["UnsortedSegmentSum", "output[i0, j] = Σ{i} data[i, j], where i0 = segment_ids[i]"],
  ["Reshape", "output.flat[i] = tensor.flat[i]"],
  ["Transpose", "y[k, i, j] = x[i, j, k]"],
])("%s", (op, text) => {
  expect(written(op)).toBe(text);
});

test("what is subtracted is taken from what was there", () => {
  expect(written("Sub")).toBe("z[i] = x[i]");
  expect(written("Sub", 1)).toBe("z[i] -= y[i]");
  expect(written("Neg")).toBe("y[i] = -x[i]");
});
