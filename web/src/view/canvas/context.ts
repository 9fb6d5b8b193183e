import { createContext } from "react";
import type { InputRef, Json } from "../../model/document.ts";

/** What parts of a block ask of the page they stand on. */
export interface BlockActions {
  set: {
    input(to: InputRef, value: Json | undefined): void;
    attr(block: string, name: string, value: Json | undefined): void;
  };
  /** Opens the grid of a constant beside its block. */
  openConstant(block: string, name: string): void;
}

export const BlockContext = createContext<BlockActions>({
  set: { input: () => {}, attr: () => {} },
  openConstant: () => {},
});

/** The number of the page that is shown. */
export const PageNumber = createContext(0);
