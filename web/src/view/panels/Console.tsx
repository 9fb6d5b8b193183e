import { type ReactElement, useEffect, useRef, useSyncExternalStore } from "react";
import { live } from "../../state/live.ts";
import { useStrings } from "../strings.ts";
import { BlockLink } from "./properties/Section.tsx";

/** The console: lines that blocks such as Print wrote in the last run. */
export function Console({ page }: { page: number }): ReactElement {
  const t = useStrings();
  const end = useRef<HTMLLIElement>(null);
  const said = useSyncExternalStore(
    (changed) => live(page).onConsole(changed),
    () => live(page).consoleLines,
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the newest line is shown whenever there is one.
  useEffect(() => {
    // In braces: some browsers return a promise here, which is not a clean-up function.
    end.current?.scrollIntoView({ block: "nearest" });
  }, [said]);
  if (said.length === 0) return <p className="empty">{t.consoleEmpty}</p>;
  return (
    <ul className="console" role="log">
      {said.map(({ block, text }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are known by their place.
        <li key={place} ref={place === said.length - 1 ? end : null}>
          <BlockLink block={block}>{block}</BlockLink>
          <span className="mono">{text}</span>
        </li>
      ))}
    </ul>
  );
}
