import { type ReactElement, useEffect, useState } from "react";
import { connect } from "../../model/actions.ts";
import { candidateInputs, candidateOutputs } from "../../model/connections.ts";
import { reasonText, specText } from "../../model/format.ts";
import { BLOCK_WIDTH, COLUMN_GAP } from "../../model/geometry.ts";
import { type Graph, keyOf, specOf } from "../../model/graph.ts";
import type { PageState } from "../../state/store.ts";
import { dispatch } from "../active-page.ts";
import type { WireEnd } from "../canvas/pointer-host.ts";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { Dialog } from "./Dialog.tsx";
import { ListBox, type ListBoxItem } from "./ListBox.tsx";

/** Connects pins by keyboard: first a pin of this block, then a compatible one. */
export function ConnectDialog({
  page,
  block,
  end,
}: {
  page: PageState;
  block: string;
  end: WireEnd | null;
}): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const { graph } = page;
  const view = graph.blocks.get(block);
  const only: WireEnd | null =
    end ??
    (view?.inputs.length === 0 && view.outputs.length === 1 && view.outputs[0]
      ? { from: view.outputs[0].ref }
      : null);
  const [chosen, setChosen] = useState<WireEnd | null>(only);
  const fitting = chosen === null || hasCandidate(graph, chosen);
  // With nothing to connect to, a block that fits can be added.
  useEffect(() => {
    if (!fitting && chosen !== null) addFitting(page, chosen);
  }, [fitting, chosen, page]);
  const close = (
    <button type="button" className="button" onClick={ui.closeDialog}>
      {t.cancel}
    </button>
  );
  if (view === undefined || !fitting) return <span />;
  if (chosen === null) {
    const inputs = view.inputs.map((pin) => ({
      id: `<${pin.key}`,
      name: `→ ${pin.key}`,
      detail: typeof pin.value === "string" ? pin.value : t.pinStates[pin.state],
      missing: pin.state === "missing",
    }));
    const choices: ListBoxItem[] = [
      ...inputs.filter((input) => input.missing),
      ...view.outputs.map((pin) => {
        const spec = specOf(graph, keyOf(pin.ref));
        return { id: `>${pin.key}`, name: `${pin.key} →`, detail: spec ? specText(spec, core) : "" };
      }),
      ...inputs.filter((input) => !input.missing),
    ];
    return (
      <Dialog title={t.connectBlock(block)} onClose={ui.closeDialog} actions={close}>
        <ListBox
          label={t.connectBlock(block)}
          choices={choices}
          onChoose={(id) => {
            const output = view.outputs.find((pin) => `>${pin.key}` === id);
            const input = view.inputs.find((pin) => `<${pin.key}` === id);
            if (output) setChosen({ from: output.ref });
            else if (input) setChosen({ to: input.ref });
          }}
        />
      </Dialog>
    );
  }
  const title =
    "from" in chosen
      ? t.connectPin(keyOf(chosen.from))
      : t.connectInput(`${chosen.to.block}.${chosen.to.pin}`);
  const join = (other: WireEnd) => {
    const ends = { ...chosen, ...other };
    if ("from" in ends && "to" in ends) dispatch(connect(page.document, ends.from, ends.to));
    ui.closeDialog();
  };
  const choices =
    "from" in chosen
      ? candidateInputs(graph, chosen.from).map(({ what, reason }) => ({
          id: `${what.ref.block}:${what.key}`,
          name: `${what.ref.block}.${what.key}`,
          detail: typeof what.value === "string" ? what.value : t.pinStates[what.state],
          why: reason && reasonText(reason, core),
          end: { to: what.ref } as WireEnd,
        }))
      : candidateOutputs(graph, chosen.to).map(({ what, reason }) => {
          const spec = specOf(graph, keyOf(what.ref));
          return {
            id: keyOf(what.ref),
            name: keyOf(what.ref),
            detail: spec ? specText(spec, core) : "",
            why: reason && reasonText(reason, core),
            end: { from: what.ref } as WireEnd,
          };
        });
  return (
    <Dialog title={title} onClose={ui.closeDialog} actions={close}>
      <ListBox
        key={title}
        label={title}
        choices={[...choices, { id: ADD, name: t.addFitting }]}
        onChoose={(id) => {
          const other = choices.find((choice) => choice.id === id);
          if (other) join(other.end);
          else addFitting(page, chosen);
        }}
      />
    </Dialog>
  );
}

/** The id of the choice to add a block; no pin has it. */
const ADD = "+";

function hasCandidate(graph: Graph, end: WireEnd): boolean {
  const found = "from" in end ? candidateInputs(graph, end.from) : candidateOutputs(graph, end.to);
  return found.some(({ reason }) => reason === undefined);
}

/** Searches for a block to add beside the pin, and to connect with it. */
function addFitting(page: PageState, end: WireEnd): void {
  const rect = page.places.get("from" in end ? end.from.block : end.to.block);
  const { x, y, width } = rect ?? { x: 0, y: 0, width: 0 };
  const beside = "from" in end ? x + width + COLUMN_GAP : x - COLUMN_GAP - BLOCK_WIDTH;
  const free = ui.findFreeRect({ x: beside, y }, { width: BLOCK_WIDTH, height: NEW_BLOCK_HEIGHT });
  ui.closeDialog();
  // The search takes the corner that a dragged wire would end at.
  ui.openSearch({ end, place: { x: "from" in end ? free.x : free.x + BLOCK_WIDTH, y: free.y + 39 } });
}

const NEW_BLOCK_HEIGHT = 160;
