import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { specText } from "../../../model/format.ts";
import { type Graph, specOf } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { Icon } from "../../shell/icons.tsx";
import { ui } from "../../ui.ts";
import { useTexts, useWords } from "../../words.ts";
import { BlockLink, Section } from "./Section.tsx";

export function WireProperties({ graph, id }: { graph: Graph; id: string }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const wire = graph.byId.get(id);
  if (wire === undefined) return <p className="empty">{w.noPage}</p>;
  const spec = specOf(graph, wire.source);
  return (
    <Section title={w.wire}>
      <div className="rows">
        <span className="label">{w.from}</span>
        <BlockLink block={wire.from.block}>{wire.source}</BlockLink>
        <span className="label">{w.to}</span>
        <BlockLink block={wire.to.block}>{wire.id}</BlockLink>
        {spec && (
          <>
            <span className="label">{w.carries}</span>
            <span className="shape-chip">{specText(spec, texts)}</span>
          </>
        )}
      </div>
      <div className="constant-fill">
        <button type="button" className="button" onClick={() => ui.insertOn(id)}>
          <Icon name="plus" />
          {w.insertBlock}
        </button>
        <button
          type="button"
          className="button"
          onClick={() => dispatch(actions.disconnect(graph.document, [wire]))}
        >
          <Icon name="trash" />
          {w.removeWire}
        </button>
      </div>
    </Section>
  );
}
