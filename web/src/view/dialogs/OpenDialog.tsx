import type { ReactElement } from "react";
import { useStudio } from "../../state/store.ts";
import { formatBytes } from "../canvas/thumbnails.ts";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";
import { ListBox } from "./ListBox.tsx";

export function OpenDialog({
  title,
  except = "",
  onFile,
}: {
  title: "open" | "use page";
  /** A page that is not listed. */
  except?: string;
  onFile(path: string): void;
}): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const files = useStudio((state) => state.files);
  const pages = files.filter((file) => file.path.endsWith(".page.json") && file.path !== except);
  return (
    <Dialog title={core.commands[title]} onClose={ui.closeDialog} actions={<CloseButton />}>
      {pages.length === 0 ? (
        <p className="soft">{t.noFiles}</p>
      ) : (
        <ListBox
          label={core.commands[title]}
          choices={pages.map((file) => ({ id: file.path, name: file.path, detail: formatBytes(file.bytes) }))}
          onChoose={(path) => {
            ui.closeDialog();
            onFile(path);
          }}
        />
      )}
    </Dialog>
  );
}
