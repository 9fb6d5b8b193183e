import { type ReactElement, useEffect, useRef, useSyncExternalStore } from "react";
import { live } from "../../state/live.ts";
import { useStrings } from "../strings.ts";
import { BlockLink } from "./properties/Section.tsx";

/** The console: lines that blocks such as Print wrote in the last run. */
export function Console({ page }: { page: number }): ReactElement {
  const t = useStrings();
  const end = useRef<HTMLLIElement>(null);
  const lines = useSyncExternalStore(
    (changed) => live(page).onConsole(changed),
    () => live(page).consoleLines,
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest line is shown whenever there is one.
  useEffect(() => {
    // In braces: some browsers return a promise here, which is not a clean-up function.
    end.current?.scrollIntoView({ block: "nearest" });
  }, [lines]);
  if (lines.length === 0) return <p className="empty">{t.consoleEmpty}</p>;
  return (
    <ul className="console" role="log">
      {lines.map(({ block, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are known by their index.
        <li key={index} ref={index === lines.length - 1 ? end : null}>
          <BlockLink block={block}>{block}</BlockLink>
          <span className="mono">{text}</span>
        </li>
      ))}
    </ul>
  );
}
