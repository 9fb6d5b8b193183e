import { type DragEvent, type ReactElement, useEffect } from "react";
import { localizedText, type PageDocument } from "../../model/document.ts";
import { studio, useStudio } from "../../state/store.ts";
import { dropFiles } from "../lazy.tsx";
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
    void dropFiles([...event.dataTransfer.files], { x: 0, y: 0 });
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
          {(welcome?.unsaved ?? []).length > 0 && (
            <>
              <h2>{t.draftsFound}</h2>
              <ul className="file-list">
                {welcome?.unsaved?.map((draft) => (
                  <li key={draft.name}>
                    <button type="button" onClick={() => void ui.openPage({ unsaved: draft.name })}>
                      <Icon name="history" />
                      <span>{draft.title || t.untitled}</span>
                      {draft.lost && <span className="soft">{t.fileGone(draft.lost)}</span>}
                      <span className="when">{t.when(new Date(draft.since * 1000))}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )}
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
