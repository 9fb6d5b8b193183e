/** How an output's cell comes about, found once for all that show it. */

import { type Derivation, derive } from "../../model/contributions.ts";
import { type ExplainedBlock, readByName } from "../../model/highlights.ts";
import type { Explanation } from "./explanation.ts";

interface Found {
  readonly name: string;
  readonly place: number;
  readonly fetched: number;
  readonly derivations: readonly Derivation[];
}

const last = new WeakMap<ExplainedBlock, Found>();

export function derivationsAt(
  picture: Explanation,
  row: ExplainedBlock,
  name: string,
  place: number,
): readonly Derivation[] {
  const fetched = picture.fetched();
  const known = last.get(row);
  if (known?.name === name && known.place === place && known.fetched === fetched) return known.derivations;
  const derivations = derive(row.nests, name, place, readByName(row, picture.holding));
  last.set(row, { name, place, fetched, derivations });
  return derivations;
}
