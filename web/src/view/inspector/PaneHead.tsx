import type { MouseEvent, ReactElement, ReactNode } from "react";
import type { Arrangement } from "../../model/axis-roles.ts";
import { shortSpec } from "../../model/format.ts";
import { ML_DTYPES } from "../../model/ops.ts";
import { live } from "../../state/live.ts";
import { studio } from "../../state/store.ts";
import { Icon } from "../shell/icons.tsx";
import { useCoreStrings, useInspectorStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { asCsv, asNumpy, type Copyable, download } from "./copy-tensor.ts";
import { VIEW_MODES, type ViewMode } from "./panes.ts";
import { blockOf } from "./tensor-source.ts";

interface Props {
  what: Copyable;
  arrangement: Arrangement;
  compares: boolean;
  viewMode: ViewMode;
  /** The possible view modes, if not all. */
  viewModes: readonly ViewMode[] | undefined;
  onViewMode(viewMode: ViewMode): void;
  title: ReactNode;
  tools: ReactNode;
}

/** The header of a pane: tensor, type, view modes, tools. */
export function PaneHead({
  what,
  arrangement,
  compares,
  viewMode,
  viewModes,
  onViewMode,
  ...props
}: Props): ReactElement {
  const t = useInspectorStrings();
  const common = useStrings();
  const { explain } = useCoreStrings().commands;
  const { page, info, cells } = what;
  const { pin, dtype } = info;

  /** Announces the result of an action, or shows its error. */
  async function tell(doing: Promise<string>) {
    try {
      ui.announce(await doing);
    } catch (error) {
      studio.notice("error", (error as Error).message);
    }
  }
  async function copy(as: typeof asCsv): Promise<string> {
    const { text, whole } = await as(what, arrangement);
    await navigator.clipboard.writeText(text);
    return whole ? t.copied : t.copiedSlice;
  }
  async function save(): Promise<string> {
    await download(page, pin);
    return ML_DTYPES.includes(dtype) ? t.downloadedBytes(dtype) : t.downloaded;
  }
  function more(event: MouseEvent<HTMLElement>) {
    const { left, bottom } = event.currentTarget.getBoundingClientRect();
    ui.openMenu(t.more, { x: left, y: bottom + 4 }, [
      { id: "numpy", label: t.copyNumpy, run: () => void tell(copy(asNumpy)) },
      { id: "csv", label: t.copyCsv, run: () => void tell(copy(asCsv)) },
      {
        id: "npy",
        label: t.download,
        disabled: compares || dtype === "string",
        run: () => void tell(save()),
      },
    ]);
  }
  return (
    <header className="pane-head">
      {props.title}
      <span className="shape-chip">{shortSpec({ dtype, shape: [...info.shape] })}</span>
      {!cells && live(page).isStale(pin) && <span className="soft small">{common.stale}</span>}
      <span className="pane-tools">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms. */}
        <span className="group" role="group" aria-label={t.viewModes}>
          {VIEW_MODES.filter((each) => each !== "list" || !compares).map((each) => (
            <button
              key={each}
              type="button"
              className="button"
              aria-pressed={each === viewMode}
              disabled={viewModes !== undefined && !viewModes.includes(each)}
              onClick={() => onViewMode(each)}
            >
              {t.viewMode[each]}
            </button>
          ))}
        </span>
        {!cells && !compares && (
          <button
            type="button"
            className="button icon plain"
            aria-label={explain}
            title={explain}
            onClick={() => ui.openExplain(blockOf(pin))}
          >
            <Icon name="spot" />
          </button>
        )}
        {props.tools}
        <button
          type="button"
          className="button icon plain"
          aria-label={t.more}
          aria-haspopup="menu"
          title={t.more}
          onClick={more}
        >
          <Icon name="more" />
        </button>
      </span>
    </header>
  );
}
