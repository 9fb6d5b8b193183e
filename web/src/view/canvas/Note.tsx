import type { Node, NodeProps } from "@xyflow/react";
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { memo, type ReactElement, useMemo } from "react";
import { useWords } from "../words.ts";
import { escaped } from "./pen.ts";

export interface NoteData extends Record<string, unknown> {
  name: string;
  text: string;
  selected: boolean;
  /** Whether it is being written. */
  editing: boolean;
  onText(text: string): void;
  onDone(): void;
}

export type NoteNode = Node<NoteData, "note">;

const markdown = new Marked({ gfm: true, renderer: { html: ({ text }) => escaped(text) } });

/** Markdown as safe HTML. HTML that is written in it is shown as text. */
export function safeHtml(text: string): string {
  return safeMarkup(markdown.parse(text, { async: false }));
}

/** Markup without scripts, styles and pictures from elsewhere. */
export function safeMarkup(html: string): string {
  return DOMPurify.sanitize(html, { FORBID_TAGS: ["style", "img", "form", "input"], FORBID_ATTR: ["style"] });
}

export const Note = memo(function Note({ data }: NodeProps<NoteNode>): ReactElement {
  const w = useWords();
  const html = useMemo(() => safeHtml(data.text), [data.text]);
  if (data.editing)
    return (
      <div className="note selected nowheel">
        <textarea
          className="nodrag"
          aria-label={w.noteText}
          defaultValue={data.text}
          // biome-ignore lint/a11y/noAutofocus: the user has just asked to write here.
          autoFocus
          onBlur={(event) => {
            if (event.target.value !== data.text) data.onText(event.target.value);
            data.onDone();
          }}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === "Escape" || (event.key === "Enter" && event.ctrlKey))
              event.currentTarget.blur();
          }}
        />
      </div>
    );
  return (
    <div className={data.selected ? "note selected nowheel" : "note nowheel"}>
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: it has been through DOMPurify. */}
      <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />
      <span className="resize-corner" aria-hidden="true" />
    </div>
  );
});
