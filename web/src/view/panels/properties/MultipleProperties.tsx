import type { ReactElement } from "react";
import { namesOf } from "../../../model/action.ts";
import { useSelection } from "../../active-page.ts";
import { useCoreStrings, useStrings } from "../../strings.ts";
import { ui } from "../../ui.ts";
import { Section } from "./Section.tsx";

/** Commands on a multiple selection. */
export function MultipleProperties(): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const selection = useSelection();
  const blocks = namesOf(selection, "block");
  return (
    <Section title={t.selected(selection.size)}>
      <p className="soft small">{blocks.slice(0, 12).join(", ")}</p>
      <div className="constant-fill">
        {(
          [
            "align left",
            "align top",
            "distribute across",
            "distribute down",
            "frame",
            "extract",
            "gradients",
          ] as const
        ).map((command) => (
          <button
            key={command}
            type="button"
            className="button"
            disabled={blocks.length < 2}
            onClick={() => ui.run(command)}
          >
            {core.commands[command]}
          </button>
        ))}
      </div>
    </Section>
  );
}
