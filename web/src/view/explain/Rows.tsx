import type { CSSProperties, ReactElement } from "react";
import { addGradient, gradientsFor } from "../../model/actions.ts";
import { defaultArrangement } from "../../model/axis-roles.ts";
import { hiddenIn, type Range } from "../../model/colour-index.ts";
import type { Graph } from "../../model/graph.ts";
import { gradientOf } from "../../model/highlights.ts";
import { studio } from "../../state/store.ts";
import { dispatch, useOps } from "../active-page.ts";
import { scrollIntoView } from "../scroll-into-view.ts";
import { Icon } from "../shell/icons.tsx";
import { useExplainStrings } from "../strings.ts";
import { type Explanation, type GradientRow, type LoadedTensor, sharedRange } from "./explanation.ts";
import { OpCard } from "./OpCard.tsx";
import { type PanelControl, shownColumns, TensorPanel } from "./TensorPanel.tsx";

interface RowsProps {
  explanation: Explanation;
  graph: Graph;
  /** Whether the tensors of a row have one colour range; null if those that have like ranges do. */
  locked: boolean | null;
  panels: Map<string, PanelControl>;
}

/** Rows for the block, its gradients and second gradients, each with the tensors that no row above shows. */
export function Rows({ explanation, graph, locked, panels }: RowsProps): ReactElement {
  const t = useExplainStrings();
  const titles = [t.forward, t.gradient, t.secondGradient];
  const seen = new Set<string>();
  return (
    <>
      {[0, 1, 2].map((depth) => {
        const here = explanation.gradientRows.filter((each) => each.depth === depth);
        const above = explanation.gradientRows.filter((each) => each.depth === depth - 1);
        if (here.length === 0 && above.length === 0) return null;
        const strips = here.map((shown) => {
          const names = Object.keys(shown.row.explained.tensors).filter(
            (name) =>
              (shown.row.nests.length === 0 || shown.row.nests.some((nest) => nest.has(name))) &&
              !seen.has(shown.row.explained.tensors[name]?.pin ?? ""),
          );
          for (const name of names) seen.add(shown.row.explained.tensors[name]?.pin ?? "");
          return { shown, names };
        });
        const held = strips.flatMap(({ shown, names }) =>
          names.flatMap(
            (name) => explanation.tensors.get(shown.row.explained.tensors[name]?.pin ?? "") ?? [],
          ),
        );
        const hidden = hiddenIn(held.map(({ range }) => range)).map((place) => held[place]?.tensor.pin ?? "");
        const common = (locked ?? hidden.length === 0) ? sharedRange(held) : undefined;
        return (
          <section className="explain-depth" key={depth} aria-label={titles[depth]}>
            <h3 className="explain-title">{titles[depth]}</h3>
            {common && hidden.length > 0 && (
              <p className="explain-hidden small" role="note">
                {t.hiddenByRange(hidden.join(", "))}
              </p>
            )}
            {strips.map(({ shown, names }) => (
              <Strip
                key={shown.row.explained.block}
                explanation={explanation}
                graph={graph}
                shown={shown}
                names={names}
                range={common}
                panels={panels}
              />
            ))}
            {depth > 0 && <Missing explanation={explanation} graph={graph} above={above} here={here} />}
          </section>
        );
      })}
    </>
  );
}

interface StripProps {
  explanation: Explanation;
  graph: Graph;
  shown: GradientRow;
  /** Tensors that no row above shows. */
  names: readonly string[];
  range: Range | undefined;
  panels: Map<string, PanelControl>;
}

/** The strip of one block. Forward and second gradients run from left to right, gradients from right to left. */
function Strip({
  explanation,
  graph,
  shown: { row, depth },
  names,
  range,
  panels,
}: StripProps): ReactElement {
  const t = useExplainStrings();
  const { explained } = row;
  const outputs = names.filter((name) => explained.outputs.includes(name));
  const inputs = names.filter((name) => !explained.outputs.includes(name));
  const panel = (name: string) => {
    const held = explanation.tensors.get(explained.tensors[name]?.pin ?? "") as LoadedTensor;
    const { pin } = held.tensor;
    return (
      <TensorPanel
        key={pin}
        page={explanation.page}
        held={held}
        axes={explanation.axes.get(pin) ?? []}
        name={name}
        role={explained.outputs.includes(name) ? t.output : t.input}
        range={range ?? held.range}
        control={(control) => {
          if (control) panels.set(pin, control);
          else panels.delete(pin);
        }}
      />
    );
  };
  const mirrored = depth === 1;
  const [left, right] = mirrored ? [outputs, inputs] : [inputs, outputs];
  /** The share of the width that the widest tensor of a side needs. */
  const share = (side: readonly string[]) => {
    const widths = side.map((name) => {
      const { pin = "" } = explained.tensors[name] ?? {};
      const { shape } = (explanation.tensors.get(pin) as LoadedTensor).tensor;
      return shownColumns(defaultArrangement(shape, explanation.axes.get(pin) ?? []), shape);
    });
    return `${Math.max(2, ...widths)}fr`;
  };
  return (
    <div
      ref={explained.block === explanation.block ? scrollIntoView : undefined}
      className={mirrored ? "explain-strip mirrored" : "explain-strip"}
      style={{ "--left": share(left), "--right": share(right) } as CSSProperties}
    >
      <div className="explain-side">{left.map(panel)}</div>
      <OpCard graph={graph} shown={{ row, depth }} />
      <div className="explain-side">{right.map(panel)}</div>
    </div>
  );
}

/** Buttons that add the missing gradients of the row above. */
function Missing({
  explanation,
  graph,
  above,
  here,
}: {
  explanation: Explanation;
  graph: Graph;
  above: readonly GradientRow[];
  here: readonly GradientRow[];
}): ReactElement {
  const t = useExplainStrings();
  const ops = useOps();
  const offers = above.flatMap(({ row: { explained } }) => {
    const view = graph.blocks.get(explained.block);
    const made = here
      .filter(({ row }) => row.explained.forward === explained.block)
      .map(({ row }) => gradientOf(explained, row.explained, ops)?.input);
    return (view ? gradientsFor(view) : [])
      .filter(({ input }) => !made.includes(input))
      .map((gradient) => ({ block: explained.block, gradient }));
  });
  const add = (offer: (typeof offers)[number]) => {
    const adding = addGradient(graph, offer.block, offer.gradient);
    dispatch(adding);
    const blocks = explanation.blocks.map((row) => row.explained.block);
    const [made] = adding.added.map((each) => each.slice(each.indexOf("/") + 1));
    studio.run(explanation.page, { to: [...blocks, ...(made === undefined ? [] : [made])] });
  };
  return (
    <div className="explain-missing">
      {offers.map((offer) => (
        <button
          type="button"
          className="button"
          key={`${offer.block} ${offer.gradient.input}`}
          onClick={() => add(offer)}
        >
          <Icon name="gradient" />
          {t.addGradient(offer.block, offer.gradient.input)}
        </button>
      ))}
      {here.length === 0 && offers.length === 0 && (
        <p className="soft small">
          {t.noGradient([...new Set(above.map(({ row }) => row.explained.op))].join(", "))}
        </p>
      )}
    </div>
  );
}
