/** Automatic layout in a web worker, with a timeout. */

import { applyLayout } from "../model/edit-layout.ts";
import { columnLayout, type LayoutInput, type LayoutResult, layoutInput } from "../model/layout.ts";
import { coreStrings } from "../text/index.ts";
import { studio } from "./store.ts";

const DEADLINE = 5000;

/** Lays out the blocks, or only some of them. Blocks that were added meanwhile stay where they are. */
export async function layoutPage(page: number, only?: ReadonlySet<string>): Promise<void> {
  const now = studio.page(page);
  if (!now) return;
  const given = layoutInput(now.graph, now.places, only);
  const tidied = await layoutInWorker(given);
  if (!tidied) studio.notice("info", coreStrings[studio.language].notices.tidyLate);
  const after = studio.page(page);
  if (!after) return;
  const { places, bends } = tidied ?? columnLayout(given);
  const there = new Map([...places].filter(([name]) => after.graph.blocks.has(name)));
  if (there.size) studio.dispatch(page, applyLayout(after.graph, { places: there, bends }, after.places));
}

/** Undefined after a timeout. */
function layoutInWorker(given: LayoutInput): Promise<LayoutResult | undefined> {
  const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
  return new Promise<LayoutResult | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), DEADLINE);
    worker.onmessage = ({ data }: MessageEvent<LayoutResult>) => {
      clearTimeout(timer);
      resolve(data);
    };
    worker.onerror = () => {
      clearTimeout(timer);
      resolve(undefined);
    };
    worker.postMessage(given);
  }).finally(() => worker.terminate());
}
