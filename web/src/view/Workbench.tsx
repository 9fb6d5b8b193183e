import type { ReactElement } from "react";
import { type PageState, studio } from "../state/store.ts";
import { useProblems } from "./active-page.ts";
import { Canvas } from "./canvas/Canvas.tsx";
import { Inspector, InspectorTools } from "./inspector/Inspector.tsx";
import { Docs, Runs } from "./lazy.tsx";
import { Console } from "./panels/Console.tsx";
import { Monitors } from "./panels/Monitors.tsx";
import { Outline } from "./panels/Outline.tsx";
import { Palette } from "./panels/Palette.tsx";
import { Problems } from "./panels/Problems.tsx";
import { Properties } from "./panels/Properties.tsx";
import { SearchBox } from "./panels/SearchBox.tsx";
import { updateSettings, useSettings } from "./settings.ts";
import { Splitter } from "./shell/Splitter.tsx";
import { TabbedPanel } from "./shell/TabbedPanel.tsx";
import { useInspectorStrings, useRunsStrings, useStrings } from "./strings.ts";

/** The workbench of a page: canvas, side panels and bottom panel. */
export function Workbench({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const runs = useRunsStrings();
  const settings = useSettings();
  const problems = useProblems();
  const monitors = Object.keys(page.document.monitors ?? {}).length;
  const inspector = {
    name: "inspector" as const,
    label: useInspectorStrings().inspector,
    show: () => <Inspector page={page} />,
    tools: () => <InspectorTools />,
  };
  return (
    <>
      {settings.leftOpen && (
        <>
          <TabbedPanel
            id="left"
            className="left"
            label={t.leftPanel}
            size={{ width: settings.left }}
            current={settings.leftTab}
            onTab={(leftTab) => updateSettings({ leftTab })}
            onFold={() => updateSettings({ leftOpen: false })}
            tabs={[
              { name: "palette", label: t.palette, show: () => <Palette /> },
              { name: "outline", label: t.outline, show: () => <Outline /> },
            ]}
          />
          <Splitter
            side="left"
            size={settings.left}
            most={480}
            label={t.sizeOf(t.leftPanel)}
            controls="left"
            onSize={(left) => updateSettings({ left })}
            onCollapse={() => updateSettings({ leftOpen: false })}
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
              label={t.sizeOf(t.bottomPanel)}
              controls="bottom"
              onSize={(bottom) => updateSettings({ bottom })}
              onCollapse={() => updateSettings({ bottomOpen: false })}
            />
            <TabbedPanel
              id="bottom"
              className="bottom"
              label={t.bottomPanel}
              size={{ height: settings.bottom }}
              current={settings.bottomTab}
              onTab={(bottomTab) => updateSettings({ bottomTab })}
              onFold={() => updateSettings({ bottomOpen: false })}
              tabs={[
                {
                  name: "problems",
                  label: t.problems,
                  count: problems.length,
                  bad: true,
                  show: () => <Problems />,
                },
                ...(settings.inspectorDock === "bottom" ? [inspector] : []),
                {
                  name: "monitors",
                  label: t.monitors,
                  count: monitors,
                  show: () => <Monitors page={page} />,
                },
                { name: "console", label: t.console, show: () => <Console page={page.page} /> },
                {
                  name: "runs",
                  label: runs.runs,
                  count: page.runs.records.length,
                  show: () => <Runs page={page} />,
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
            label={t.sizeOf(t.rightPanel)}
            controls="right"
            onSize={(right) => updateSettings({ right })}
            onCollapse={() => updateSettings({ rightOpen: false })}
          />
          <TabbedPanel
            id="right"
            className="right"
            label={t.rightPanel}
            size={{ width: settings.right }}
            current={settings.rightTab}
            onTab={(rightTab) => updateSettings({ rightTab })}
            onFold={() => updateSettings({ rightOpen: false })}
            tabs={[
              { name: "properties", label: t.properties, show: () => <Properties /> },
              { name: "docs", label: t.docs, show: () => <Docs /> },
              ...(settings.inspectorDock === "right" ? [inspector] : []),
            ]}
          />
        </>
      )}
      <SearchBox />
    </>
  );
}

/** The banner that tells of restored or damaged changes of an earlier session, and offers to discard them. */
function DraftBanner({ page }: { page: PageState }): ReactElement | null {
  const t = useStrings();
  if (page.draft === null) return null;
  const { changes, since, damage } = page.draft;
  return (
    <div className="banner" role="status">
      {changes > 0 && <span>{t.draftFound(changes, new Date(since * 1000))}</span>}
      {damage && <span>{t.draftDamaged(damage.lines, damage.unapplied, damage.copy)}</span>}
      <button type="button" className="button" onClick={() => studio.dismissDraft(page.page)}>
        {changes > 0 ? t.keepDraft : t.dismiss}
      </button>
      {changes > 0 && (
        <button type="button" className="button" onClick={() => studio.revert(page.page)}>
          {t.discardDraft}
        </button>
      )}
    </div>
  );
}
