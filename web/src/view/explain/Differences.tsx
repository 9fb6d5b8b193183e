import { type ReactElement, useMemo } from "react";
import { affected, type Here } from "../../model/affected.ts";
import { holdingIn, lightsOf } from "../../model/explaining.ts";
import type { Graph } from "../../model/graph.ts";
import type { DifferenceInfo, Ops } from "../../model/ops.ts";
import { useOps } from "../page.ts";
import { derivedAt } from "./derived.ts";
import type { Picture } from "./picture.ts";
import { type Named, twinMade, whereIs } from "./sentence.ts";
import type { At } from "./useLights.ts";
import { useExplainWords } from "./words.ts";

/** Of the outputs that a cell leads to, so many are asked. */
const MOST_ASKED = 32;

interface Found extends DifferenceInfo {
  readonly op: string;
  /** Whether it shows at the cell, or in what it leads to; undefined if it is about which calls are taken. */
  readonly here: boolean | undefined;
}

/** Where ops do not do what TensorFlow's kernels for CPUs do: at this cell, at others, and in which calls they take. */
export function Differences({
  picture,
  graph,
  at,
}: {
  picture: Picture;
  graph: Graph;
  at: At | null;
}): ReactElement | null {
  const w = useExplainWords();
  const ops = useOps();
  const found = useMemo(() => differencesAt(picture, graph, ops, at), [picture, graph, ops, at]);
  if (found.length === 0) return null;
  const here = found.filter((each) => each.here);
  const kinds = [
    [w.differsElsewhere, found.filter((each) => each.here === false)],
    [at === null ? "" : w.differsInCalls, found.filter((each) => each.here === undefined)],
  ] as const;
  return (
    <section className="explain-made">
      <h3>{w.differences}</h3>
      {w.inEnglish && <p className="soft small">{w.inEnglish}</p>}
      {here.map((each) => (
        <Difference key={`${each.op} ${each.topic}`} difference={each} />
      ))}
      {kinds.map(([title, all]) =>
        all.length === 0 ? null : (
          <div key={title}>
            {title && <p className="soft small">{title}</p>}
            {all.map((each) => (
              <Difference key={`${each.op} ${each.topic}`} difference={each} />
            ))}
          </div>
        ),
      )}
    </section>
  );
}

function Difference({ difference }: { difference: Found }): ReactElement {
  const w = useExplainWords();
  const { op, topic, tensorflow, ours, agree, at = "", here } = difference;
  return (
    <details className={here ? "difference here" : "difference"} open={here}>
      <summary>
        {here && <span className="explain-here">{w.differsHere}</span>} <b>{op}</b> {w.topics[topic] ?? topic}
      </summary>
      {here && <p>{w.affects[at]}</p>}
      <p>
        <b>TensorFlow:</b> {tensorflow}
      </p>
      <p>
        <b>backblocks:</b> {ours}
      </p>
      {agree && <p className="soft">{agree}</p>}
    </details>
  );
}

function differencesAt(picture: Picture, graph: Graph, ops: Ops, at: At | null): Found[] {
  const outputs = at === null ? [] : outputsFor(picture, at);
  const rows = outputs.length ? outputs.map(({ row }) => row) : picture.rows;
  const seen = [...new Set(rows)];
  return seen.flatMap((row) => {
    const { op, block } = row.explained;
    if (seen.find((other) => other.explained.op === op) !== row) return [];
    const cells = outputs.filter((each) => each.row.explained.op === op);
    const places = cells.map((each) => hereAt(picture, graph, each));
    return (ops.get(op)?.differences ?? []).map((each): Found => {
      const asked = places.map((place) => affected(each.at, place));
      const here = at === null || asked.length === 0 ? undefined : asked.some(Boolean) || asked[0];
      return { op, ...each, here: block ? here : undefined };
    });
  });
}

interface OutputCell extends Named {
  readonly place: number;
}

/** The output that a cell is or stands for, or else those that it leads to. */
function outputsFor(picture: Picture, { pin, place }: At): OutputCell[] {
  const { made, taken } = whereIs(picture, pin);
  const own = made[0] ?? twinMade(picture, pin);
  if (own) return [{ ...own, place }];
  return taken.flatMap(({ row }) => {
    const lights = lightsOf([row], new Map(), picture.holding, pin, place);
    return row.explained.outputs.flatMap((name) => {
      const fed = lights.get(row.explained.tensors[name]?.pin ?? "")?.get("feeds") ?? [];
      return [...fed.slice(0, MOST_ASKED)].map((each) => ({ row, name, place: each }));
    });
  });
}

function hereAt(picture: Picture, graph: Graph, { row, name, place }: OutputCell): Here {
  const holding = holdingIn(row, picture.holding);
  const view = graph.blocks.get(row.explained.block);
  const attrs = [...(view?.rows ?? []), ...(view?.rest ?? [])];
  return {
    row,
    name,
    place,
    holding,
    derivations: derivedAt(picture, row, name, place),
    setting: (attr) => attrs.find((each) => each.name === attr)?.value,
  };
}
