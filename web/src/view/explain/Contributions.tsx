import { type ReactElement, useMemo } from "react";
import { cellAt } from "../../model/cells.ts";
import { agrees, type Derivation, derive, tolerance, totalOf } from "../../model/contributions.ts";
import { holdingIn } from "../../model/explaining.ts";
import { Icon } from "../shell/icons.tsx";
import { Check } from "./Check.tsx";
import { ContributionTable } from "./ContributionTable.tsx";
import { formulaOf, roundedText } from "./formula.ts";
import { LeadsTo } from "./LeadsTo.tsx";
import type { Picture } from "./picture.ts";
import { cellText, type Named, valueText, whereIs } from "./sentence.ts";
import { useExplainWords } from "./words.ts";

interface Props {
  picture: Picture;
  pin: string;
  place: number;
}

/** How the number of one cell comes about: the formula with its numbers, each contribution, and what is special. */
export function Contributions({ picture, pin, place }: Props): ReactElement {
  const w = useExplainWords();
  const { made, taken } = whereIs(picture, pin);
  const own = made[0];
  const twin = own ? undefined : twinMade(picture, pin);
  const shown = own ?? twin;
  return (
    <>
      {shown && (
        <Made
          key={shown.row.explained.block}
          picture={picture}
          named={shown}
          place={place}
          title={own ? w.contributions : w.gradientOf(shown.row.explained.tensors[shown.name]?.pin ?? "")}
        />
      )}
      {taken[0] && !own && <LeadsTo picture={picture} named={taken[0]} pin={pin} place={place} />}
    </>
  );
}

/** The output that stands for the same place as a tensor: its gradient. */
function twinMade(picture: Picture, pin: string): Named | undefined {
  const twins = (picture.twins.get(pin) ?? []).filter((each) => each !== pin);
  return twins.flatMap((twin) => whereIs(picture, twin).made)[0];
}

function Made({
  picture,
  named: { row, name },
  place,
  title,
}: {
  picture: Picture;
  named: Named;
  place: number;
  title: string;
}): ReactElement | null {
  const w = useExplainWords();
  const tensor = row.explained.tensors[name];
  const derivations = useMemo(
    () => derive(row.nests, name, place, holdingIn(row, picture.holding)),
    [row, name, place, picture],
  );
  if (!tensor) return null;
  const cell = cellAt(place, tensor.shape);
  const shown = picture.holding(tensor.pin, place);
  const total = totalOf(derivations);
  const formula = derivations.map((each) => formulaOf(each, row.shapes, w)).join(" + ");
  return (
    <section className="explain-made">
      <h3>{title}</h3>
      <p className="explain-formula mono">
        <b>
          {name}
          {cellText(cell)}
        </b>{" "}
        = {formula}
        {total !== undefined && formula !== roundedText(total, w) && ` = ${valueText(total, w)}`}
      </p>
      {derivations.map((each, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a way is its place.
        <ContributionTable key={i} derivation={each} shapes={row.shapes} />
      ))}
      <Total derivations={derivations} total={total} shown={shown} dtype={tensor.dtype} />
      <Special derivations={derivations} name={name} />
      {row.explained.forward && <Check picture={picture} block={row.explained.block} cell={cell} />}
    </section>
  );
}

function Total({
  derivations,
  total,
  shown,
  dtype,
}: {
  derivations: readonly Derivation[];
  total: number | undefined;
  shown: number | undefined;
  dtype: string;
}): ReactElement {
  const w = useExplainWords();
  const divisor = derivations[0]?.divisor;
  if (total === undefined || shown === undefined)
    return (
      <p className="explain-total">
        {w.shown} <b className="mono">{valueText(shown, w)}</b>
        {derivations.every(({ cut }) => !cut) && total === undefined && (
          <span className="soft"> · {w.onlyTheOp}</span>
        )}
      </p>
    );
  const same = agrees(total, shown, tolerance(derivations, dtype));
  return (
    <p className={same ? "explain-total" : "explain-total bad"} data-agrees={same}>
      {w.total}{" "}
      {divisor !== undefined && (
        <span className="mono">
          {valueText(derivations[0]?.contributions.at(-1)?.running ?? 0, w)} {w.divided(divisor)} ={" "}
        </span>
      )}
      <b className="mono">{valueText(total, w)}</b> · {w.shown} <b className="mono">{valueText(shown, w)}</b>{" "}
      <span className={same ? "good" : "bad"} title={same ? w.equal : w.unequal(valueText(total - shown, w))}>
        <Icon name={same ? "good" : "warning"} />
        <span className="visually-hidden">{same ? w.equal : w.unequal(valueText(total - shown, w))}</span>
      </span>
    </p>
  );
}

/** Windows that reach beyond the tensor, what means are divided by, and ties. */
function Special({
  derivations,
  name,
}: {
  derivations: readonly Derivation[];
  name: string;
}): ReactElement | null {
  const w = useExplainWords();
  const said = derivations.flatMap(({ nest, contributions, divisor, cut }) => {
    const window = nest.around(name);
    const found: string[] = [];
    const count = contributions.length;
    const slides = nest.rule !== "winners" && nest.rule !== "shares";
    if (slides && !cut && count < window) found.push(w.clipped(window - count, window));
    if (divisor !== undefined && count < window) found.push(w.divisor(divisor));
    const ties = contributions.filter(({ part }) => part === "ties").length;
    const wins = contributions.filter(({ part }) => part === "wins").length;
    if (ties > 0 && nest.rule !== "winners") found.push(w.firstOfTies(ties + 1));
    if (nest.rule === "close" && wins > 1) found.push(w.allOfTies(wins));
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
