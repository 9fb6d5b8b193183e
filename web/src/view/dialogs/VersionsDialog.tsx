import type { ReactElement } from "react";
import { type PageState, studio } from "../../state/store.ts";
import { ui } from "../ui.ts";
import { useTexts, useWords } from "../words.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";
import { ListBox } from "./ListBox.tsx";

export function VersionsDialog({ page }: { page: PageState }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  return (
    <Dialog title={texts.commands.versions} onClose={ui.closeDialog} actions={<CloseButton />}>
      <p className="soft">{w.versionsAbout}</p>
      {page.versions === null ? (
        <p>{w.loading}</p>
      ) : page.versions.length === 0 ? (
        <p>{w.noVersions}</p>
      ) : (
        <ListBox
          label={texts.commands.versions}
          choices={page.versions.map((version) => ({
            id: version.name,
            name: w.when(new Date(version.saved * 1000)),
            detail: w.blockCount(version.blocks),
          }))}
          onChoose={(name) => {
            studio.revert(page.page, name);
            ui.closeDialog();
          }}
        />
      )}
    </Dialog>
  );
}
