/** Tidies a page in a worker, so that the page can be panned meanwhile, and not for ever. */

import { placeTidily } from "../model/edit-places.ts";
import { columns, type Tidied, type Untidy, untidy } from "../model/layout.ts";
import { texts } from "../text/index.ts";
import { studio } from "./store.ts";

const DEADLINE = 5000;

/** Lays out the blocks, or only some of them. A page that was changed meanwhile keeps its new blocks where they are. */
export async function tidyPage(page: number, only?: ReadonlySet<string>): Promise<void> {
  const now = studio.page(page);
  if (!now) return;
  const given = untidy(now.graph, now.places, only);
  const tidied = await inWorker(given);
  if (!tidied) studio.notice("info", texts[studio.language].notices.tidyLate);
  const after = studio.page(page);
  if (!after) return;
  const { places, bends } = tidied ?? columns(given);
  const there = new Map([...places].filter(([name]) => after.graph.blocks.has(name)));
  if (there.size) studio.act(page, placeTidily(after.graph, { places: there, bends }, after.places));
}

/** Nothing if it takes too long. */
function inWorker(given: Untidy): Promise<Tidied | undefined> {
  const worker = new Worker(new URL("./tidy.worker.ts", import.meta.url), { type: "module" });
  return new Promise<Tidied | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), DEADLINE);
    worker.onmessage = ({ data }: MessageEvent<Tidied>) => {
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
