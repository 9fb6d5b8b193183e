import { useEffect, useRef, useState } from "react";
import type { Graph } from "../../model/graph.ts";
import { live } from "../../state/live.ts";
import type { PageState } from "../../state/store.ts";
import { useOps } from "../active-page.ts";
import { type Explanation, loadExplanation } from "./explanation.ts";

/** The throttle of reloads during a run, in milliseconds. */
const PAUSE = 250;

/** The explanation of a block, reloaded when values change. */
export function useExplanation(
  page: PageState,
  block: string,
): { explanation: Explanation | null; problem: string } {
  const ops = useOps();
  const [explanation, setExplanation] = useState<Explanation | null>(null);
  const [problem, setProblem] = useState("");
  const graph = useRef<Graph>(page.graph);
  graph.current = page.graph;
  const number = page.page;
  // Reloaded when blocks are added or removed, but not when they move.
  const blocks = [...page.graph.blocks.keys()].join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new block may be a gradient of this one.
  useEffect(() => {
    let ended = false;
    let waiting = 0;
    let loading = false;
    let again = false;
    // One load at a time: a training page has new values before the last ones are loaded.
    const load = async () => {
      loading = true;
      try {
        const found = await loadExplanation(number, block, graph.current, ops);
        if (ended) return;
        setExplanation(found);
        setProblem("");
      } catch (error) {
        if (!ended) setProblem((error as Error).message);
      } finally {
        loading = false;
        if (again) later();
      }
    };
    const later = () => {
      again = loading;
      if (waiting !== 0 || loading || ended) return;
      waiting = window.setTimeout(() => {
        waiting = 0;
        void load();
      }, PAUSE);
    };
    void load();
    const stop = live(number).onAny(later);
    return () => {
      ended = true;
      stop();
      clearTimeout(waiting);
    };
  }, [number, block, ops, blocks]);
  return { explanation, problem };
}
