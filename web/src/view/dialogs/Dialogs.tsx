import type { ReactElement } from "react";
import { usePage as pageAsBlock } from "../../model/actions.ts";
import { BLOCK_WIDTH } from "../../model/geometry.ts";
import type { PageState } from "../../state/store.ts";
import { act, usePage } from "../page.ts";
import { ui, useUi } from "../ui.ts";
import { About } from "./About.tsx";
import { ConnectDialog } from "./ConnectDialog.tsx";
import { ExportDialog } from "./ExportDialog.tsx";
import { Extract } from "./Extract.tsx";
import { FilesAsked } from "./FilesAsked.tsx";
import { Gradients } from "./Gradients.tsx";
import { Help } from "./Help.tsx";
import { OpenFile } from "./OpenFile.tsx";
import { SaveAs, SaveRefused } from "./Saving.tsx";
import { SettingsDialog } from "./SettingsDialog.tsx";
import { Versions } from "./Versions.tsx";

const PAGE_BLOCK = { width: BLOCK_WIDTH, height: 160 };

/** The dialog that was asked for, or that the page needs an answer to. */
export function Dialogs(): ReactElement | null {
  const dialog = useUi((state) => state.dialog);
  const page = usePage<PageState | null>((each) => each, null);
  if (page?.saveRefused) return <SaveRefused page={page} />;
  if (page && Object.keys(page.run.needs_files ?? {}).length > 0) return <FilesAsked page={page} />;
  switch (dialog?.kind) {
    case undefined:
      return null;
    case "help":
      return <Help />;
    case "settings":
      return <SettingsDialog />;
    case "about":
      return <About />;
    case "open":
      return <OpenFile title="open" onFile={(path) => void ui.openPage({ path })} />;
    case "use page":
      return (
        page && (
          <OpenFile
            title="use page"
            except={page.path}
            onFile={(path) => {
              const at = ui.freeRect(ui.canvas?.centre() ?? { x: 0, y: 0 }, PAGE_BLOCK);
              act(pageAsBlock(page.document, path, at));
            }}
          />
        )
      );
    case "versions":
      return page && <Versions page={page} />;
    case "export":
      return page && <ExportDialog page={page} />;
    case "save as":
      return page && <SaveAs page={page} />;
    case "extract":
      return page && <Extract page={page} />;
    case "connect":
      return page && <ConnectDialog key={dialog.block} page={page} block={dialog.block} end={dialog.end} />;
    case "gradients":
      return page && <Gradients page={page} ys={dialog.ys} />;
  }
}
