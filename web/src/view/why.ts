/** Why a wire does not fit, in words. */

import type { InputRef, OutputRef } from "../model/document.ts";
import { whyNoWire } from "../model/fits.ts";
import type { Graph } from "../model/graph.ts";
import { reasonText } from "../model/words.ts";
import { texts } from "../text/index.ts";
import { useSettings } from "./settings.ts";

export function whyText(graph: Graph, from: OutputRef, to: InputRef): string {
  const reason = whyNoWire(graph, from, to);
  return `${from.block} → ${to.block}.${to.pin}: ${reason ? reasonText(reason, texts[useSettings.getState().language]) : ""}`;
}
