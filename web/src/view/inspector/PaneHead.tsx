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
  way: ViewMode;
  /** Those that it can be shown in, if not in all. */
  ways: readonly ViewMode[] | undefined;
  onWay(way: ViewMode): void;
  title: ReactNode;
  tools: ReactNode;
}

/** Which tensor a pane shows, how, and what can be done with it. */
export function PaneHead({ what, arrangement, compares, way, ways, onWay, ...props }: Props): ReactElement {
  const t = useInspectorStrings();
  const common = useStrings();
  const { explain } = useCoreStrings().commands;
  const { page, info, cells } = what;
  const { pin, dtype } = info;

  /** Does what may fail, and says it. */
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
              aria-pressed={each === way}
              disabled={ways !== undefined && !ways.includes(each)}
              onClick={() => onWay(each)}
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
