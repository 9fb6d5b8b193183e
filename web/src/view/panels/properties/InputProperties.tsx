import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { parseReference } from "../../../model/document.ts";
import { shortSpec } from "../../../model/format.ts";
import { type Graph, type InputPin, specOf } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { Icon } from "../../shell/icons.tsx";
import { useStrings } from "../../strings.ts";
import { ui } from "../../ui.ts";
import { ConstantEditor } from "../../widgets/ConstantEditor.tsx";
import { BlockLink } from "./Section.tsx";

/** The properties of an input: its wire, its constant, or neither. */
export function InputProperties({ graph, pin }: { graph: Graph; pin: InputPin }): ReactElement {
  const t = useStrings();
  const { document } = graph;
  const wire = typeof pin.value === "string" ? parseReference(pin.value) : undefined;
  const spec =
    typeof pin.value === "string"
      ? specOf(graph, graph.byId.get(`${pin.ref.block}:${pin.key}`)?.source ?? pin.value)
      : undefined;
  return (
    <>
      <span className="label">{pin.key}</span>
      <span data-field={pin.key}>
        {wire !== undefined ? (
          <span className="wire-line">
            <BlockLink block={wire.block}>{String(pin.value)}</BlockLink>
            {spec && <span className="shape-chip">{shortSpec(spec)}</span>}
            <button
              type="button"
              className="button icon plain"
              aria-label={t.disconnect(pin.key)}
              title={t.disconnect(pin.key)}
              onClick={() => dispatch(actions.setInput(document, pin.ref, undefined))}
            >
              <Icon name="close" />
            </button>
          </span>
        ) : (
          <>
            {pin.state === "constant" && !pin.more && (
              <ConstantEditor
                label={pin.key}
                free
                value={pin.value}
                onChange={(value) => dispatch(actions.setInput(document, pin.ref, value))}
              />
            )}
            <span className="wire-line">
              {pin.state !== "constant" && !pin.more && (
                <button
                  type="button"
                  className="button"
                  onClick={() => dispatch(actions.setInput(document, pin.ref, 0))}
                >
                  {t.typeConstant}
                </button>
              )}
              <button type="button" className="button" onClick={() => ui.connectTo(pin.ref)}>
                {t.connect}
              </button>
              {pin.state === "constant" && (
                <button
                  type="button"
                  className="button"
                  onClick={() => dispatch(actions.constantToBlock(graph, pin.ref))}
                >
                  {t.makeBlock}
                </button>
              )}
              {pin.state === "constant" && (
                <button
                  type="button"
                  className="button icon plain"
                  aria-label={t.clear(pin.key)}
                  title={t.clear(pin.key)}
                  onClick={() => dispatch(actions.setInput(document, pin.ref, undefined))}
                >
                  <Icon name="close" />
                </button>
              )}
            </span>
          </>
        )}
      </span>
    </>
  );
}
