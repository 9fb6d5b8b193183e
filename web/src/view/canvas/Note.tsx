import type { Node, NodeProps } from "@xyflow/react";
import { memo, type ReactElement } from "react";
import { Markdown } from "../lazy.tsx";
import { useStrings } from "../strings.ts";

export interface NoteData extends Record<string, unknown> {
  name: string;
  text: string;
  selected: boolean;
  /** Whether it is being edited. */
  editing: boolean;
  onText(text: string): void;
  onDone(): void;
}

export type NoteNode = Node<NoteData, "note">;

export const Note = memo(function Note({ data }: NodeProps<NoteNode>): ReactElement {
  const t = useStrings();
  if (data.editing)
    return (
      <div className="note selected nowheel">
        <textarea
          className="nodrag"
          aria-label={t.noteText}
          defaultValue={data.text}
          // biome-ignore lint/a11y/noAutofocus: the user has just asked to write here.
          autoFocus
          onFocus={(event) => {
            if (event.target.value === t.newNote) event.target.select();
          }}
          onBlur={(event) => {
            if (event.target.value !== data.text) data.onText(event.target.value);
            data.onDone();
          }}
          onKeyDown={(event) => {
            if (event.key === "Escape" || (event.key === "Enter" && event.ctrlKey))
              event.currentTarget.blur();
          }}
        />
      </div>
    );
  return (
    <div className={data.selected ? "note selected nowheel" : "note nowheel"}>
      <Markdown text={data.text} />
      <span className="resize-corner" aria-hidden="true" />
    </div>
  );
});
