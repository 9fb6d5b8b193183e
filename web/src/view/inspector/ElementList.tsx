import { type ReactElement, useEffect, useState } from "react";
import { type ConstantCells, formatCell } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { elementCount, unravelIndex } from "../../model/indexing.ts";
import type { ElementTexts } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { studio } from "../../state/store.ts";
import { useStrings } from "../strings.ts";
import { cellParser } from "../widgets/constant.ts";
import { ValidatedField } from "../widgets/ValidatedField.tsx";
import { blockOf } from "./tensor-source.ts";

const AT_ONCE = 200;

function elementName(cell: readonly number[]): string {
  return `val${cell.map((i) => `[${i}]`).join("")}`;
}

/** The elements of a constant as an editable list. */
export function ConstantList({
  cells,
  onEdit,
}: {
  cells: ConstantCells;
  onEdit(changes: readonly (readonly [cell: readonly number[], value: Json])[]): void;
}): ReactElement {
  const t = useStrings();
  const [most, setMost] = useState(AT_ONCE);
  return (
    <div className="values-elements">
      <table className="element-table">
        <tbody>
          {cells.elements.slice(0, most).map((value, i) => {
            const cell = unravelIndex(i, cells.shape);
            const name = elementName(cell);
            return (
              <tr key={name}>
                <td>{name}</td>
                <td>
                  <ValidatedField<Json>
                    label={name}
                    value={value}
                    format={formatCell}
                    read={cellParser(cells.dtype, t)}
                    onChange={(next) => onEdit([[cell, next]])}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {cells.elements.length > most && (
        <button type="button" className="button" onClick={() => setMost(most + AT_ONCE)}>
          {t.more(cells.elements.length - most)}
        </button>
      )}
    </div>
  );
}

/** The elements of an output as a list of texts, which also shows strings. */
export function OutputList({ page, pin }: { page: number; pin: string }): ReactElement {
  const t = useStrings();
  const [listed, setListed] = useState<ElementTexts | null>(null);
  const [failed, setFailed] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let waiting = 0;
    // Throttled: during a run values change many times a second.
    const stop = live(page).onBlock(blockOf(pin), () => {
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
  }, [page, pin]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again whenever there is a new value.
  useEffect(() => {
    let wanted = true;
    studio.requests.elementTexts(page, pin, 0, most).then(
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
  if (listed === null) return <p className="empty">{failed || t.runForValues}</p>;
  const count = elementCount(listed.shape);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys.
    <div className="values-elements" tabIndex={0}>
      {failed !== "" && <p className="bad small">{failed}</p>}
      <table className="element-table">
        <tbody>
          {listed.texts.map((text, i) => {
            const name = elementName(unravelIndex(listed.first + i, listed.shape));
            return (
              <tr key={name}>
                <td>{name}</td>
                <td>{text}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {count > most && (
        <button type="button" className="button" onClick={() => setMost(most + 5 * AT_ONCE)}>
          {t.more(count - most)}
        </button>
      )}
    </div>
  );
}
