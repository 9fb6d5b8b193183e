import { type KeyboardEvent, type ReactElement, useMemo, useRef, useState } from "react";
import { type OutlineNode, outline } from "../../model/outline.ts";
import { useGraph, useSelection } from "../active-page.ts";
import { useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { useCoreStrings, useStrings } from "../strings.ts";
import { ui } from "../ui.ts";

interface Row {
  node: OutlineNode;
  level: number;
  parent: string | null;
}

/** The outline panel: the page as an accessible tree. */
export function Outline(): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
  const graph = useGraph();
  const selection = useSelection();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(["loose", "notes", "monitors"]));
  const [focus, setFocus] = useState<string | null>(null);
  const root = useRef<HTMLDivElement>(null);
  const language = useSettings((settings) => settings.language);
  const nodes = useMemo(
    () => (graph === null ? [] : outline(graph, core, language)),
    [graph, core, language],
  );
  const isOpen = (node: OutlineNode) =>
    node.kind === "frame" ? !open.has(`-${node.id}`) : open.has(node.id);
  const rows: Row[] = [];
  const collect = (list: readonly OutlineNode[], level: number, parent: string | null) => {
    for (const node of list) {
      rows.push({ node, level, parent });
      if (node.children.length > 0 && isOpen(node)) collect(node.children, level + 1, node.id);
    }
  };
  collect(nodes, 1, null);
  const stop = rows.some((row) => row.node.id === focus) ? focus : rows[0]?.node.id;

  function toggle(node: OutlineNode, on: boolean) {
    const next = new Set(open);
    const [id, there] = node.kind === "frame" ? [`-${node.id}`, !on] : [node.id, on];
    if (there) next.add(id);
    else next.delete(id);
    setOpen(next);
  }
  function go(id: string | null | undefined) {
    if (id === null || id === undefined) return;
    setFocus(id);
    requestAnimationFrame(() =>
      root.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)?.focus(),
    );
  }
  function choose(node: OutlineNode) {
    if (node.item !== undefined) ui.reveal(node.item);
  }
  function edit({ item: which, input, output, attr }: OutlineNode) {
    if (input !== undefined)
      ui.openField(input.block, input.index === undefined ? input.pin : `${input.pin}[${input.index}]`);
    else if (output !== undefined) ui.connectFrom(output);
    else if (which !== undefined) ui.openField(which.slice(which.indexOf("/") + 1), attr ?? "");
  }
  function key(event: KeyboardEvent, place: number) {
    const { node, parent } = rows[place] as Row;
    const last = rows.length - 1;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const beside = step === undefined ? undefined : rows[Math.max(0, Math.min(place + step, last))]?.node;
    if (event.key === " " && event.ctrlKey && node.item !== undefined) {
      const without = [...selection].filter((each) => each !== node.item);
      ui.select(without.length < selection.size ? without : [...selection, node.item]);
    } else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.shiftKey && beside?.item !== undefined) {
      ui.select([...selection, beside.item]);
      go(beside.id);
    } else if (beside !== undefined) go(beside.id);
    else if (event.key === "Home") go(rows[0]?.node.id);
    else if (event.key === "End") go(rows[last]?.node.id);
    else if (event.key === "ArrowRight") {
      if (node.children.length > 0 && !isOpen(node)) toggle(node, true);
      else if (node.children.length > 0) go(node.children[0]?.id);
    } else if (event.key === "ArrowLeft") {
      if (node.children.length > 0 && isOpen(node)) toggle(node, false);
      else go(parent);
    } else if (event.key === "Enter") {
      choose(node);
      edit(node);
    } else if (event.key === " ") choose(node);
    else if (event.key === "c" && node.input !== undefined) ui.connectTo(node.input);
    else if (event.key === "c" && node.output !== undefined) ui.connectFrom(node.output);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  if (nodes.length === 0) return <p className="empty">{t.emptyPage}</p>;
  const show = (list: readonly OutlineNode[], level: number): ReactElement[] =>
    list.map((node) => {
      const parts = node.children.length > 0;
      const place = rows.findIndex((row) => row.node === node);
      const pin = node.kind === "input" || node.kind === "output" || node.kind === "attr";
      return (
        <div
          key={node.id}
          role="treeitem"
          data-node={node.id}
          aria-level={level}
          aria-expanded={parts ? isOpen(node) : undefined}
          aria-selected={node.item !== undefined && !pin && selection.has(node.item)}
          tabIndex={node.id === stop ? 0 : -1}
          onKeyDown={(event) => event.target === event.currentTarget && key(event, place)}
          onFocus={(event) => {
            if (event.target !== event.currentTarget) return;
            setFocus(node.id);
            if (node.item !== undefined && !selection.has(node.item)) ui.select([node.item]);
          }}
        >
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the item above takes the keys. */}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the item above takes the keys. */}
          <div
            className="tree-row"
            style={{ paddingLeft: 8 + (level - 1) * 14 }}
            onClick={() => choose(node)}
            onDoubleClick={() => edit(node)}
          >
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: arrow keys do the same. */}
            {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys do the same. */}
            <span
              className="twist"
              onClick={(event) => {
                event.stopPropagation();
                toggle(node, !isOpen(node));
              }}
            >
              {parts && <Icon name={isOpen(node) ? "down" : "right"} />}
            </span>
            <span className={pin ? "mono small" : ""}>{node.text}</span>
            {node.detail !== "" && <span className="about">{node.detail}</span>}
            {node.problems > 0 && <span className="count bad">{node.problems}</span>}
          </div>
          {parts && isOpen(node) && (
            // biome-ignore lint/a11y/useSemanticElements: a tree's groups have this role.
            <div role="group">{show(node.children, level + 1)}</div>
          )}
        </div>
      );
    });
  return (
    <div className="tree" role="tree" aria-multiselectable="true" aria-label={t.outline} ref={root}>
      {show(nodes, 1)}
    </div>
  );
}
