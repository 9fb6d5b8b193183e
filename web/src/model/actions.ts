/** Every user action, as a pure function from a document or graph to edits. */

export * from "./action.ts";
export * from "./clipboard.ts";
export {
  addBlock,
  newBlock,
  renameBlock,
  replaceOp,
  setAbout,
  setAfter,
  setAttr,
  setConstant,
  setInput,
  setOrder,
} from "./edit-blocks.ts";
export * from "./edit-gradients.ts";
export * from "./edit-layout.ts";
export * from "./edit-page.ts";
export * from "./edit-subpages.ts";
export * from "./edit-wires.ts";
export * from "./fixes.ts";
