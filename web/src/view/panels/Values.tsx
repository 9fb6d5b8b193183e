import { type ReactElement, useEffect, useState } from "react";
import { namesOf } from "../../model/action.ts";
import { setAttr } from "../../model/actions.ts";
import type { Json } from "../../model/document.ts";
import { keyOf } from "../../model/graph.ts";
import { CONST } from "../../model/ops.ts";
import type { Listed } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { type PageState, studio } from "../../state/store.ts";
import { shortNumber } from "../canvas/monitored.ts";
import { act } from "../page.ts";
import { type Cells, cellsOf, constantOf, placeOf, readCell, shownCell } from "../widgets/constant.ts";
import { Entry } from "../widgets/Entry.tsx";
import { useWords } from "../words.ts";

const AT_ONCE = 200;

/** What the outputs of the selected blocks hold, element by element; constants can be changed here. */
export function Values({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const names = namesOf(page.selection, "block");
  const pins = names.flatMap(
    (name) => page.graph.blocks.get(name)?.outputs.map((pin) => keyOf(pin.ref)) ?? [],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const pin = chosen !== null && pins.includes(chosen) ? chosen : pins[0];
  if (pin === undefined) return <p className="empty">{w.selectForValues}</p>;
  return (
    <div className="values">
      <div className="values-list">
        {pins.map((each) => (
          <button key={each} type="button" aria-current={each === pin} onClick={() => setChosen(each)}>
            <span className="mono">{each}</span>
          </button>
        ))}
      </div>
      <Elements key={pin} page={page} pin={pin} />
    </div>
  );
}

function Elements({ page, pin }: { page: PageState; pin: string }): ReactElement {
  const block = pin.slice(0, pin.indexOf(":"));
  const view = page.graph.blocks.get(block);
  const cells = view?.op === CONST ? cellsOf(view.block.attrs?.value) : undefined;
  if (cells !== undefined) return <ConstantElements page={page} block={block} cells={cells} />;
  return <RunElements page={page.page} pin={pin} />;
}

function elementName(place: readonly number[]): string {
  return `val${place.map((i) => `[${i}]`).join("")}`;
}

function ConstantElements({
  page,
  block,
  cells,
}: {
  page: PageState;
  block: string;
  cells: Cells;
}): ReactElement {
  const w = useWords();
  const [most, setMost] = useState(AT_ONCE);
  return (
    <div className="values-elements">
      <p className="soft small">
        {cells.dtype} [{cells.shape.join(", ")}]
      </p>
      <table className="element-table">
        <tbody>
          {cells.elements.slice(0, most).map((cell, i) => {
            const name = elementName(placeOf(i, cells.shape));
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: an element is its place.
              <tr key={i}>
                <td>{name}</td>
                <td>
                  <Entry<Json>
                    label={name}
                    value={cell}
                    format={shownCell}
                    read={(typed) => {
                      const value = readCell(typed, cells.dtype);
                      return value === undefined ? { error: w.noneOfType(cells.dtype ?? "") } : { value };
                    }}
                    onChange={(value) => {
                      const elements = cells.elements.map((old, at) => (at === i ? value : old));
                      act(setAttr(page.document, block, "value", constantOf({ ...cells, elements })));
                    }}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {cells.elements.length > most && (
        <button type="button" className="button" onClick={() => setMost(most + AT_ONCE)}>
          {w.more(cells.elements.length - most)}
        </button>
      )}
    </div>
  );
}

function RunElements({ page, pin }: { page: number; pin: string }): ReactElement {
  const w = useWords();
  const [listed, setListed] = useState<Listed | null>(null);
  const [failed, setFailed] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const [turn, setTurn] = useState(0);
  const block = pin.slice(0, pin.indexOf(":"));
  useEffect(() => {
    let waiting = 0;
    // While a page runs, values come many times a second; reading them five times is enough.
    const stop = live(page).onBlock(block, () => {
      if (waiting === 0)
        waiting = window.setTimeout(() => {
          waiting = 0;
          setTurn((n) => n + 1);
        }, 200);
    });
    return () => {
      stop();
      clearTimeout(waiting);
    };
  }, [page, block]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again whenever there is a new value.
  useEffect(() => {
    let wanted = true;
    studio.elements(page, pin, 0, most).then(
      (answer) => {
        if (!wanted) return;
        setListed(answer);
        setFailed("");
      },
      (error: Error) => wanted && setFailed(error.message),
    );
    return () => {
      wanted = false;
    };
  }, [page, pin, most, turn]);
  const summary = live(page).summary(pin);
  if (listed === null) return <p className="empty">{failed || w.runForValues}</p>;
  const count = listed.shape.reduce((a, b) => a * b, 1);
  return (
    <div className="values-elements">
      <p className="soft small">
        {listed.dtype} [{listed.shape.join(", ")}]
        {summary &&
          ` · ${w.statistics(shortNumber(summary.low), shortNumber(summary.high), shortNumber(summary.mean))}`}
        {failed !== "" && <span className="bad"> {failed}</span>}
      </p>
      <table className="element-table">
        <tbody>
          {listed.texts.map((text, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an element is its place.
            <tr key={i}>
              <td>{elementName(placeOf(listed.first + i, listed.shape))}</td>
              <td>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > most && (
        <button type="button" className="button" onClick={() => setMost(most + 5 * AT_ONCE)}>
          {w.more(count - most)}
        </button>
      )}
    </div>
  );
}
