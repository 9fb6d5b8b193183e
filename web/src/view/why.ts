/** Why a wire does not fit, in words. */

import { connectionError } from "../model/connections.ts";
import type { InputRef, OutputRef } from "../model/document.ts";
import { reasonText } from "../model/format.ts";
import type { Graph } from "../model/graph.ts";
import { texts } from "../text/index.ts";
import { useSettings } from "./settings.ts";

export function whyText(graph: Graph, from: OutputRef, to: InputRef): string {
  const reason = connectionError(graph, from, to);
  return `${from.block} → ${to.block}.${to.pin}: ${reason ? reasonText(reason, texts[useSettings.getState().language]) : ""}`;
}
