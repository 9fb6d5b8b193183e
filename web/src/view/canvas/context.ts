import { createContext } from "react";
import type { InputRef, Json } from "../../model/document.ts";

/** React context of blocks: actions on the page. */
export interface BlockActions {
  set: {
    input(to: InputRef, value: Json | undefined): void;
    attr(block: string, name: string, value: Json | undefined): void;
  };
  /** Opens the popover of a constant. */
  openConstant(block: string, name: string): void;
}

export const BlockContext = createContext<BlockActions>({
  set: { input: () => {}, attr: () => {} },
  openConstant: () => {},
});

/** The number of the page. */
export const PageNumber = createContext(0);
