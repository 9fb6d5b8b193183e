import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { localizedText, localizedTitle } from "../../../model/document.ts";
import type { Graph } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { useSettings } from "../../settings.ts";
import { useStrings } from "../../strings.ts";
import { asNames, asText, ValidatedField } from "../../widgets/ValidatedField.tsx";
import { Section } from "./Section.tsx";

export function NoteProperties({ graph, name }: { graph: Graph; name: string }): ReactElement {
  const t = useStrings();
  const language = useSettings((settings) => settings.language);
  const note = graph.document.notes?.[name];
  const text = localizedText(language, note?.text, note?.texts);
  return (
    <Section title={t.note}>
      <textarea
        className="field"
        rows={12}
        aria-label={t.noteText}
        key={text}
        defaultValue={text}
        onBlur={(event) => {
          if (event.target.value !== text)
            dispatch(actions.setNote(graph.document, name, event.target.value, language));
        }}
      />
    </Section>
  );
}

export function FrameProperties({ graph, name }: { graph: Graph; name: string }): ReactElement {
  const t = useStrings();
  const language = useSettings((settings) => settings.language);
  const frame = graph.document.frames?.[name];
  return (
    <Section title={t.frame}>
      <div className="rows">
        <span className="label">{t.title}</span>
        <ValidatedField
          label={t.title}
          value={localizedTitle(language, frame, "")}
          {...asText}
          onChange={(title) => dispatch(actions.setFrame(graph.document, name, { title }, language))}
        />
        <span className="label">{t.blocks}</span>
        <ValidatedField<readonly string[]>
          label={t.blocks}
          value={frame?.blocks ?? []}
          {...asNames((each) => (graph.blocks.has(each) ? undefined : t.noSuchBlock(each)))}
          onChange={(blocks) => dispatch(actions.setFrame(graph.document, name, { blocks }))}
        />
      </div>
    </Section>
  );
}
