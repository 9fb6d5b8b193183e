import { lazy, type ReactElement, Suspense, useEffect } from "react";
import { copySelection, pasteText } from "../state/clipboard.ts";
import { commandFor, perform } from "../state/keys.ts";
import { type PageState, studio, useStudio } from "../state/store.ts";
import { Canvas } from "./canvas/Canvas.tsx";
import { provideCommands } from "./commands.ts";
import { Dialogs } from "./dialogs/Dialogs.tsx";
import { Inspector, InspectorTools } from "./inspector/Inspector.tsx";
import { useInspectorWords } from "./inspector/words.ts";
import { Locked, useLocked } from "./Locked.tsx";
import { usePage, useProblems } from "./page.ts";
import { Docs } from "./panels/Docs.tsx";
import { Gallery } from "./panels/Gallery.tsx";
import { Monitors } from "./panels/Monitors.tsx";
import { Outline } from "./panels/Outline.tsx";
import { Palette } from "./panels/Palette.tsx";
import { Problems } from "./panels/Problems.tsx";
import { Properties } from "./panels/Properties.tsx";
import { SearchBox } from "./panels/SearchBox.tsx";
import { change, followSettings, useSettings } from "./settings.ts";
import { Icon } from "./shell/icons.tsx";
import { Menu } from "./shell/Menu.tsx";
import { Splitter } from "./shell/Splitter.tsx";
import { TabPanel } from "./shell/Tabs.tsx";
import { TopBar } from "./shell/TopBar.tsx";
import { ui, useUi } from "./ui.ts";
import { useTexts, useWords } from "./words.ts";

const Explain = lazy(() => import("./explain/Explain.tsx"));

export function App(): ReactElement {
  const page = usePage<PageState | null>((each) => each, null);
  const gallery = useUi((state) => state.gallery);
  const explained = useUi((state) => state.explain);
  const locked = useLocked();
  useEffect(provideCommands, []);
  useEffect(
    () =>
      followSettings(() => {
        const { language, rerun } = useSettings.getState();
        studio.language = language;
        studio.rerun = rerun;
      }),
    [],
  );
  useKeys();
  useClipboard();
  return (
    <div className="studio">
      <TopBar />
      {locked ? (
        <Locked />
      ) : page === null || gallery ? (
        <GalleryMain />
      ) : explained !== null && page.graph.blocks.has(explained) ? (
        <Suspense fallback={null}>
          <Explain key={page.page} page={page} block={explained} />
        </Suspense>
      ) : (
        <Workbench page={page} />
      )}
      <StatusBar />
      <Overlays />
    </div>
  );
}

function GalleryMain(): ReactElement {
  return (
    <main className="workplace">
      <Gallery />
    </main>
  );
}

function Workbench({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const settings = useSettings();
  const problems = useProblems();
  const monitors = Object.keys(page.document.monitors ?? {}).length;
  const inspector = {
    name: "inspector" as const,
    label: useInspectorWords().inspector,
    show: () => <Inspector page={page} />,
    tools: () => <InspectorTools />,
  };
  return (
    <>
      {settings.leftOpen && (
        <>
          <TabPanel
            id="left"
            className="left"
            label={w.leftPanel}
            size={{ width: settings.left }}
            current={settings.leftTab}
            onTab={(leftTab) => change({ leftTab })}
            onFold={() => change({ leftOpen: false })}
            tabs={[
              { name: "palette", label: w.palette, show: () => <Palette /> },
              { name: "outline", label: w.outline, show: () => <Outline /> },
            ]}
          />
          <Splitter
            side="left"
            size={settings.left}
            most={480}
            label={w.sizeOf(w.leftPanel)}
            controls="left"
            onSize={(left) => change({ left })}
            onCollapse={() => change({ leftOpen: false })}
          />
        </>
      )}
      <main className="workplace">
        <div className="main-canvas">
          <DraftBanner page={page} />
          <Canvas page={page} />
        </div>
        {settings.bottomOpen && (
          <>
            <Splitter
              side="bottom"
              size={settings.bottom}
              most={Math.max(560, window.innerHeight * 0.8)}
              label={w.sizeOf(w.bottomPanel)}
              controls="bottom"
              onSize={(bottom) => change({ bottom })}
              onCollapse={() => change({ bottomOpen: false })}
            />
            <TabPanel
              id="bottom"
              className="bottom"
              label={w.bottomPanel}
              size={{ height: settings.bottom }}
              current={settings.bottomTab}
              onTab={(bottomTab) => change({ bottomTab })}
              onFold={() => change({ bottomOpen: false })}
              tabs={[
                {
                  name: "problems",
                  label: w.problems,
                  count: problems.length,
                  bad: true,
                  show: () => <Problems />,
                },
                ...(settings.inspectorDock === "bottom" ? [inspector] : []),
                {
                  name: "monitors",
                  label: w.monitors,
                  count: monitors,
                  show: () => <Monitors page={page} />,
                },
              ]}
            />
          </>
        )}
      </main>
      {settings.rightOpen && (
        <>
          <Splitter
            side="right"
            size={settings.right}
            most={Math.max(560, window.innerWidth * 0.7)}
            label={w.sizeOf(w.rightPanel)}
            controls="right"
            onSize={(right) => change({ right })}
            onCollapse={() => change({ rightOpen: false })}
          />
          <TabPanel
            id="right"
            className="right"
            label={w.rightPanel}
            size={{ width: settings.right }}
            current={settings.rightTab}
            onTab={(rightTab) => change({ rightTab })}
            onFold={() => change({ rightOpen: false })}
            tabs={[
              { name: "properties", label: w.properties, show: () => <Properties /> },
              { name: "docs", label: w.docs, show: () => <Docs /> },
              ...(settings.inspectorDock === "right" ? [inspector] : []),
            ]}
          />
        </>
      )}
    </>
  );
}

/** Says that changes of an earlier session are in the page, and offers to discard them. */
function DraftBanner({ page }: { page: PageState }): ReactElement | null {
  const w = useWords();
  if (page.draft === null) return null;
  return (
    <div className="banner" role="status">
      <span>{w.draftFound(page.draft.changes, new Date(page.draft.since * 1000))}</span>
      <button type="button" className="button" onClick={() => studio.draftSeen(page.page)}>
        {w.keepDraft}
      </button>
      <button type="button" className="button" onClick={() => studio.revert(page.page)}>
        {w.discardDraft}
      </button>
    </div>
  );
}

function StatusBar(): ReactElement {
  const w = useWords();
  const settings = useSettings();
  const said = useUi((state) => state.said);
  const connection = useStudio((state) => state.connection);
  const version = useStudio((state) => state.welcome?.version);
  const page = usePage<PageState | null>((each) => each, null);
  const folds = [
    ["leftOpen", w.leftPanel],
    ["bottomOpen", w.bottomPanel],
    ["rightOpen", w.rightPanel],
  ] as const;
  return (
    <footer className="statusbar">
      <span className="said" role="status" aria-live="polite">
        {said}
      </span>
      {page && <span>{w.counted(page.graph.blocks.size, page.graph.wires.length)}</span>}
      {page &&
        folds
          .filter(([setting]) => !settings[setting])
          .map(([setting, label]) => (
            <button
              key={setting}
              type="button"
              className="button"
              onClick={() => change({ [setting]: true })}
            >
              <Icon name="plus" />
              {label}
            </button>
          ))}
      {connection !== "open" && <span className="bad">{w.connections[connection]}</span>}
      <span>{version ? `backblocks ${version}` : ""}</span>
      <button type="button" className="button plain" onClick={() => perform("help")}>
        {w.keys} <kbd>?</kbd>
      </button>
    </footer>
  );
}

function Overlays(): ReactElement {
  const menu = useUi((state) => state.menu);
  const search = useUi((state) => state.search);
  return (
    <>
      {search && <SearchBox key={`${search.mode} ${search.place.x} ${search.place.y}`} search={search} />}
      {menu && (
        <Menu label={menu.label} items={menu.items} x={menu.at.x} y={menu.at.y} onClose={ui.closeMenu} />
      )}
      <Dialogs />
      <Notices />
    </>
  );
}

function Notices(): ReactElement | null {
  const w = useWords();
  const notice = useStudio((state) => state.notices.at(-1));
  useEffect(() => {
    if (notice === undefined || notice.kind === "error") return;
    const timer = setTimeout(() => studio.dismiss(notice.id), 5000);
    return () => clearTimeout(timer);
  }, [notice]);
  if (notice === undefined) return null;
  return (
    <div className="toast" role={notice.kind === "error" ? "alert" : "status"}>
      {notice.kind === "error" && (
        <span className="bad">
          <Icon name="warning" />
        </span>
      )}
      <span>{notice.text}</span>
      <button
        type="button"
        className="button plain icon"
        aria-label={w.dismiss}
        title={w.dismiss}
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

/** Every command's keys, wherever the focus is. */
function useKeys(): void {
  const texts = useTexts();
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector("dialog[open], .search, .menu") !== null) return;
      if (
        event.key === "Escape" &&
        event.target instanceof Element &&
        event.target.closest(".panel, .topbar") !== null
      ) {
        ui.canvas?.focus();
        return;
      }
      const id = commandFor(event, isTyping(event.target));
      if (id === undefined || !inPlace(event)) return;
      if (perform(id)) {
        event.preventDefault();
        ui.say(texts.commands[id]);
      }
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [texts]);
}

/** Single letters are commands only while the canvas or the outline has the focus, so that nobody says them by chance. */
function inPlace(event: KeyboardEvent): boolean {
  const there = event.target instanceof Element && event.target.closest(".canvas, [role=tree]") !== null;
  return there || event.ctrlKey || event.metaKey || event.altKey || /^F\d/.test(event.key);
}

/** Copying and pasting by the browser's own events, which need no permission. */
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
      if (event.type === "cut") perform("remove");
    };
    const paste = (event: ClipboardEvent) => {
      const page = studio.page();
      if (page === undefined || isTyping(event.target)) return;
      event.preventDefault();
      pasteText(page.page, event.clipboardData?.getData("text/plain") ?? "");
    };
    const ending = new AbortController();
    document.addEventListener("copy", copy, ending);
    document.addEventListener("cut", copy, ending);
    document.addEventListener("paste", paste, ending);
    return () => ending.abort();
  }, []);
}
