import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { specText } from "../../../model/format.ts";
import { type Graph, specOf } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { Icon } from "../../shell/icons.tsx";
import { useCoreStrings, useStrings } from "../../strings.ts";
import { ui } from "../../ui.ts";
import { BlockLink, Section } from "./Section.tsx";

export function WireProperties({ graph, id }: { graph: Graph; id: string }): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const wire = graph.byId.get(id);
  if (wire === undefined) return <p className="empty">{t.noPage}</p>;
  const spec = specOf(graph, wire.source);
  return (
    <Section title={t.wire}>
      <div className="rows">
        <span className="label">{t.from}</span>
        <BlockLink block={wire.from.block}>{wire.source}</BlockLink>
        <span className="label">{t.to}</span>
        <BlockLink block={wire.to.block}>{wire.id}</BlockLink>
        {spec && (
          <>
            <span className="label">{t.carries}</span>
            <span className="shape-chip">{specText(spec, core)}</span>
          </>
        )}
      </div>
      <div className="constant-fill">
        <button type="button" className="button" onClick={() => ui.insertOn(id)}>
          <Icon name="plus" />
          {t.insertBlock}
        </button>
        <button
          type="button"
          className="button"
          onClick={() => dispatch(actions.disconnect(graph.document, [wire]))}
        >
          <Icon name="trash" />
          {t.removeWire}
        </button>
      </div>
    </Section>
  );
}
