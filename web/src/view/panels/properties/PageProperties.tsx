import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { inLanguage, readWire } from "../../../model/document.ts";
import type { Graph } from "../../../model/graph.ts";
import { dispatch } from "../../active-page.ts";
import { useSettings } from "../../settings.ts";
import { asNames, asText, ValidatedField } from "../../widgets/ValidatedField.tsx";
import { useWords } from "../../words.ts";
import { Ports } from "./Ports.tsx";
import { Section } from "./Section.tsx";

export function PageProperties({ graph }: { graph: Graph }): ReactElement {
  const w = useWords();
  const language = useSettings((settings) => settings.language);
  const { document } = graph;
  const run = document.run ?? {};
  const wholeOrNothing = (least: number) => (typed: string) => {
    if (typed.trim() === "") return { value: null };
    const number = Number(typed);
    return Number.isInteger(number) && number >= least ? { value: number } : { error: w.wholeAtLeast(least) };
  };
  const noBlock = (name: string) =>
    graph.blocks.has(readWire(name).block) ? undefined : w.noSuchBlock(name);
  const shown = (value: number | null) => (value === null ? "" : String(value));
  return (
    <>
      <Section title={w.page}>
        <div className="rows">
          <span className="label">{w.title}</span>
          <ValidatedField
            label={w.title}
            value={inLanguage(language, document.title, document.titles)}
            {...asText}
            onChange={(title) => dispatch(actions.setTitle(document, "title", title, language))}
          />
          <span className="label">{w.about}</span>
          <ValidatedField
            label={w.about}
            value={inLanguage(language, document.about, document.abouts)}
            {...asText}
            onChange={(about) => dispatch(actions.setTitle(document, "about", about, language))}
          />
        </div>
      </Section>
      <div className="section">
        <h3>{w.howItRuns}</h3>
        <div className="rows">
          <span className="label">{w.wantedValues}</span>
          <ValidatedField<readonly string[]>
            label={w.wantedValues}
            value={run.fetch ?? []}
            {...asNames(noBlock)}
            onChange={(fetch) => dispatch(actions.setRun(document, { fetch }))}
          />
          <span className="label">{w.targets}</span>
          <ValidatedField<readonly string[]>
            label={w.targets}
            value={run.targets ?? []}
            {...asNames(noBlock)}
            onChange={(targets) => dispatch(actions.setRun(document, { targets }))}
          />
          <span className="label">{w.steps}</span>
          <ValidatedField<number | null>
            label={w.steps}
            value={run.steps ?? null}
            format={shown}
            hint="1"
            read={wholeOrNothing(1)}
            onChange={(steps) => dispatch(actions.setRun(document, { steps }))}
          />
          <span className="label">{w.until}</span>
          <ValidatedField
            label={w.until}
            value={run.until ?? ""}
            hint={w.anOutput}
            {...asText}
            onChange={(until) => dispatch(actions.setRun(document, { until }))}
          />
          <span className="label">{w.seed}</span>
          <ValidatedField<number | null>
            label={w.seed}
            value={run.seed ?? null}
            format={shown}
            read={wholeOrNothing(0)}
            onChange={(seed) => dispatch(actions.setRun(document, { seed }))}
          />
        </div>
      </div>
      <Ports graph={graph} />
      <div className="section small soft">{w.counted(graph.blocks.size, graph.wires.length)}</div>
    </>
  );
}
