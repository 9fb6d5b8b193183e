import { type KeyboardEvent, type ReactElement, type ReactNode, useEffect, useRef, useState } from "react";
import { setRun } from "../../model/actions.ts";
import { pageTitle } from "../../model/page-title.ts";
import { mainRun } from "../../model/runs.ts";
import type { CommandId } from "../../state/commands.ts";
import { commands, isEnabled } from "../../state/commands.ts";
import { chordText } from "../../state/keybindings.ts";
import { isJournaled, type PageState, studio, useStudio } from "../../state/store.ts";
import type { RunsStrings } from "../../text/runs.en.ts";
import { dispatch, usePage } from "../active-page.ts";
import { formatDuration } from "../canvas/thumbnails.ts";
import { commandItems } from "../context-menu.ts";
import { useSettings } from "../settings.ts";
import { useCoreStrings, useRunsStrings, useStrings } from "../strings.ts";
import { ui, useUi } from "../ui.ts";
import { Icon, type IconName } from "./icons.tsx";

export function TopBar(): ReactElement {
  const t = useStrings();
  const { save } = useCoreStrings().commands;
  const page = usePage<PageState | null>((each) => each, null);
  return (
    <header className="topbar">
      <button
        type="button"
        className="button plain brand"
        onClick={() => ui.run("gallery")}
        title={t.toGallery}
      >
        <img src="./icon.svg" alt="" />
        <span>backblocks</span>
      </button>
      <MainMenu />
      <PageTabs />
      {page && (
        <>
          <RunGroup page={page} />
          <div className="divider" />
          <div className="group">
            <CommandButton id="undo" icon="undo" />
            <CommandButton id="redo" icon="redo" />
          </div>
          <SaveState page={page} />
          <CommandButton id="save" icon="save" label={save} />
        </>
      )}
    </header>
  );
}

/** The button of a command, with its name or label and keybinding as tooltip. */
export function CommandButton({
  id,
  icon,
  label,
  main,
}: {
  id: CommandId;
  icon: IconName;
  label?: string;
  main?: boolean;
}): ReactElement {
  const core = useCoreStrings();
  // Rendered again when a page changes, since that may enable or disable the command.
  useStudio((state) => state.pages);
  const keys = commands.get(id)?.keys[0];
  const name = label ?? core.commands[id];
  return (
    <button
      type="button"
      className={["button", label ? "" : "icon", main ? "main" : ""].filter(Boolean).join(" ")}
      aria-label={name}
      title={keys === undefined ? name : `${name} (${chordText(keys)})`}
      disabled={!isEnabled(id)}
      onClick={() => ui.run(id)}
    >
      <Icon name={icon} />
      {label && <span className="label">{label}</span>}
    </button>
  );
}

function MainMenu(): ReactElement {
  const t = useStrings();
  const open = useUi((state) => state.menu?.label === t.mainMenu);
  return (
    <button
      type="button"
      className="button plain icon"
      aria-haspopup="menu"
      aria-expanded={open}
      aria-label={t.mainMenu}
      title={t.mainMenu}
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const items = commandItems([
          "new",
          "open",
          "gallery",
          "line",
          "save",
          "save as",
          "revert",
          "versions",
          "line",
          "export",
          "use page",
          "line",
          "palette",
          "find",
          "settings",
          "help",
          "line",
          "close",
          "reopen",
        ]);
        const about = { id: "about", label: t.aboutStudio, run: () => ui.openDialog({ kind: "about" }) };
        ui.openMenu(t.mainMenu, { x: box.left, y: box.bottom + 4 }, [...items, about]);
      }}
    >
      <Icon name="menu" />
    </button>
  );
}

function titleOf(page: PageState, untitled: string): string {
  const { language } = useSettings.getState();
  const { title } = page.document;
  const file = page.path.replace(/\.page\.json$/, "").replace(/^.*\//, "");
  return (title ? "" : file) || pageTitle(page.document, language) || untitled;
}

function PageTabs(): ReactElement {
  const t = useStrings();
  const tabs = useStudio((state) => state.tabs);
  const pages = useStudio((state) => state.pages);
  const active = useStudio((state) => state.active);
  const gallery = useUi((state) => state.gallery);
  function key(event: KeyboardEvent, place: number) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Delete") studio.close(tabs[place] as number);
    if (step === undefined) return;
    const now = tabs[place] as number;
    const next = event.shiftKey ? now : (tabs[(place + step + tabs.length) % tabs.length] as number);
    if (event.shiftKey) studio.moveTabTo(now, Math.max(0, place + step));
    else studio.activate(next);
    requestAnimationFrame(() => document.getElementById(`page-tab-${next}`)?.focus());
  }
  return (
    <nav className="page-tabs" aria-label={t.pages}>
      {tabs.map((number, place) => {
        const page = pages[number];
        if (page === undefined) return null;
        const current = number === active && !gallery;
        return (
          <PageTab
            key={number}
            number={number}
            page={page}
            current={current}
            tabIndex={current || (place === 0 && gallery) ? 0 : -1}
            onTake={(other) => studio.moveTabTo(other, place)}
            onKeyDown={(event) => key(event, place)}
          />
        );
      })}
    </nav>
  );
}

interface PageTabProps {
  number: number;
  page: PageState;
  current: boolean;
  tabIndex: number;
  /** Receives the number of a dropped tab. */
  onTake(other: number): void;
  onKeyDown(event: KeyboardEvent): void;
}

/**
 * Keeps the current tab visible when the bar or the tab is resized. If the user has scrolled it away it stays so: else
 * tabs would move below the pointer, and below a dragged tab.
 */
function keepTabVisible(tab: HTMLElement): () => void {
  const bar = tab.parentElement as HTMLElement;
  const sizes = () => `${tab.getBoundingClientRect().width} ${bar.clientWidth}`;
  const outOfSight = () => {
    const [inner, outer] = [tab.getBoundingClientRect(), bar.getBoundingClientRect()];
    return inner.left < outer.left - 1 || inner.right > outer.right + 1;
  };
  let seen = "";
  let place = 0;
  let away = false;
  const scrolled = () => {
    // While sizes are changing it is unknown whether they or the user moved the tab out of view. At the offset that was
    // set here it was not the user, though a wide tab may be clipped there.
    if (sizes() === seen) away = bar.scrollLeft !== place && outOfSight();
  };
  const resized = new ResizeObserver(() => {
    away &&= outOfSight();
    if (!away) {
      tab.scrollIntoView({ block: "nearest", inline: "nearest" });
      place = bar.scrollLeft;
    }
    seen = sizes();
  });
  for (const each of [tab, bar]) resized.observe(each);
  bar.addEventListener("scroll", scrolled);
  return () => {
    resized.disconnect();
    bar.removeEventListener("scroll", scrolled);
  };
}

const TAB_DRAG_TYPE = "application/x-backblocks-tab";

function PageTab({ number, page, current, tabIndex, onTake, onKeyDown }: PageTabProps): ReactElement {
  const t = useStrings();
  const box = useRef<HTMLDivElement>(null);
  const title = titleOf(page, t.untitled);
  useEffect(() => {
    if (current && box.current) return keepTabVisible(box.current);
  }, [current]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Shift with the arrows does the same at its button.
    <div
      ref={box}
      className={current ? "page-tab current" : "page-tab"}
      draggable
      onDragStart={(event) => event.dataTransfer.setData(TAB_DRAG_TYPE, String(number))}
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes(TAB_DRAG_TYPE)) event.preventDefault();
      }}
      onDrop={(event) => onTake(Number(event.dataTransfer.getData(TAB_DRAG_TYPE)))}
    >
      <button
        type="button"
        id={`page-tab-${number}`}
        aria-current={current ? "page" : undefined}
        tabIndex={tabIndex}
        title={`${title}\n${page.path || t.notSavedYet}`}
        onClick={() => {
          studio.activate(number);
          ui.showGallery(false);
        }}
        onKeyDown={onKeyDown}
      >
        <span>{title}</span>
        {page.dirty && " •"}
      </button>
      <button
        type="button"
        className="close"
        tabIndex={-1}
        aria-label={t.closePage(title)}
        title={t.closePage(title)}
        onClick={() => studio.close(number)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

/** The label of the run button: what it does. */
function runLabel({ document }: PageState, t: RunsStrings): string {
  const { mode, steps } = mainRun(document);
  if (mode === "until") return t.runLabels.until(document.run?.until ?? "");
  return mode === "steps" ? t.runLabels.steps(steps ?? 1) : t.runLabels.once;
}

function RunGroup({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const runs = useRunsStrings();
  const { state } = page.run;
  const busy = state === "running" || state === "starting";
  const steps = page.document.run?.steps ?? null;
  return (
    <>
      <RunState page={page} />
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms. */}
      <div className="group" role="group" aria-label={t.running}>
        {busy || state === "paused" ? (
          <>
            <CommandButton id="pause" icon={state === "paused" ? "play" : "pause"} />
            <CommandButton id="step" icon="step" />
            <CommandButton id="stop" icon="stop" />
          </>
        ) : (
          <>
            <CommandButton id="run" icon="play" label={runLabel(page, runs)} main />
            <button
              type="button"
              className="button icon"
              aria-haspopup="menu"
              aria-label={t.runOptions}
              title={t.runOptions}
              onClick={(event) => {
                const box = event.currentTarget.getBoundingClientRect();
                ui.openMenu(
                  t.runOptions,
                  { x: box.left - 120, y: box.bottom + 4 },
                  commandItems(["run here", "run freely", "line", "snapshot", "reset"]),
                );
              }}
            >
              <Icon name="down" />
            </button>
            <input
              className="field steps-field"
              aria-label={t.stepsToRun}
              title={t.stepsToRun}
              inputMode="numeric"
              key={steps}
              defaultValue={steps ?? ""}
              placeholder="1"
              onKeyDown={(event) => {
                if (event.key !== "Enter") return;
                event.currentTarget.blur();
                ui.run("run");
              }}
              onBlur={(event) => {
                const text = event.target.value.trim();
                const number = Number(text);
                if (text !== "" && !(Number.isInteger(number) && number > 0))
                  event.target.value = String(steps ?? "");
                else if ((text === "" ? null : number) !== steps)
                  dispatch(setRun(page.document, { steps: text === "" ? null : number }));
              }}
            />
            <CommandButton id="step" icon="step" />
          </>
        )}
        <CommandButton id="reset" icon="reset" />
      </div>
    </>
  );
}

function RunState({ page: { run, problems } }: { page: PageState }): ReactElement {
  const t = useStrings();
  const runs = useRunsStrings();
  const { ran = 0, of = 0 } = run;
  const failed = run.problem !== null && run.problem !== undefined;
  const incomplete = run.state === "idle" && ran < of && !run.stopped && (run.problems ?? 0) > 0;
  const parts = [
    incomplete
      ? ""
      : failed
        ? t.failed
        : run.stopped
          ? t.stopped
          : run.state === "idle" && (run.executed ?? 0) + (run.cached ?? 0) > 0
            ? t.finished
            : t.runStates[run.state],
    run.state !== "idle" || (run.step ?? 0) > 1 ? t.atStep(run.step ?? 0, run.steps ?? null) : "",
    (run.seconds ?? 0) > 0 ? formatDuration(run.seconds ?? 0) : "",
  ];
  const counts =
    (run.executed ?? 0) + (run.cached ?? 0) > 0 ? t.executed(run.executed ?? 0, run.cached ?? 0) : "";
  return (
    <div className={failed || incomplete ? "run-state failed" : "run-state"} role="status">
      <span>
        {incomplete && (
          <>
            <ToProblem count={problems.length}>{runs.blocksRan(ran, of, run.problems ?? 0)}</ToProblem>
            <br />
          </>
        )}
        {parts.filter((part) => part !== "").join(" · ")}
        {!incomplete && (
          <>
            <br />
            {problems.length > 0 && (failed || counts === "") ? (
              <ToProblem count={problems.length}>{t.problemCount(problems.length)}</ToProblem>
            ) : (
              counts
            )}
          </>
        )}
      </span>
    </div>
  );
}

/** A text about problems; a click goes to the next one. */
function ToProblem({ count, children }: { count: number; children: ReactNode }): ReactElement {
  const keys = commands.get("next problem")?.keys[0] ?? "";
  const name = useCoreStrings().commands["next problem"];
  if (count === 0) return <>{children}</>;
  return (
    <button
      type="button"
      className="link"
      title={`${name} (${chordText(keys)})`}
      onClick={() => ui.run("next problem")}
    >
      {children}
    </button>
  );
}

function SaveState({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const { dirty } = page;
  const safe = isJournaled(page);
  const revision = page.synced.revision + page.synced.pending.length;
  const [since, setSince] = useState(Date.now());
  const [now, setNow] = useState(Date.now());
  // biome-ignore lint/correctness/useExhaustiveDependencies: the moment at which the last change was kept.
  useEffect(() => {
    if (safe) setSince(Date.now());
  }, [safe, revision]);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  const kept = page.path === "" ? t.notSavedYet : t.saved;
  return <span className="save-state">{!dirty ? kept : safe ? t.draftSaved(seconds) : t.savingDraft}</span>;
}
