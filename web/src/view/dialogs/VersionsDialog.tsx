import type { ReactElement } from "react";
import { type PageState, studio } from "../../state/store.ts";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";
import { ListBox } from "./ListBox.tsx";

export function VersionsDialog({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  return (
    <Dialog title={core.commands.versions} onClose={ui.closeDialog} actions={<CloseButton />}>
      <p className="soft">{t.versionsAbout}</p>
      {page.versions === null ? (
        <p>{t.loading}</p>
      ) : page.versions.length === 0 ? (
        <p>{t.noVersions}</p>
      ) : (
        <ListBox
          label={core.commands.versions}
          choices={page.versions.map((version) => ({
            id: version.name,
            name: t.when(new Date(version.saved * 1000)),
            detail: t.blockCount(version.blocks),
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
