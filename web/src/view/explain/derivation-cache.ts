/** The derivations of an output cell, cached for all components that show them. */

import { type Derivation, derive } from "../../model/contributions.ts";
import { type ExplainedBlock, readByName } from "../../model/highlights.ts";
import type { Explanation } from "./explanation.ts";

interface Found {
  readonly name: string;
  readonly offset: number;
  readonly fetched: number;
  readonly derivations: readonly Derivation[];
}

const last = new WeakMap<ExplainedBlock, Found>();

export function derivationsAt(
  explanation: Explanation,
  row: ExplainedBlock,
  name: string,
  offset: number,
): readonly Derivation[] {
  const fetched = explanation.fetchCount();
  const known = last.get(row);
  if (known?.name === name && known.offset === offset && known.fetched === fetched) return known.derivations;
  const derivations = derive(row.nests, name, offset, readByName(row, explanation.readCell));
  last.set(row, { name, offset, fetched, derivations });
  return derivations;
}
