import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { inLanguage, readWire } from "../../../model/document.ts";
import type { Graph } from "../../../model/graph.ts";
import { act } from "../../page.ts";
import { useSettings } from "../../settings.ts";
import { asNames, asText, Entry } from "../../widgets/Entry.tsx";
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
          <Entry
            label={w.title}
            value={inLanguage(language, document.title, document.titles)}
            {...asText}
            onChange={(title) => act(actions.setTitle(document, "title", title, language))}
          />
          <span className="label">{w.about}</span>
          <Entry
            label={w.about}
            value={inLanguage(language, document.about, document.abouts)}
            {...asText}
            onChange={(about) => act(actions.setTitle(document, "about", about, language))}
          />
        </div>
      </Section>
      <div className="section">
        <h3>{w.howItRuns}</h3>
        <div className="rows">
          <span className="label">{w.wantedValues}</span>
          <Entry<readonly string[]>
            label={w.wantedValues}
            value={run.fetch ?? []}
            {...asNames(noBlock)}
            onChange={(fetch) => act(actions.setRun(document, { fetch }))}
          />
          <span className="label">{w.targets}</span>
          <Entry<readonly string[]>
            label={w.targets}
            value={run.targets ?? []}
            {...asNames(noBlock)}
            onChange={(targets) => act(actions.setRun(document, { targets }))}
          />
          <span className="label">{w.steps}</span>
          <Entry<number | null>
            label={w.steps}
            value={run.steps ?? null}
            format={shown}
            hint="1"
            read={wholeOrNothing(1)}
            onChange={(steps) => act(actions.setRun(document, { steps }))}
          />
          <span className="label">{w.until}</span>
          <Entry
            label={w.until}
            value={run.until ?? ""}
            hint={w.anOutput}
            {...asText}
            onChange={(until) => act(actions.setRun(document, { until }))}
          />
          <span className="label">{w.seed}</span>
          <Entry<number | null>
            label={w.seed}
            value={run.seed ?? null}
            format={shown}
            read={wholeOrNothing(0)}
            onChange={(seed) => act(actions.setRun(document, { seed }))}
          />
        </div>
      </div>
      <Ports graph={graph} />
      <div className="section small soft">{w.counted(graph.blocks.size, graph.wires.length)}</div>
    </>
  );
}
