import { type DragEvent, type ReactElement, useEffect } from "react";
import { localizedText, type PageDocument } from "../../model/document.ts";
import { pageTitle } from "../../model/page-title.ts";
import type { Unsaved } from "../../net/generated.ts";
import { studio, useStudio } from "../../state/store.ts";
import { dropData } from "../dropped.ts";
import { useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { PagePreview } from "./PagePreview.tsx";
import { SearchBox } from "./SearchBox.tsx";

/** The start page: lessons, unsaved drafts and page files. */
export function Gallery(): ReactElement {
  const t = useStrings();
  const welcome = useStudio((state) => state.welcome);
  const files = useStudio((state) => state.files);
  useEffect(() => {
    if (welcome !== null) studio.listFiles();
  }, [welcome]);
  const pages = files
    .filter((file) => file.path.endsWith(".page.json"))
    .sort((a, b) => b.changed - a.changed);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void dropData(event.dataTransfer, { x: 0, y: 0 });
  };
  return (
    <main className="workplace">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: files can also be opened by the buttons inside. */}
      <div className="gallery" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
        <div className="gallery-inner">
          <h1>{t.galleryTitle}</h1>
          <p className="lead">{t.galleryLead}</p>
          <div className="gallery-actions">
            <button type="button" className="button main" onClick={() => ui.run("new")}>
              <Icon name="plus" />
              {t.newPage}
            </button>
            <button type="button" className="button" onClick={() => ui.run("open")}>
              <Icon name="folder" />
              {t.openFile}
            </button>
          </div>
          <Drafts />
          <h2>{t.lessons}</h2>
          <div className="cards">
            {welcome?.lessons.map((lesson) => (
              <button
                key={lesson.name}
                type="button"
                className="card"
                onClick={() => void ui.openPage({ lesson: lesson.name })}
              >
                <Lesson document={lesson.document} />
              </button>
            ))}
          </div>
          {pages.length > 0 && (
            <>
              <h2>{t.filesIn(welcome?.folder ?? "")}</h2>
              <ul className="file-list">
                {pages.slice(0, 20).map((file) => (
                  <li key={file.path}>
                    <button type="button" onClick={() => void ui.openPage({ path: file.path })}>
                      <Icon name="file" />
                      <span>{file.path}</span>
                      {file.draft && <span className="soft">{t.unsavedChanges}</span>}
                      <span className="when">{t.when(new Date(file.changed * 1000))}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
      </div>
      <SearchBox />
    </main>
  );
}

/** Drafts that are not open in this tab. */
function Drafts(): ReactElement | null {
  const t = useStrings();
  const all = useStudio((state) => state.drafts);
  const pages = useStudio((state) => state.pages);
  const open = new Set(Object.values(pages).map(({ unsaved }) => unsaved));
  const drafts = all.filter(({ name }) => !open.has(name));
  if (drafts.length === 0) return null;
  return (
    <>
      <h2>{t.draftsFound}</h2>
      <div className="cards">
        {drafts.map((draft) => (
          <DraftCard key={draft.name} draft={draft} />
        ))}
      </div>
    </>
  );
}

function DraftCard({ draft }: { draft: Unsaved }): ReactElement {
  const t = useStrings();
  const { language } = useSettings();
  const { name, document, since, lost } = draft;
  const title = pageTitle(document, language) || t.untitled;
  const at = new Date(since * 1000);
  const remove = () =>
    ui.confirm({
      title: t.deleteDraft(title),
      about: t.deleteDraftAbout,
      action: t.deleteIt,
      onConfirm: () => studio.deleteDraft(name),
    });
  return (
    <div className="draft">
      <button
        type="button"
        className="draft-card"
        onClick={() => void ui.openPage({ unsaved: name })}
        onKeyDown={(event) => {
          if (event.key === "Delete") remove();
        }}
      >
        <PagePreview document={document} />
        <strong>{title}</strong>
        <span className="card-about" title={t.when(at)}>
          {[t.blockCount(Object.keys(document.blocks ?? {}).length), t.age(at)].join(" · ")}
        </span>
        {lost && <span className="card-about">{t.fileGone(lost)}</span>}
      </button>
      <button
        type="button"
        className="button icon"
        aria-label={t.deleteDraft(title)}
        title={t.deleteDraft(title)}
        onClick={remove}
      >
        <Icon name="trash" />
      </button>
    </div>
  );
}

function Lesson({ document }: { document: PageDocument }): ReactElement {
  const { language } = useSettings();
  const { title, titles, about, abouts } = document;
  return (
    <>
      <PagePreview document={document} />
      <strong>{localizedText(language, title, titles)}</strong>
      <span className="card-about">{localizedText(language, about, abouts).replaceAll("`", "")}</span>
    </>
  );
}
