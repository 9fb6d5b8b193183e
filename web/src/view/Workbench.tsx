import type { ReactElement } from "react";
import { type PageState, studio } from "../state/store.ts";
import { Canvas } from "./canvas/Canvas.tsx";
import { Docs } from "./later.tsx";
import { useProblems } from "./page.ts";
import { Monitors } from "./panels/Monitors.tsx";
import { Outline } from "./panels/Outline.tsx";
import { Palette } from "./panels/Palette.tsx";
import { Problems } from "./panels/Problems.tsx";
import { Properties } from "./panels/Properties.tsx";
import { SearchBox } from "./panels/SearchBox.tsx";
import { Values } from "./panels/Values.tsx";
import { change, useSettings } from "./settings.ts";
import { Splitter } from "./shell/Splitter.tsx";
import { TabPanel } from "./shell/Tabs.tsx";
import { useWords } from "./words.ts";

/** A page with everything to edit and run it. */
export function Workbench({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const settings = useSettings();
  const problems = useProblems();
  const monitors = Object.keys(page.document.monitors ?? {}).length;
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
              most={560}
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
                { name: "values", label: w.values, show: () => <Values page={page} /> },
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
            most={560}
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
            ]}
          />
        </>
      )}
      <SearchBox />
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
