import type { ReactElement } from "react";
import { namesOf } from "../../model/action.ts";
import { useGraph, useSelection } from "../active-page.ts";
import { useStrings } from "../strings.ts";
import { BlockProperties } from "./properties/BlockProperties.tsx";
import { FrameProperties, NoteProperties } from "./properties/BoxProperties.tsx";
import { MonitorProperties } from "./properties/MonitorProperties.tsx";
import { MultipleProperties } from "./properties/MultipleProperties.tsx";
import { PageProperties } from "./properties/PageProperties.tsx";
import { WireProperties } from "./properties/WireProperties.tsx";

/** The properties panel of the selected item, of a multiple selection, or of the page. */
export function Properties(): ReactElement {
  const t = useStrings();
  const graph = useGraph();
  const selection = useSelection();
  if (graph === null) return <p className="empty">{t.noPage}</p>;
  if (selection.size === 0) return <PageProperties graph={graph} />;
  if (selection.size > 1) return <MultipleProperties />;
  const [block] = namesOf(selection, "block");
  const view = block === undefined ? undefined : graph.blocks.get(block);
  if (view) return <BlockProperties key={view.name} graph={graph} view={view} />;
  const [wire] = namesOf(selection, "wire");
  if (wire !== undefined) return <WireProperties graph={graph} id={wire} />;
  const [note] = namesOf(selection, "note");
  if (note !== undefined) return <NoteProperties graph={graph} name={note} />;
  const [frame] = namesOf(selection, "frame");
  if (frame !== undefined) return <FrameProperties graph={graph} name={frame} />;
  const [monitor] = namesOf(selection, "monitor");
  if (monitor !== undefined) return <MonitorProperties graph={graph} name={monitor} />;
  return <p className="empty">{t.noPage}</p>;
}
