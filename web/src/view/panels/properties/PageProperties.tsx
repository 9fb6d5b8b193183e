import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { localizedText, parseReference } from "../../../model/document.ts";
import type { Graph } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { useSettings } from "../../settings.ts";
import { useStrings } from "../../strings.ts";
import { asNames, asText, ValidatedField } from "../../widgets/ValidatedField.tsx";
import { Ports } from "./Ports.tsx";
import { Section } from "./Section.tsx";

export function PageProperties({ graph }: { graph: Graph }): ReactElement {
  const t = useStrings();
  const language = useSettings((settings) => settings.language);
  const { document } = graph;
  const run = document.run ?? {};
  const wholeOrNothing = (least: number) => (typed: string) => {
    if (typed.trim() === "") return { value: null };
    const number = Number(typed);
    return Number.isInteger(number) && number >= least ? { value: number } : { error: t.wholeAtLeast(least) };
  };
  const noBlock = (name: string) =>
    graph.blocks.has(parseReference(name).block) ? undefined : t.noSuchBlock(name);
  const shown = (value: number | null) => (value === null ? "" : String(value));
  return (
    <>
      <Section title={t.page}>
        <div className="rows">
          <span className="label">{t.title}</span>
          <ValidatedField
            label={t.title}
            value={localizedText(language, document.title, document.titles)}
            {...asText}
            onChange={(title) => dispatch(actions.setTitle(document, "title", title, language))}
          />
          <span className="label">{t.about}</span>
          <ValidatedField
            label={t.about}
            value={localizedText(language, document.about, document.abouts)}
            {...asText}
            onChange={(about) => dispatch(actions.setTitle(document, "about", about, language))}
          />
        </div>
      </Section>
      <div className="section">
        <h3>{t.runSettings}</h3>
        <div className="rows">
          <span className="label">{t.fetches}</span>
          <ValidatedField<readonly string[]>
            label={t.fetches}
            value={run.fetch ?? []}
            {...asNames(noBlock)}
            onChange={(fetch) => dispatch(actions.setRun(document, { fetch }))}
          />
          <span className="label">{t.targets}</span>
          <ValidatedField<readonly string[]>
            label={t.targets}
            value={run.targets ?? []}
            {...asNames(noBlock)}
            onChange={(targets) => dispatch(actions.setRun(document, { targets }))}
          />
          <span className="label">{t.steps}</span>
          <ValidatedField<number | null>
            label={t.steps}
            value={run.steps ?? null}
            format={shown}
            hint="1"
            read={wholeOrNothing(1)}
            onChange={(steps) => dispatch(actions.setRun(document, { steps }))}
          />
          <span className="label">{t.until}</span>
          <ValidatedField
            label={t.until}
            value={run.until ?? ""}
            hint={t.anOutput}
            {...asText}
            onChange={(until) => dispatch(actions.setRun(document, { until }))}
          />
          <span className="label">{t.seed}</span>
          <ValidatedField<number | null>
            label={t.seed}
            value={run.seed ?? null}
            format={shown}
            read={wholeOrNothing(0)}
            onChange={(seed) => dispatch(actions.setRun(document, { seed }))}
          />
        </div>
      </div>
      <Ports graph={graph} />
      <div className="section small soft">{t.counted(graph.blocks.size, graph.wires.length)}</div>
    </>
  );
}
