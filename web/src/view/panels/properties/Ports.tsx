import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { parseReference } from "../../../model/document.ts";
import { type Graph, keyOf, type OutputPin } from "../../../model/graph.ts";
import { PLACEHOLDER } from "../../../model/ops.ts";
import { dispatch } from "../../active-page.ts";
import { Icon } from "../../shell/icons.tsx";
import { useStrings } from "../../strings.ts";
import { BlockLink } from "./Section.tsx";

/** The ports of the page: placeholders as inputs, other pins as outputs. */
export function Ports({ graph }: { graph: Graph }): ReactElement {
  const t = useStrings();
  const views = [...graph.blocks.values()];
  const pins = (placeholders: boolean) =>
    views.filter((view) => (view.op === PLACEHOLDER) === placeholders).flatMap((view) => view.outputs);
  return (
    <div className="section">
      <h3>{t.pagePorts}</h3>
      <div className="rows">
        <span className="label">{t.portInputs}</span>
        <Side graph={graph} side="inputs" pins={pins(true)} more={t.addInput} />
        <span className="label">{t.portOutputs}</span>
        <Side graph={graph} side="outputs" pins={pins(false)} more={t.addOutput} />
      </div>
    </div>
  );
}

interface SideProps {
  graph: Graph;
  side: "inputs" | "outputs";
  /** Candidates for ports on this side. */
  pins: readonly OutputPin[];
  more: string;
}

function Side({ graph, side, pins, more }: SideProps): ReactElement {
  const t = useStrings();
  const ports = Object.entries(graph.document.ports?.[side] ?? {});
  const left = pins.filter((pin) => !ports.some(([, port]) => port.pin === keyOf(pin.ref)));
  return (
    <span>
      {ports.map(([name, { pin }]) => (
        <span className="wire-line" key={name}>
          <BlockLink block={parseReference(pin).block}>{name}</BlockLink>
          <button
            type="button"
            className="button icon plain"
            aria-label={t.clear(name)}
            title={t.clear(name)}
            onClick={() => dispatch(actions.setPort(graph.document, side, name, undefined))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <select
        className="field"
        aria-label={more}
        value=""
        disabled={left.length === 0}
        onChange={(event) => {
          const pin = left.find((each) => keyOf(each.ref) === event.target.value);
          if (pin) dispatch(actions.togglePort(graph, pin.ref));
        }}
      >
        <option value="">{more}</option>
        {left.map((pin) => (
          <option key={keyOf(pin.ref)}>{keyOf(pin.ref)}</option>
        ))}
      </select>
    </span>
  );
}
