import { type ReactElement, useEffect, useState } from "react";
import { item } from "../../model/action.ts";
import { usePage, useProblems } from "../active-page.ts";
import { Icon } from "../shell/icons.tsx";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { FixButtons } from "../widgets/FixButtons.tsx";

/** The problems panel; a click reveals the block. */
export function Problems(): ReactElement {
  const t = useStrings();
  const problems = useProblems();
  if (useSlowCheck()) return <p className="empty">{t.checking}</p>;
  if (problems.length === 0) return <p className="empty">{t.noProblems}</p>;
  return (
    <ul>
      {problems.map((problem, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two problems can have the same words.
        <li key={i} className="problem-line">
          <button
            type="button"
            className="problem"
            onClick={() => problem.block && ui.reveal(item("block", problem.block), problem.arg)}
          >
            <span className="icon-bad">
              <Icon name="warning" />
            </span>
            <span className="where">
              {problem.block}
              {problem.arg ? `.${problem.arg}` : ""}
              {problem.axis !== undefined && problem.axis !== null ? ` ${t.axis(problem.axis)}` : ""}
            </span>
            <span>
              {problem.text} {problem.hint && <span className="soft">{problem.hint}</span>}
            </span>
          </button>
          <FixButtons problem={problem} />
        </li>
      ))}
    </ul>
  );
}

/** Whether the check of the last edit takes over a second, so that old problems would mislead. */
function useSlowCheck(): boolean {
  const checking = usePage((page) => page.checked?.revision !== page.synced.revision, false);
  const [long, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(checking), checking ? 1000 : 0);
    return () => clearTimeout(timer);
  }, [checking]);
  return checking && long;
}
