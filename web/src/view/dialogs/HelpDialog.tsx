import type { ReactElement } from "react";
import { type CommandGroup, commands } from "../../state/commands.ts";
import { chordText } from "../../state/keybindings.ts";
import { useCoreStrings, useInspectorStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

const GROUPS: CommandGroup[] = ["edit", "select", "arrange", "run", "page", "view"];

export function HelpDialog(): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const inspector = useInspectorStrings();
  const all = [...commands.values()];
  return (
    <Dialog title={t.keys} wide onClose={ui.closeDialog} actions={<CloseButton />}>
      <div className="keys-table">
        <KeyList title={t.onCanvas} list={t.canvasKeys} />
        <KeyList title={inspector.inspector} list={inspector.keys} />
        {GROUPS.map((group) => (
          <section key={group}>
            <h3>{t.commandGroups[group]}</h3>
            {all
              .filter((command) => command.group === group && command.keys.length > 0)
              .map(({ id, keys }) => (
                <div key={id}>
                  <span>{core.commands[id]}</span>
                  <span>
                    {keys.slice(0, 2).map((each) => (
                      <kbd key={each}>{chordText(each)}</kbd>
                    ))}
                  </span>
                </div>
              ))}
          </section>
        ))}
      </div>
    </Dialog>
  );
}

function KeyList({ title, list }: { title: string; list: readonly (readonly string[])[] }): ReactElement {
  return (
    <section>
      <h3>{title}</h3>
      {list.map(([keys, what]) => (
        <div key={keys}>
          <span>{what}</span>
          <kbd>{keys}</kbd>
        </div>
      ))}
    </section>
  );
}
