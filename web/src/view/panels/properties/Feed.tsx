import type { ReactElement } from "react";
import * as actions from "../../../model/actions.ts";
import { constantOf, MAX_CELLS } from "../../../model/constant-cells.ts";
import { type BlockView, type Graph, keyOf, specOf } from "../../../model/graph.ts";
import { elementCount } from "../../../model/indexing.ts";
import { dispatch } from "../../active-page.ts";
import { Icon } from "../../shell/icons.tsx";
import { useStrings } from "../../strings.ts";
import { ConstantEditor } from "../../widgets/ConstantEditor.tsx";
import { filled } from "../../widgets/constant.ts";

/** The feed of a placeholder. */
export function Feed({ graph, view }: { graph: Graph; view: BlockView }): ReactElement {
  const t = useStrings();
  const { document } = graph;
  const value = document.run?.feeds?.[view.name];
  const put = (next: typeof value) => dispatch(actions.setFeed(document, view.name, next));
  function begin() {
    const output = view.outputs[0];
    const spec = output && specOf(graph, keyOf(output.ref));
    const sizes = (spec?.shape ?? []).map((size) => (typeof size === "number" ? size : 1));
    const shape = elementCount(sizes) > MAX_CELLS ? [] : sizes;
    const elements = Array.from({ length: elementCount(shape) }, () => 0);
    put(constantOf(filled({ dtype: spec?.dtype ?? "float32", shape, elements }, "zeros")));
  }
  return (
    <div className="section">
      <h3>{t.feedValue}</h3>
      {value === undefined ? (
        <button type="button" className="button" onClick={begin}>
          {t.typeConstant}
        </button>
      ) : (
        <>
          <ConstantEditor label={t.feedValue} free={false} value={value} onChange={put} />
          <button
            type="button"
            className="button icon plain"
            aria-label={t.clear(view.name)}
            title={t.clear(view.name)}
            onClick={() => put(undefined)}
          >
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  );
}
