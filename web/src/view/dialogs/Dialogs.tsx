import type { ReactElement } from "react";
import { addPageBlock } from "../../model/actions.ts";
import { BLOCK_WIDTH } from "../../model/geometry.ts";
import type { PageState } from "../../state/store.ts";
import { dispatch, usePage } from "../active-page.ts";
import { canvasRef } from "../canvas-ref.ts";
import { ui, useUi } from "../ui.ts";
import { AboutDialog } from "./AboutDialog.tsx";
import { ConfirmDialog } from "./ConfirmDialog.tsx";
import { ConnectDialog } from "./ConnectDialog.tsx";
import { ExportDialog } from "./ExportDialog.tsx";
import { ExtractDialog } from "./ExtractDialog.tsx";
import { FilePermission } from "./FilePermission.tsx";
import { GradientsDialog } from "./GradientsDialog.tsx";
import { HelpDialog } from "./HelpDialog.tsx";
import { ImportDialog } from "./ImportDialog.tsx";
import { OpenDialog } from "./OpenDialog.tsx";
import { SaveAsDialog, SaveRefusedDialog } from "./SaveDialogs.tsx";
import { SettingsDialog } from "./SettingsDialog.tsx";
import { VersionsDialog } from "./VersionsDialog.tsx";

const PAGE_BLOCK = { width: BLOCK_WIDTH, height: 160 };

/** The open dialog, or the one that the state of the page requires. */
export function Dialogs(): ReactElement | null {
  const dialog = useUi((state) => state.dialog);
  const page = usePage<PageState | null>((each) => each, null);
  if (page?.saveRefused) return <SaveRefusedDialog page={page} />;
  if (page && Object.keys(page.run.needs_files ?? {}).length > 0) return <FilePermission page={page} />;
  switch (dialog?.kind) {
    case undefined:
      return null;
    case "help":
      return <HelpDialog />;
    case "settings":
      return <SettingsDialog />;
    case "about":
      return <AboutDialog />;
    case "open":
      return <OpenDialog title="open" onFile={(path) => void ui.openPage({ path })} />;
    case "use page":
      return (
        page && (
          <OpenDialog
            title="use page"
            except={page.path}
            onFile={(path) => {
              const at = ui.findFreeRect(canvasRef.current?.centre() ?? { x: 0, y: 0 }, PAGE_BLOCK);
              dispatch(addPageBlock(page.document, path, at));
            }}
          />
        )
      );
    case "versions":
      return page && <VersionsDialog page={page} />;
    case "export":
      return page && <ExportDialog page={page} />;
    case "save as":
      return page && <SaveAsDialog page={page} />;
    case "import":
      return <ImportDialog source={dialog.source} arrays={dialog.arrays} />;
    case "extract":
      return page && <ExtractDialog page={page} />;
    case "connect":
      return page && <ConnectDialog key={dialog.block} page={page} block={dialog.block} end={dialog.end} />;
    case "confirm":
      return <ConfirmDialog {...dialog} />;
    case "gradients":
      return page && <GradientsDialog page={page} ys={dialog.ys} />;
  }
}
