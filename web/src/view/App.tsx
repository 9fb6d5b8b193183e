import { type ReactElement, useEffect, useState } from "react";
import { copySelection } from "../state/clipboard.ts";
import { type CommandId, commands, executeCommand } from "../state/commands.ts";
import { chordText, commandFor } from "../state/keybindings.ts";
import { type PageState, studio, useStudio } from "../state/store.ts";
import { usePage } from "./active-page.ts";
import { describeWire } from "./canvas/keyboard.ts";
import { canvasRef } from "./canvas-ref.ts";
import { registerCommandHandlers } from "./commands.ts";
import { pasteData } from "./dropped.ts";
import { fieldHistory, followFieldChanges } from "./field-changes.ts";
import { LoginPage, SessionExpired, useEntry } from "./Login.tsx";
import { Dialogs, Explain, Gallery, preloadAll, Workbench } from "./lazy.tsx";
import { applySettings, updateSettings, useSettings } from "./settings.ts";
import { Icon } from "./shell/icons.tsx";
import { Menu } from "./shell/Menu.tsx";
import { TopBar } from "./shell/TopBar.tsx";
import { useCoreStrings, useStrings } from "./strings.ts";
import { ui, useUi } from "./ui.ts";

export function App(): ReactElement {
  const page = usePage<PageState | null>((each) => each, null);
  const gallery = useUi((state) => state.gallery);
  const explained = useUi((state) => state.explain);
  const entry = useEntry();
  const restoring = useStudio((state) => state.restoring);
  useEffect(registerCommandHandlers, []);
  useEffect(preloadAll, []);
  useEffect(applySettings, []);
  useEffect(followFieldChanges, []);
  useKeybindings();
  useClipboard();
  return (
    <div className="studio">
      <TopBar />
      {entry !== null && page !== null && <SessionExpired entry={entry} />}
      {page === null && entry !== null ? (
        <LoginPage entry={entry} />
      ) : page === null && restoring ? (
        <main className="workplace" />
      ) : page === null || gallery ? (
        <Gallery />
      ) : explained?.page === page.page && page.graph.blocks.has(explained.block) ? (
        <Explain key={page.page} page={page} block={explained.block} />
      ) : (
        <Workbench page={page} />
      )}
      <StatusBar />
      <Overlays />
    </div>
  );
}

function StatusBar(): ReactElement {
  const t = useStrings();
  const settings = useSettings();
  const announcement = useUi((state) => state.announcement);
  const connection = useStudio((state) => state.connection);
  const version = useStudio((state) => state.welcome?.version);
  const page = usePage<PageState | null>((each) => each, null);
  const folds = [
    ["leftOpen", t.leftPanel],
    ["bottomOpen", t.bottomPanel],
    ["rightOpen", t.rightPanel],
  ] as const;
  return (
    <footer className="statusbar">
      <span className="said" role="status" aria-live="polite">
        {announcement}
      </span>
      {page && <span>{t.counted(page.graph.blocks.size, page.graph.wires.length)}</span>}
      {page &&
        folds
          .filter(([setting]) => !settings[setting])
          .map(([setting, label]) => (
            <button
              key={setting}
              type="button"
              className="button"
              onClick={() => updateSettings({ [setting]: true })}
            >
              <Icon name="plus" />
              {label}
            </button>
          ))}
      {connection !== "open" && <span className="bad">{t.connections[connection]}</span>}
      <span>{version ? `backblocks ${version}` : ""}</span>
      <button type="button" className="button plain" onClick={() => executeCommand("help")}>
        {t.keys} <kbd>?</kbd>
      </button>
    </footer>
  );
}

function Overlays(): ReactElement {
  const menu = useUi((state) => state.menu);
  const dialog = useUi((state) => state.dialog !== null);
  const asked = usePage((page) => page.saveRefused !== null || page.run.needs_files !== undefined, false);
  return (
    <>
      {(dialog || asked) && <Dialogs />}
      {menu && (
        <Menu label={menu.label} items={menu.items} x={menu.at.x} y={menu.at.y} onClose={ui.closeMenu} />
      )}
      <Notices />
    </>
  );
}

/** How long a notice stays, in milliseconds, unless the pointer or the focus is on it. */
const NOTICE_TIME = { info: 5000, command: 12_000, error: 15_000 } as const;

/** The last notice of the page that is shown. It fades by itself, and stands on the status bar, where no results are. */
function Notices(): ReactElement | null {
  const t = useStrings();
  const core = useCoreStrings();
  const notice = useStudio(({ notices, active }) =>
    notices.findLast(({ page }) => page === null || page === active),
  );
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (notice === undefined || held) return;
    const timer = setTimeout(
      () => studio.dismiss(notice.id),
      NOTICE_TIME[notice.command ? "command" : notice.kind],
    );
    return () => clearTimeout(timer);
  }, [notice, held]);
  if (notice === undefined) return null;
  const hold = (on: boolean) => () => setHeld(on);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only waits while it is read.
    <div
      key={notice.id}
      className="toast"
      role={notice.kind === "error" ? "alert" : "status"}
      onPointerEnter={hold(true)}
      onPointerLeave={hold(false)}
      onFocus={hold(true)}
      onBlur={hold(false)}
    >
      {notice.kind === "error" && (
        <span className="bad">
          <Icon name="warning" />
        </span>
      )}
      <span>{notice.text}</span>
      {notice.command && (
        <button type="button" className="button" onClick={() => ui.run(notice.command as CommandId)}>
          {core.commands[notice.command]} <kbd>{chordText(commands.get(notice.command)?.keys[0] ?? "")}</kbd>
        </button>
      )}
      <button
        type="button"
        className="button plain icon"
        aria-label={t.dismiss}
        title={t.dismiss}
        onClick={() => studio.dismiss(notice.id)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Handles the keybindings of all commands. */
function useKeybindings(): void {
  const core = useCoreStrings();
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector("dialog[open], .search, .menu") !== null) return;
      const typing = isTyping(event.target);
      if (
        event.key === "Escape" &&
        event.target instanceof HTMLElement &&
        (typing || event.target.closest(".panel, .topbar") !== null)
      ) {
        if (canvasRef.current) canvasRef.current.focus();
        else event.target.blur();
        return;
      }
      const id = commandFor(event, typing ? fieldHistory(event.target) : null);
      if (id === undefined || !isCanvasFocused(event)) return;
      if (executeCommand(id)) {
        event.preventDefault();
        // The field that had the focus may be gone.
        requestAnimationFrame(() => {
          if (document.activeElement === document.body) canvasRef.current?.focus();
        });
        ui.announce(id === "select wire" ? describeWire() : core.commands[id]);
      }
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [core]);
}

/** Whether a key press may be a command: single letters only with the focus on the canvas or the outline. */
function isCanvasFocused(event: KeyboardEvent): boolean {
  const there = event.target instanceof Element && event.target.closest(".canvas, [role=tree]") !== null;
  return there || event.ctrlKey || event.metaKey || event.altKey || /^F\d/.test(event.key);
}

/** Copy, cut and paste by the browser's clipboard events, which need no permission. */
function useClipboard(): void {
  useEffect(() => {
    const copy = (event: ClipboardEvent) => {
      const page = studio.page();
      if (
        page === undefined ||
        page.selection.size === 0 ||
        isTyping(event.target) ||
        !getSelection()?.isCollapsed
      )
        return;
      event.clipboardData?.setData("text/plain", copySelection(page));
      event.preventDefault();
      if (event.type === "cut") executeCommand("remove");
    };
    const paste = (event: ClipboardEvent) => {
      const page = studio.page();
      if (page === undefined || isTyping(event.target)) return;
      event.preventDefault();
      const { clipboardData } = event;
      void pasteData(clipboardData?.getData("text/plain") ?? "", [...(clipboardData?.files ?? [])]);
    };
    const ending = new AbortController();
    document.addEventListener("copy", copy, ending);
    document.addEventListener("cut", copy, ending);
    document.addEventListener("paste", paste, ending);
    return () => ending.abort();
  }, []);
}
