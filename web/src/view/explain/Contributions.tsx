import { type ReactElement, useMemo } from "react";
import { agrees, type Derivation, tolerance, totalOf } from "../../model/contributions.ts";
import { readByName } from "../../model/highlights.ts";
import { unravelIndex } from "../../model/indexing.ts";
import type { ReadCell } from "../../model/loop-nest.ts";
import { Icon } from "../shell/icons.tsx";
import { useExplainStrings } from "../strings.ts";
import { ContributionTable } from "./ContributionTable.tsx";
import {
  type BlockTensor,
  counterpartOutput,
  formatCell,
  formatValue,
  rolesOfTensor,
} from "./cell-summary.ts";
import { Dependents } from "./Dependents.tsx";
import { derivationsAt } from "./derivation-cache.ts";
import type { Explanation } from "./explanation.ts";
import { GradientCheck } from "./GradientCheck.tsx";
import { formatRounded, numericFormula } from "./numeric-formula.ts";

interface Props {
  explanation: Explanation;
  pin: string;
  offset: number;
}

/** The derivation of one cell: formula with numbers, contributions, total and remarks. */
export function Contributions({ explanation, pin, offset }: Props): ReactElement {
  const t = useExplainStrings();
  const { made, taken } = rolesOfTensor(explanation, pin);
  const own = made[0];
  const counterpart = own ? undefined : counterpartOutput(explanation, pin);
  const shown = own ?? counterpart;
  return (
    <>
      {shown && (
        <OutputCell
          key={shown.row.explained.block}
          explanation={explanation}
          named={shown}
          offset={offset}
          title={own ? t.contributions : t.gradientOf(shown.row.explained.tensors[shown.name]?.pin ?? "")}
        />
      )}
      {taken[0] && !own && (
        <Dependents explanation={explanation} named={taken[0]} pin={pin} offset={offset} />
      )}
    </>
  );
}

function OutputCell({
  explanation,
  named: { row, name },
  offset,
  title,
}: {
  explanation: Explanation;
  named: BlockTensor;
  offset: number;
  title: string;
}): ReactElement | null {
  const t = useExplainStrings();
  const tensor = row.explained.tensors[name];
  const readCell = useMemo(() => readByName(row, explanation.readCell), [row, explanation]);
  const derivations = derivationsAt(explanation, row, name, offset);
  if (!tensor) return null;
  const { op } = row.explained;
  const cell = unravelIndex(offset, tensor.shape);
  const total = totalOf(derivations);
  const shown = shownAt(derivations, name, readCell(name, offset), readCell);
  const applied = derivations.every(({ nest, truncated }) => nest.rule === "apply" && !truncated);
  const formula = numericFormula(derivations, op, row.shapes, t);
  return (
    <section className="explain-made">
      <h3>{title}</h3>
      <p className="explain-formula mono">
        <b>
          {name}
          {formatCell(cell)}
        </b>{" "}
        = {formula}
        {total !== undefined && formula !== formatRounded(total, t) && ` = ${formatValue(total, t)}`}
        {applied && ` = ${formatValue(shown.code, t)}`}
      </p>
      {derivations.map((each, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a accessMap is its place.
        <ContributionTable key={i} derivation={each} shapes={row.shapes} readCell={readCell} />
      ))}
      <Total derivations={derivations} total={total} shown={shown} dtype={tensor.dtype} op={op} />
      <Remarks derivations={derivations} name={name} />
      {row.explained.forward && (
        <GradientCheck explanation={explanation} block={row.explained.block} cell={cell} />
      )}
    </section>
  );
}

/** The number of an output cell: its value or code, and what the total is compared with. */
interface ShownNumber {
  readonly code: number | undefined;
  /** The dequantized code. */
  readonly stands: number | undefined;
  readonly compared: number | undefined;
  /** The step between codes, if the total was quantized. */
  readonly step: number;
}

function shownAt(
  [first]: readonly Derivation[],
  name: string,
  code: number | undefined,
  readCell: ReadCell,
): ShownNumber {
  const nest = first?.nest;
  if (!nest?.codes[name]) return { code, stands: undefined, compared: code, step: 0 };
  const stands = nest.dequantized(name, code, readCell);
  const summed = nest.rule === "sum";
  return { code, stands, compared: summed ? stands : code, step: summed ? nest.codeStep(name, readCell) : 0 };
}

function Total({
  derivations,
  total,
  shown,
  dtype,
  op,
}: {
  derivations: readonly Derivation[];
  total: number | undefined;
  shown: ShownNumber;
  dtype: string;
  op: string;
}): ReactElement {
  const t = useExplainStrings();
  const divisor = derivations[0]?.divisor;
  const number = (
    <>
      <b className="mono">{formatValue(shown.code, t)}</b>
      {shown.stands !== undefined && <span className="mono soft"> = {formatValue(shown.stands, t)}</span>}
    </>
  );
  if (total === undefined || shown.compared === undefined)
    return (
      <p className="explain-total">
        {derivations.some(({ nest }) => nest.rule === "apply") ? t.opGives(op) : t.shown} {number}
      </p>
    );
  const same = agrees(total, shown.compared, tolerance(derivations, dtype, shown.step));
  const exact = formatValue(total, t) === formatValue(shown.compared, t);
  const off = formatValue(total - shown.compared, t);
  const verdict = same ? (exact ? t.equal : t.rounded) : t.unequal(off);
  const summed = derivations[0]?.contributions.at(-1)?.running ?? 0;
  return (
    <p className={same ? "explain-total" : "explain-total bad"} data-agrees={same}>
      {t.total}{" "}
      {divisor !== undefined && (
        <span className="mono">
          {formatValue(summed, t)} {t.divided(divisor)} ={" "}
          {derivations[0]?.nest.cut && `${formatValue(summed / divisor, t)} → `}
        </span>
      )}
      <b className="mono">{formatValue(total, t)}</b> · {t.shown} {number}{" "}
      <span className={same ? "good" : "bad"} title={verdict}>
        <Icon name={same ? "good" : "warning"} />
        <span className={same && !exact ? "soft small" : "visually-hidden"}>{verdict}</span>
      </span>
    </p>
  );
}

/** Remarks on clipped windows, divisors, quantization and ties. */
function Remarks({
  derivations,
  name,
}: {
  derivations: readonly Derivation[];
  name: string;
}): ReactElement | null {
  const t = useExplainStrings();
  const remarks = derivations.flatMap(({ nest, contributions, divisor, truncated }) => {
    const window = nest.windowSize(name);
    const found: string[] = [];
    const count = contributions.length;
    const slides = nest.rule !== "winners" && nest.rule !== "shares" && !nest.irregular;
    if (slides && !truncated && count < window) found.push(t.clipped(window - count, window));
    if (divisor !== undefined && count < window && !nest.irregular) found.push(t.divisor(divisor));
    if (nest.rule === "shares" && !nest.irregular) {
      const whole = nest.windowSize(nest.of[0] ?? "");
      const clipped = contributions.filter((each) => each.divisor !== undefined && each.divisor < whole);
      if (clipped.length) found.push(t.clippedShares(clipped.length, count, whole));
    }
    if (nest.cut) found.push(t.truncatedMean);
    if (nest.codes[name]) found.push(nest.rule === "sum" ? t.quantizedSum : t.quantized);
    const ties = contributions.filter(({ role }) => role === "ties").length;
    const wins = contributions.filter(({ role }) => role === "wins").length;
    if (ties > 0 && nest.rule !== "winners") found.push(t.firstOfTies(ties + 1));
    if (nest.rule === "close" && wins > 1) found.push(t.allOfTies(wins));
    return found;
  });
  if (remarks.length === 0) return null;
  return (
    <ul className="explain-special">
      {remarks.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
}
