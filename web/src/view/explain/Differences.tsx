import type { ReactElement } from "react";
import { useOps } from "../page.ts";
import { useExplainWords } from "./words.ts";

/** Where ops do not do what TensorFlow's kernels for CPUs do, as they say themselves. */
export function Differences({ ops: names }: { ops: readonly string[] }): ReactElement | null {
  const w = useExplainWords();
  const ops = useOps();
  const found = names.flatMap((op) => ops.get(op)?.differences.map((each) => ({ op, ...each })) ?? []);
  if (found.length === 0) return null;
  return (
    <section className="explain-made">
      <h3>{w.differences}</h3>
      {found.map(({ op, topic, tensorflow, ours, agree }) => (
        <details className="difference" key={`${op} ${topic}`}>
          <summary>
            <b>{op}</b> {topic}
          </summary>
          <p>
            <b>TensorFlow:</b> {tensorflow}
          </p>
          <p>
            <b>backblocks:</b> {ours}
          </p>
          {agree && <p className="soft">{agree}</p>}
        </details>
      ))}
    </section>
  );
}
