import type { ReactElement } from "react";
import { dtypesText } from "../../model/format.ts";
import type { OpInfo, PinInfo } from "../../model/ops.ts";
import { useOps, useSelectedBlock } from "../active-page.ts";
import { Markdown } from "../Markdown.tsx";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui, useUi } from "../ui.ts";

/** The documentation of the selected block's op, or of the last focused op of the palette. */
export function Docs(): ReactElement {
  const t = useStrings();
  const ops = useOps();
  const selected = useSelectedBlock();
  const asked = useUi((state) => state.docs);
  const op = ops?.get(selected?.op ?? asked ?? "");
  if (op === undefined) return <p className="empty">{t.selectForDocs}</p>;
  return <OpDocs op={op} />;
}

export function OpDocs({ op }: { op: OpInfo }): ReactElement {
  const t = useStrings();
  return (
    <article className="docs">
      <h2>{op.name}</h2>
      <Markdown text={op.summary} />
      {op.formula && <Formula formula={op.formula} />}
      <Markdown text={op.documentation} />
      <Pins title={t.inputs} pins={op.inputs} />
      <Pins title={t.outputs} pins={op.outputs} />
      {op.attrs.length > 0 && (
        <>
          <h3>{t.attributes}</h3>
          <table>
            <tbody>
              {op.attrs.map((attr) => (
                <tr key={attr.name}>
                  <th scope="row" className="mono">
                    {attr.name}
                  </th>
                  <td>
                    {attr.about}
                    {attr.options.length > 0 && <span className="soft"> {attr.options.join(", ")}.</span>}
                    {attr.default !== undefined && (
                      <span className="soft">
                        {" "}
                        {t.otherwise} <code>{JSON.stringify(attr.default)}</code>
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      {op.differences.length > 0 && <h3>{t.differences}</h3>}
      {op.differences.map((difference) => (
        <div className="difference" key={difference.topic}>
          <strong>{difference.topic}</strong>
          <p>
            <b>TensorFlow:</b> {difference.tensorflow}
          </p>
          <p>
            <b>backblocks:</b> {difference.ours}
          </p>
          {difference.agree && <p className="soft">{difference.agree}</p>}
        </div>
      ))}
      {op.cases.length > 0 && <h3>{t.workedCases}</h3>}
      {op.cases.map((worked) => (
        <p key={worked.about}>
          {worked.about}{" "}
          <button type="button" className="button" onClick={() => ui.openDocument(worked.page)}>
            {t.openAsPage}
          </button>
        </p>
      ))}
    </article>
  );
}

/** A formula, with conditions on lines of their own. */
export function Formula({ formula }: { formula: string }): ReactElement {
  const lines = formula.replaceAll("\n    ", " ").split("\n");
  return (
    <div className="formula mono">
      {lines.map((line) => (
        <div key={line} className={/^(where|with) /.test(line) ? "soft" : undefined}>
          {line}
        </div>
      ))}
    </div>
  );
}

function Pins({ title, pins }: { title: string; pins: readonly PinInfo[] }): ReactElement | null {
  const t = useStrings();
  const core = useCoreStrings();
  if (pins.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <table>
        <tbody>
          {pins.map((pin) => (
            <tr key={pin.name}>
              <th scope="row" className="mono">
                {pin.name}
              </th>
              <td>
                <span className="soft">
                  {[
                    t.counts[pin.count],
                    pin.dtypes.length > 3 ? dtypesText(pin.dtypes, core) : pin.dtypes.join(", "),
                    pin.ranks && t.axesCount(pin.ranks.join(", ")),
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
