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
  picture: Explanation;
  pin: string;
  place: number;
}

/** How the number of one cell comes about: the formula with its numbers, each contribution, and what is special. */
export function Contributions({ picture, pin, place }: Props): ReactElement {
  const t = useExplainStrings();
  const { made, taken } = rolesOfTensor(picture, pin);
  const own = made[0];
  const twin = own ? undefined : counterpartOutput(picture, pin);
  const shown = own ?? twin;
  return (
    <>
      {shown && (
        <OutputCell
          key={shown.row.explained.block}
          picture={picture}
          named={shown}
          place={place}
          title={own ? t.contributions : t.gradientOf(shown.row.explained.tensors[shown.name]?.pin ?? "")}
        />
      )}
      {taken[0] && !own && <Dependents picture={picture} named={taken[0]} pin={pin} place={place} />}
    </>
  );
}

function OutputCell({
  picture,
  named: { row, name },
  place,
  title,
}: {
  picture: Explanation;
  named: BlockTensor;
  place: number;
  title: string;
}): ReactElement | null {
  const t = useExplainStrings();
  const tensor = row.explained.tensors[name];
  const holding = useMemo(() => readByName(row, picture.holding), [row, picture]);
  const derivations = derivationsAt(picture, row, name, place);
  if (!tensor) return null;
  const { op } = row.explained;
  const cell = unravelIndex(place, tensor.shape);
  const total = totalOf(derivations);
  const shown = shownAt(derivations, name, holding(name, place), holding);
  const applied = derivations.every(({ nest, cut }) => nest.rule === "apply" && !cut);
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
        // biome-ignore lint/suspicious/noArrayIndexKey: a way is its place.
        <ContributionTable key={i} derivation={each} shapes={row.shapes} holding={holding} />
      ))}
      <Total derivations={derivations} total={total} shown={shown} dtype={tensor.dtype} op={op} />
      <Remarks derivations={derivations} name={name} />
      {row.explained.forward && <GradientCheck picture={picture} block={row.explained.block} cell={cell} />}
    </section>
  );
}

/** What an output's cell holds: its number or a code, and what the total is to be compared with. */
interface ShownNumber {
  readonly code: number | undefined;
  /** What the code stands for. */
  readonly stands: number | undefined;
  readonly compared: number | undefined;
  /** How far apart two codes are, where the total is a number that became a code. */
  readonly step: number;
}

function shownAt(
  [first]: readonly Derivation[],
  name: string,
  code: number | undefined,
  holding: ReadCell,
): ShownNumber {
  const nest = first?.nest;
  if (!nest?.codes[name]) return { code, stands: undefined, compared: code, step: 0 };
  const stands = nest.dequantized(name, code, holding);
  const summed = nest.rule === "sum";
  return { code, stands, compared: summed ? stands : code, step: summed ? nest.codeStep(name, holding) : 0 };
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

/** Windows that reach beyond the tensor, what means are divided by, and ties. */
function Remarks({
  derivations,
  name,
}: {
  derivations: readonly Derivation[];
  name: string;
}): ReactElement | null {
  const t = useExplainStrings();
  const said = derivations.flatMap(({ nest, contributions, divisor, cut }) => {
    const window = nest.windowSize(name);
    const found: string[] = [];
    const count = contributions.length;
    const slides = nest.rule !== "winners" && nest.rule !== "shares" && !nest.irregular;
    if (slides && !cut && count < window) found.push(t.clipped(window - count, window));
    if (divisor !== undefined && count < window && !nest.irregular) found.push(t.divisor(divisor));
    if (nest.rule === "shares" && !nest.irregular) {
      const whole = nest.windowSize(nest.of[0] ?? "");
      const clipped = contributions.filter((each) => each.divisor !== undefined && each.divisor < whole);
      if (clipped.length) found.push(t.clippedShares(clipped.length, count, whole));
    }
    if (nest.cut) found.push(t.truncatedMean);
    if (nest.codes[name]) found.push(nest.rule === "sum" ? t.quantizedSum : t.quantized);
    const ties = contributions.filter(({ part }) => part === "ties").length;
    const wins = contributions.filter(({ part }) => part === "wins").length;
    if (ties > 0 && nest.rule !== "winners") found.push(t.firstOfTies(ties + 1));
    if (nest.rule === "close" && wins > 1) found.push(t.allOfTies(wins));
    return found;
  });
  if (said.length === 0) return null;
  return (
    <ul className="explain-special">
      {said.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
}
