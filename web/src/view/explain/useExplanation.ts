import { useEffect, useRef, useState } from "react";
import type { Graph } from "../../model/graph.ts";
import { live } from "../../state/live.ts";
import type { PageState } from "../../state/store.ts";
import { useOps } from "../active-page.ts";
import { type Explanation, loadExplanation } from "./explanation.ts";

/** While a page runs, values come many times a second; this often is enough. */
const PAUSE = 250;

/** The picture of a block, made anew whenever the page gave other values. */
export function useExplanation(
  page: PageState,
  block: string,
): { picture: Explanation | null; problem: string } {
  const ops = useOps();
  const [picture, setPicture] = useState<Explanation | null>(null);
  const [problem, setProblem] = useState("");
  const graph = useRef<Graph>(page.graph);
  graph.current = page.graph;
  const number = page.page;
  // What blocks there are decides what is shown; where they stand does not.
  const blocks = [...page.graph.blocks.keys()].join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new block may be a gradient of this one.
  useEffect(() => {
    let ended = false;
    let waiting = 0;
    let loading = false;
    let again = false;
    // One after the other: a page that learns has new values before the last ones are here.
    const load = async () => {
      loading = true;
      try {
        const found = await loadExplanation(number, block, graph.current, ops);
        if (ended) return;
        setPicture(found);
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
  return { picture, problem };
}
