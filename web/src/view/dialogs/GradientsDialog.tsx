import { type ReactElement, useState } from "react";
import { addGradients, differentiable } from "../../model/actions.ts";
import type { OutputRef } from "../../model/document.ts";
import { keyOf } from "../../model/graph.ts";
import type { PageState } from "../../state/store.ts";
import { dispatch } from "../active-page.ts";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

export function GradientsDialog({ page, ys }: { page: PageState; ys: OutputRef[] }): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const outputs = differentiable(page.graph, ys);
  // A single candidate is preselected.
  const only = outputs.length === 1 ? outputs.map((pin) => keyOf(pin.ref)) : [];
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(only));
  const make = () => {
    dispatch(
      addGradients(
        page.graph,
        ys,
        outputs.filter((pin) => chosen.has(keyOf(pin.ref))).map((pin) => pin.ref),
      ),
    );
    ui.closeDialog();
  };
  return (
    <Dialog
      title={core.commands.gradients}
      onClose={ui.closeDialog}
      actions={
        <>
          <CloseButton />
          <button type="button" className="button main" disabled={chosen.size === 0} onClick={make}>
            {t.add}
          </button>
        </>
      }
    >
      <p>
        {t.gradientsOf} <span className="mono">{ys.map(keyOf).join(", ")}</span> {t.withRespectTo}
      </p>
      {outputs.length === 0 && <p className="empty">{t.nothingDifferentiable}</p>}
      <div className="choice-list">
        {outputs.map((pin) => {
          const key = keyOf(pin.ref);
          return (
            <label key={key} className="wire-line section">
              <input
                type="checkbox"
                className="check"
                checked={chosen.has(key)}
                onChange={() => {
                  const next = new Set(chosen);
                  if (!next.delete(key)) next.add(key);
                  setChosen(next);
                }}
              />
              <span className="mono">{key}</span>
            </label>
          );
        })}
      </div>
    </Dialog>
  );
}
