import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { readWire } from "../../../model/document.ts";
import { type Graph, keyOf, type OutputPin } from "../../../model/graph.ts";
import { PLACEHOLDER } from "../../../model/ops.ts";
import { dispatch } from "../../active-page.ts";
import { Icon } from "../../shell/icons.tsx";
import { useWords } from "../../words.ts";
import { BlockLink } from "./Section.tsx";

/** The pins that the page has when it is used as a block: placeholders it takes, outputs it gives. */
export function Ports({ graph }: { graph: Graph }): ReactElement {
  const w = useWords();
  const views = [...graph.blocks.values()];
  const pins = (placeholders: boolean) =>
    views.filter((view) => (view.op === PLACEHOLDER) === placeholders).flatMap((view) => view.outputs);
  return (
    <div className="section">
      <h3>{w.asABlock}</h3>
      <div className="rows">
        <span className="label">{w.takes}</span>
        <Side graph={graph} side="inputs" pins={pins(true)} more={w.oneMoreInput} />
        <span className="label">{w.gives}</span>
        <Side graph={graph} side="outputs" pins={pins(false)} more={w.oneMoreOutput} />
      </div>
    </div>
  );
}

interface SideProps {
  graph: Graph;
  side: "inputs" | "outputs";
  /** What can be a port on this side. */
  pins: readonly OutputPin[];
  more: string;
}

function Side({ graph, side, pins, more }: SideProps): ReactElement {
  const w = useWords();
  const ports = Object.entries(graph.document.ports?.[side] ?? {});
  const left = pins.filter((pin) => !ports.some(([, port]) => port.pin === keyOf(pin.ref)));
  return (
    <span>
      {ports.map(([name, { pin }]) => (
        <span className="wire-line" key={name}>
          <BlockLink block={readWire(pin).block}>{name}</BlockLink>
          <button
            type="button"
            className="button icon plain"
            aria-label={w.clear(name)}
            title={w.clear(name)}
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
