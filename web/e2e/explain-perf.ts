/** Benchmark of Explain: time from a pointer move to painted highlights, on tensors of real sizes. */

import type { Page } from "playwright-core";

const SIZES = [1, 16, 16, 16, 8];
const THREE = { ksize: [1, 3, 3, 3, 1], strides: [1, 1, 1, 1, 1], padding: "SAME" };
const SLIDE = { strides: [1, 1, 1, 1, 1], padding: "SAME" };

function noise(shape: readonly number[], seed: number): object {
  return {
    op: "StatelessRandomNormal",
    in: { shape: { dtype: "int32", value: shape }, seed: { dtype: "int32", value: [seed, 1] } },
  };
}

/** A max pool and a convolution of 16 x 16 x 16 x 8, each with its gradients. */
export function explainedPage(): string {
  return JSON.stringify({
    format: 1,
    title: "explained",
    blocks: {
      volume: noise(SIZES, 1),
      filter: noise([3, 3, 3, 8, 8], 2),
      back: noise(SIZES, 3),
      pool: { op: "MaxPool3D", in: { input: "volume:output" }, attrs: THREE },
      pool_grad: {
        op: "MaxPool3DGrad",
        in: { orig_input: "volume:output", orig_output: "pool:output", grad: "back:output" },
        attrs: THREE,
      },
      conv: { op: "Conv3D", in: { input: "volume:output", filter: "filter:output" }, attrs: SLIDE },
      conv_grad_input: {
        op: "Conv3DBackpropInputV2",
        in: {
          input_sizes: { dtype: "int32", value: SIZES },
          filter: "filter:output",
          out_backprop: "back:output",
        },
        attrs: SLIDE,
      },
      conv_grad_filter: {
        op: "Conv3DBackpropFilterV2",
        in: {
          input: "volume:output",
          filter_sizes: { dtype: "int32", value: [3, 3, 3, 8, 8] },
          out_backprop: "back:output",
        },
        attrs: SLIDE,
      },
    },
  });
}

/**
 * Milliseconds of work from a move of the pointer until all marks are painted, for many cells of one tensor: in the
 * handler of the event, and in the frame that paints.
 */
async function hover(page: Page, map: number): Promise<number[]> {
  return page.evaluate(async (place) => {
    const element = document.querySelectorAll(".explain-tensor .tensor-map")[place] as HTMLElement;
    const box = element.getBoundingClientRect();
    const frame = window.requestAnimationFrame;
    let spent = 0;
    window.requestAnimationFrame = (call) =>
      frame((now) => {
        const start = performance.now();
        call(now);
        spent += performance.now() - start;
      });
    const times: number[] = [];
    for (let i = 0; i < 80; i++) {
      const at = {
        clientX: box.x + 20 + ((i * 13) % 90),
        clientY: box.y + 20 + ((i * 29) % 90),
        bubbles: true,
      };
      spent = 0;
      const start = performance.now();
      element.dispatchEvent(new PointerEvent("pointermove", at));
      const handled = performance.now() - start;
      await new Promise((resolve) => frame(() => frame(resolve)));
      times.push(handled + spent);
    }
    window.requestAnimationFrame = frame;
    return times.slice(20).sort((a, b) => a - b);
  }, map);
}

/** Prints the cost of pointer moves for each tensor of each explanation. */
export async function measureExplain(page: Page, say: (what: string, value: string) => void): Promise<void> {
  await page.locator(".file-list button", { hasText: "explained" }).click();
  await page.waitForSelector(".canvas");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
  for (const block of ["pool", "conv"]) {
    await page.focus(".canvas");
    await page.keyboard.press("Control+f");
    await page.keyboard.type(block);
    await page.keyboard.press("Enter");
    await page.focus(".canvas");
    await page.keyboard.press("e");
    await page.waitForSelector(".explain-tensor .tensor-map");
    await page.waitForTimeout(1500);
    const names = await page.locator(".explain-tensor header span").allTextContents();
    for (const [map, name] of names.entries()) {
      const times = await hover(page, map);
      const [middle, most, worst] = [0.5, 0.95, 1].map(
        (part) => times[Math.ceil(part * times.length) - 1] as number,
      );
      say(
        `hover ${name.replace(/^.*\] /, "")}`,
        `${middle?.toFixed(1)} ms   p95 ${most?.toFixed(1)} ms   worst ${worst?.toFixed(1)} ms`,
      );
    }
    await page.keyboard.press("Escape");
    await page.waitForSelector(".canvas");
  }
}
