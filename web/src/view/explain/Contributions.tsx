import { type ReactElement, useEffect, useMemo, useState } from "react";
import { cellAt } from "../../model/cells.ts";
import {
  agrees,
  type Contribution,
  type Derivation,
  derive,
  tolerance,
  totalOf,
} from "../../model/contributions.ts";
import { holdingIn, lightsOf } from "../../model/explaining.ts";
import type { CellChecked } from "../../net/generated.ts";
import { studio } from "../../state/store.ts";
import type { ExplainWords } from "../../text/explain.en.ts";
import { Icon } from "../shell/icons.tsx";
import type { Picture } from "./picture.ts";
import { cellText, type Named, valueText, whereIs } from "./sentence.ts";
import { useExplainWords } from "./words.ts";

const MOST_ROWS = 60;
/** So many numbers stand in the formula. */
const MOST_TERMS = 6;

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
  return (
    <section className="explain-made">
      <h3>{title}</h3>
      <p className="explain-formula mono">
        <b>
          {name}
          {cellText(cell)}
        </b>{" "}
        = {derivations.map((each) => formulaOf(each, w)).join(" + ")}
        {total !== undefined && ` = ${valueText(total, w)}`}
      </p>
      {derivations.map((each, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a way is its place.
        <Table key={i} derivation={each} shapes={row.shapes} />
      ))}
      <Total derivations={derivations} total={total} shown={shown} dtype={tensor.dtype} />
      <Special derivations={derivations} name={name} />
      {row.explained.forward && <Check picture={picture} block={row.explained.block} cell={cell} />}
    </section>
  );
}

/** The rule with the numbers of its first contributions. */
function formulaOf({ nest, contributions, divisor }: Derivation, w: ExplainWords): string {
  const text = (value: number | undefined): string => {
    const short = roundedText(value, w);
    return short.startsWith("-") ? `(${short})` : short;
  };
  const first = contributions.slice(0, MOST_TERMS);
  const rest = contributions.length > MOST_TERMS ? ["…"] : [];
  const list = (part: (each: Contribution) => string, between: string): string =>
    [...first.map(part), ...rest].join(between) || "0";
  switch (nest.rule) {
    case "max":
    case "min":
    case "argmax":
    case "argmin":
      return `${nest.rule}(${list(({ factors }) => factors.map(text).join(" + "), ", ")})`;
    case "mean":
      return `(${list(({ factors }) => factors.map(text).join(" · "), " + ")}) / ${divisor}`;
    case "shares":
      return list(({ factors, divisor: by }) => `${text(factors[0])} / ${by}`, " + ");
    case "winners":
    case "close":
      return list(({ amount }) => text(amount), " + ");
    case "winner's":
      return text(contributions.find(({ part }) => part === "wins")?.factors[0]);
    case "product":
      return list(({ factors }) => text(factors[0]), " · ");
    case "apply":
      return list(
        ({ factors }) => nest.of.map((tensor, i) => `${tensor} = ${text(factors[i])}`).join(", "),
        "; ",
      );
    default:
      return list(({ factors }) => factors.map(text).join(" · "), " + ");
  }
}

/** Few enough digits for a column of numbers. */
function roundedText(value: number | undefined, w: ExplainWords): string {
  return value !== undefined && Number.isFinite(value)
    ? String(Number(value.toPrecision(6)))
    : valueText(value, w);
}

const AMOUNT: Readonly<Record<string, "product" | "share" | "adds" | undefined>> = {
  sum: "product",
  shares: "share",
  winners: "adds",
  close: "adds",
  "winner's": "adds",
};
const RUNNING: Readonly<Record<string, "sum" | "best" | "running" | undefined>> = {
  sum: "sum",
  mean: "sum",
  shares: "sum",
  winners: "sum",
  close: "sum",
  max: "best",
  min: "best",
  argmax: "best",
  argmin: "best",
  product: "running",
};

function Table({
  derivation: { nest, contributions, cut },
  shapes,
}: {
  derivation: Derivation;
  shapes: Readonly<Record<string, readonly number[]>>;
}): ReactElement {
  const w = useExplainWords();
  const amount = nest.rule === "sum" && nest.of.length < 2 ? undefined : AMOUNT[nest.rule];
  const running = RUNNING[nest.rule];
  const chosen = contributions.some(({ part }) => part !== "counts");
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must by keyboard too. */}
      <section className="explain-table" aria-label={w.contributions} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {nest.of.map((tensor) => (
                <th key={tensor} scope="col" colSpan={2}>
                  {tensor}
                </th>
              ))}
              {amount && <th scope="col">{w[amount]}</th>}
              {running && <th scope="col">{w[running]}</th>}
              {chosen && <th scope="col" aria-label={w.gives} />}
            </tr>
          </thead>
          <tbody>
            {contributions.slice(0, MOST_ROWS).map((each, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a contribution is its place.
              <tr key={i} className={`part-${each.part}`}>
                {nest.of.map((tensor, at) => (
                  <FactorCells
                    key={tensor}
                    cell={cellText(cellAt(each.cells.get(tensor) ?? 0, shapes[tensor] ?? []))}
                    value={roundedText(each.factors[at], w)}
                  />
                ))}
                {amount && (
                  <td>
                    {roundedText(each.amount, w)}
                    {each.divisor !== undefined && <span className="soft"> {w.divided(each.divisor)}</span>}
                  </td>
                )}
                {running && <td>{roundedText(each.running, w)}</td>}
                {chosen && <td className="explain-part">{w.counts[each.part]}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {contributions.length > MOST_ROWS && (
        <p className="soft small">{w.more(contributions.length - MOST_ROWS)}</p>
      )}
      {cut && <p className="soft small">{w.cutShort(contributions.length)}</p>}
    </>
  );
}

function FactorCells({ cell, value }: { cell: string; value: string }): ReactElement {
  return (
    <>
      <td className="soft">{cell}</td>
      <td>{value}</td>
    </>
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

/** The outputs that a cell leads to, and what it adds to each. */
function LeadsTo({
  picture,
  named: { row, name },
  pin,
  place,
}: {
  picture: Picture;
  named: Named;
  pin: string;
  place: number;
}): ReactElement | null {
  const w = useExplainWords();
  const found = useMemo(() => {
    const holding = holdingIn(row, picture.holding);
    const lights = lightsOf([row], new Map(), picture.holding, pin, place);
    return row.explained.outputs.flatMap((output) => {
      const tensor = row.explained.tensors[output];
      const places = [...((tensor && lights.get(tensor.pin)?.get("feeds")) ?? [])];
      return places.slice(0, MOST_ROWS).map((at) => {
        const parts = derive(row.nests, output, at, holding).flatMap(({ contributions }) =>
          contributions.filter(({ cells }) => cells.get(name) === place),
        );
        const amounts = parts.map(({ amount }) => amount);
        const adds = amounts.some((each) => each === undefined)
          ? undefined
          : amounts.reduce((sum: number, each) => sum + (each as number), 0);
        const part = parts.find((each) => each.part === "wins")?.part ?? parts[0]?.part ?? "counts";
        return {
          cell: `${output}${cellText(cellAt(at, tensor?.shape ?? []))}`,
          value: picture.holding(tensor?.pin ?? "", at),
          adds,
          part,
        };
      });
    });
  }, [row, name, pin, place, picture]);
  if (found.length === 0) return null;
  const chosen = found.some(({ part }) => part !== "counts");
  return (
    <section className="explain-made">
      <h3>{w.leadsTo}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must by keyboard too. */}
      <section className="explain-table" aria-label={w.leadsTo} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{w.cell}</th>
              <th scope="col">{w.adds}</th>
              <th scope="col">{w.gives}</th>
              {chosen && <th scope="col" aria-label={w.gives} />}
            </tr>
          </thead>
          <tbody>
            {found.map((each) => (
              <tr key={each.cell} className={`part-${each.part}`}>
                <td className="soft">{each.cell}</td>
                <td>{roundedText(each.adds, w)}</td>
                <td>{roundedText(each.value, w)}</td>
                {chosen && <td className="explain-part">{w.counts[each.part]}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}

/** Compares the gradient at the cell with a finite difference, when asked. */
function Check({ picture, block, cell }: { picture: Picture; block: string; cell: number[] }): ReactElement {
  const w = useExplainWords();
  const [checked, setChecked] = useState<CellChecked | string | null>(null);
  const at = cell.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was checked is over at another cell.
  useEffect(() => setChecked(null), [at, block, picture]);
  const check = () => {
    setChecked(w.checking);
    studio.checkCell(picture.page, block, cell).then(setChecked, (error: Error) => setChecked(error.message));
  };
  return (
    <div className="explain-check">
      <button type="button" className="button" onClick={check}>
        {w.check}
      </button>
      {checked !== null && (
        <p role="status">
          {typeof checked === "string" ? (
            checked
          ) : (
            <>
              <span className="mono">
                {w.checked(valueText(checked.given, w), valueText(checked.slope, w))}
              </span>{" "}
              <span className={!checked.valid ? "soft" : checked.agrees ? "good" : "bad"}>
                {!checked.valid ? w.notValid : checked.agrees ? w.agree : w.disagree}
              </span>{" "}
              {checked.text}
            </>
          )}
        </p>
      )}
    </div>
  );
}
