/** Full-text search of ops by name, alias and documentation. Recent and compatible ops come first. */

import MiniSearch from "minisearch";
import type { ConnectionError, OpMatch } from "./connections.ts";
import type { Graph } from "./graph.ts";
import { type OpInfo, type Ops, snakeName } from "./ops.ts";

export interface OpSearchResult {
  readonly op: OpInfo;
  /** The pin that matches, in a search for a wire. */
  readonly pin?: string;
  /** Why no pin matches. */
  readonly reason?: ConnectionError;
}

export interface SearchOptions {
  /** Recently used ops, the last one first. */
  readonly recent?: readonly string[];
  /** Matches an op with the end of a wire. */
  readonly fitOf?: (op: OpInfo) => OpMatch;
  readonly most?: number;
}

/** Names of gradient ops, which are wanted less often than the op itself. */
const GRADIENT = /Grad|Backprop/;

export class OpSearch {
  private readonly index: MiniSearch;

  constructor(private readonly ops: Ops) {
    this.index = new MiniSearch({
      idField: "name",
      fields: ["name", "words", "aliases", "summary", "group", "documentation"],
      searchOptions: {
        boost: { name: 8, words: 5, aliases: 5, summary: 2, group: 1, documentation: 0.3 },
        prefix: true,
        fuzzy: (term) => (term.length > 3 ? 0.2 : false),
        combineWith: "AND",
      },
    });
    this.index.addAll(
      ops.all.map((op) => ({
        name: op.name,
        words: snakeName(op.name).replaceAll("_", " "),
        aliases: op.aliases.join(" "),
        summary: op.summary,
        group: op.group,
        documentation: op.documentation,
      })),
    );
  }

  search(query: string, { recent = [], fitOf, most = 50 }: SearchOptions = {}): OpSearchResult[] {
    const scores = query.trim() ? this.scores(query.trim()) : this.everything();
    const found = [...scores].map(([name, score]) => {
      const op = this.ops.get(name) as OpInfo;
      const fits = fitOf?.(op);
      const age = recent.indexOf(name);
      const lately = age < 0 ? 1 : 1.5 - age / (4 * recent.length);
      // An op for exactly this rank is more likely meant than one for any rank.
      const apt = 1 + 0.2 / (fits?.pin?.ranks?.length ?? Infinity);
      return { op, fits, score: score * lately * apt * (GRADIENT.test(name) ? 0.5 : 1) };
    });
    found.sort(
      (a, b) =>
        Number(!!a.fits?.reason) - Number(!!b.fits?.reason) ||
        b.score - a.score ||
        (a.op.name < b.op.name ? -1 : 1),
    );
    return found.slice(0, most).map(({ op, fits }) => ({
      op,
      ...(fits?.pin && { pin: fits.pin.name }),
      ...(fits?.reason && { reason: fits.reason }),
    }));
  }

  private everything(): Map<string, number> {
    return new Map(this.ops.all.map((op) => [op.name, 1]));
  }

  private scores(query: string): Map<string, number> {
    let results = this.index.search(query);
    if (!results.length) results = this.index.search(query, { combineWith: "OR" });
    const plain = query.toLowerCase().replaceAll(/[\s_]/g, "");
    return new Map(
      results.map(({ id, score }) => [id as string, score * nameMatchFactor(id as string, plain)]),
    );
  }
}

/** Boosts exact matches of a name, then prefixes, shorter names first. */
function nameMatchFactor(name: string, typed: string): number {
  const plain = name.toLowerCase();
  if (plain === typed) return 100;
  if (plain.startsWith(typed)) return 10 + 10 * (typed.length / plain.length);
  return plain.includes(typed) ? 3 : 1;
}

/** Searches blocks of a page by name, op or description. */
export function searchBlocks(graph: Graph, query: string, most = 50): string[] {
  const typed = query.trim().toLowerCase();
  if (!typed) return [...graph.blocks.keys()].slice(0, most);
  const scored = [...graph.blocks.values()].flatMap((view) => {
    const name = view.name.toLowerCase();
    const score = name === typed ? 4 : name.startsWith(typed) ? 3 : name.includes(typed) ? 2 : 0;
    const other =
      view.op.toLowerCase().includes(typed) || (view.block.about ?? "").toLowerCase().includes(typed) ? 1 : 0;
    return score || other ? [{ name: view.name, score: score || other }] : [];
  });
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ name }) => name);
}
