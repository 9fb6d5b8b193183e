/** The formula of a cell with actual numbers. */

import { type Contribution, type Derivation, isSubtracted } from "../../model/contributions.ts";
import { unravelIndex } from "../../model/indexing.ts";
import type { Shapes } from "../../model/loop-nest.ts";
import type { ExplainStrings } from "../../text/explain.en.ts";
import { formatCell, formatValue } from "./cell-summary.ts";

/** The most terms of the formula. */
const MAX_TERMS = 6;

/** The function names of rules that give an index. */
export const ARG_FUNCTIONS: Readonly<Record<string, string>> = {
  argmax: "argmax",
  "largest at": "argmax",
  "smallest at": "argmin",
};

/** The formula of one derivation with its first terms. */
function derivationFormula(derivation: Derivation, op: string, shapes: Shapes, t: ExplainStrings): string {
  const { nest, contributions, divisor } = derivation;
  const text = (value: number | undefined): string => {
    const short = formatRounded(value, t);
    return short.startsWith("-") ? `(${short})` : short;
  };
  const first = contributions.slice(0, MAX_TERMS);
  const rest = contributions.length > MAX_TERMS ? ["…"] : [];
  const list = (part: (each: Contribution) => string, between: string): string =>
    [...first.map(part), ...rest].join(between) || "0";
  switch (nest.rule) {
    case "max":
    case "min":
      return `${nest.rule}(${list(({ factors }) => factors.map(text).join(" + "), ", ")})`;
    case "argmax":
    case "largest at":
    case "smallest at":
      return `${ARG_FUNCTIONS[nest.rule]}(${list(({ factors }) => factors.map(text).join(" + "), ", ")})`;
    case "mean":
      return `(${list(({ factors }) => factors.map(text).join(" · "), " + ")}) / ${divisor}`;
    case "shares":
      return list(({ factors, divisor: by }) => `${text(factors[0])} / ${by}`, " + ");
    case "winners":
    case "close":
      return list(({ amount }) => text(amount), " + ");
    case "winner's": {
      const winner = contributions.find(({ role }) => role === "wins");
      const [from = ""] = nest.of;
      return winner
        ? `${from}${formatCell(unravelIndex(winner.cells.get(from) ?? 0, shapes[from] ?? []))}`
        : "0";
    }
    case "product":
      return list(({ factors }) => text(factors[0]), " · ");
    case "added":
      return list(({ factors }) => factors.map(text).join(" + "), " + ");
    case "apply": {
      const group = (each: Contribution): string =>
        each.factors.map((value) => formatRounded(value, t)).join(", ");
      const alone = contributions.length === 1 || nest.of.length === 1;
      return `${op}(${list((each) => (alone ? group(each) : `(${group(each)})`), ", ")})`;
    }
    default:
      if (isSubtracted(derivation)) return list(({ factors }) => factors.map(text).join(" · "), " - ");
      return list(
        ({ factors, weight }) =>
          [...(weight === undefined ? [] : [weight]), ...factors].map(text).join(" · "),
        " + ",
      );
  }
}

/** The formula of all derivations of a cell. */
export function numericFormula(
  derivations: readonly Derivation[],
  op: string,
  shapes: Shapes,
  t: ExplainStrings,
): string {
  return derivations
    .map((each, i) => {
      const sign = isSubtracted(each) ? (i ? " - " : "-") : i ? " + " : "";
      return `${sign}${derivationFormula(each, op, shapes, t)}`;
    })
    .join("");
}

/** A number with at most six significant digits. */
export function formatRounded(value: number | undefined, t: ExplainStrings): string {
  return value !== undefined && Number.isFinite(value)
    ? String(Number(value.toPrecision(6)))
    : formatValue(value, t);
}
