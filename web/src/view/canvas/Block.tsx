import type { Node, NodeProps } from "@xyflow/react";
import { memo, type ReactElement, useContext, useState } from "react";
import { dataFormat } from "../../model/axes.ts";
import type { Json } from "../../model/document.ts";
import { shortSpec } from "../../model/format.ts";
import { pinRows } from "../../model/geometry.ts";
import type { AttrRow, BlockView, InputPin, OutputPin } from "../../model/graph.ts";
import { parseValue, valueText } from "../../model/values.ts";
import type { Problem, Spec } from "../../net/generated.ts";
import { useStrings } from "../strings.ts";
import { AttrField } from "../widgets/AttrField.tsx";
import { FixButtons } from "../widgets/FixButtons.tsx";
import { TabIndex, ValidatedField } from "../widgets/ValidatedField.tsx";
import { BlockFooter, StatusMark } from "./BlockStatus.tsx";
import { dtypeFamily } from "./colours.ts";
import { BlockContext } from "./context.ts";
import { pinRole } from "./pin-shapes.ts";
import { previewAttr, previewConstant, previewInput } from "./value-preview.ts";

export interface BlockData extends Record<string, unknown> {
  view: BlockView;
  /** The types of inputs and outputs, by pin key; outputs with ">" before it. */
  specs: ReadonlyMap<string, Spec>;
  problems: readonly Problem[];
  conflicts: readonly Problem[];
  selected: boolean;
}

export type BlockNode = Node<BlockData, "block">;

/** A block as DOM element. It is plain text until it is hovered; then its rows are editable. */
export const Block = memo(function Block({ data }: NodeProps<BlockNode>): ReactElement {
  const { view, specs, problems, conflicts, selected } = data;
  const t = useStrings();
  const [near, setNear] = useState(false);
  const classes = ["block", selected && "selected", conflicts.length > 0 && "conflict"];
  const axes = dataFormat(view);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms, and cannot be laid out freely.
    <div
      className={classes.filter(Boolean).join(" ")}
      id={`block-${view.name}`}
      data-block={view.name}
      role="group"
      aria-label={t.blockNamed(view.name, view.op)}
      onPointerEnter={() => setNear(true)}
      onPointerLeave={() => setNear(false)}
    >
      <div className="block-title">
        <StatusMark block={view.name} />
        <span className="block-name">{view.name}</span>
        {view.op !== view.name && (
          // A short op name leaves its room to the block name.
          <span className="block-op" style={{ minWidth: `min(40%, ${view.op.length}ch)` }}>
            {view.op}
          </span>
        )}
      </div>
      <TabIndex.Provider value={-1}>
        {Array.from({ length: pinRows(view) }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place.
          <div className="block-row" key={row}>
            <Input pin={view.inputs[row]} specs={specs} problems={problems} near={near} />
            <Output pin={view.outputs[row]} specs={specs} />
          </div>
        ))}
        {view.rows.map((row) => (
          <Attr
            key={row.name}
            view={view}
            row={row}
            axes={axes}
            near={near}
            bad={problems.some((problem) => problem.arg === row.name)}
          />
        ))}
      </TabIndex.Provider>
      <BlockFooter view={view} spec={specs.get(`>${view.outputs[0]?.key}`)} />
      {conflicts[0] && (
        <div className="block-problem" role="note">
          <strong>{conflicts[0].text}</strong>
          {conflicts[0].hint && <span> {conflicts[0].hint}</span>}
          <TabIndex.Provider value={-1}>
            <FixButtons problem={conflicts[0]} />
          </TabIndex.Provider>
        </div>
      )}
    </div>
  );
});

interface InputProps {
  pin: InputPin | undefined;
  specs: ReadonlyMap<string, Spec>;
  problems: readonly Problem[];
  near: boolean;
}

function Input({ pin, specs, problems, near }: InputProps): ReactElement | null {
  if (pin === undefined) return <span />;
  const spec = specs.get(pin.key);
  const problem = problems.find((each) => each.arg === pin.info.name && pin.state !== "missing");
  const dtype =
    spec?.dtype ??
    (pin.info.dtypes.length === 1
      ? pin.info.dtypes[0]
      : pin.info.dtypes.includes("float32")
        ? "float32"
        : undefined);
  const classes = [
    "pin",
    "in",
    roleClass(pinRole(pin.info, "input")),
    dtypeFamily(dtype),
    pin.state,
    problem && "bad",
  ];
  return (
    <span className={problem ? "block-input bad" : "block-input"}>
      <span className={classes.filter(Boolean).join(" ")} />
      <span className="pin-name">{pin.more ? `${pin.info.name}…` : pin.key}</span>
      {problem && spec ? (
        <Axes spec={spec} axis={problem.axis ?? null} />
      ) : (
        <Constant pin={pin} near={near} />
      )}
    </span>
  );
}

/** The shape at a pin, with the wrong axis marked. */
function Axes({ spec, axis }: { spec: Spec; axis: number | null }): ReactElement | null {
  const { shape } = spec;
  if (!shape) return null;
  return (
    <span className="axes mono">
      {shape.map((size, i) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: an axis is its place.
          key={i}
          className={i === (axis !== null && axis < 0 ? axis + shape.length : axis) ? "axis bad" : "axis"}
        >
          {size}
        </span>
      ))}
    </span>
  );
}

function Constant({ pin, near }: { pin: InputPin; near: boolean }): ReactElement | null {
  const t = useStrings();
  const { set, openConstant } = useContext(BlockContext);
  if (pin.state === "wired" || pin.more || pin.info.dtypes[0] === "resource") return null;
  const text = valueText(pin.value);
  if (text.length > 40)
    return (
      <button
        type="button"
        className="row-value mono"
        tabIndex={-1}
        onClick={() => openConstant(pin.ref.block, pin.key)}
      >
        {previewConstant(pin.value)}
      </button>
    );
  if (!near) return <span className="row-value mono">{previewInput(pin)}</span>;
  return (
    <ValidatedField<Json>
      label={pin.key}
      className="row-entry mono"
      value={pin.value ?? null}
      format={(value) => (value === null ? "" : valueText(value))}
      hint={t.valueHint}
      read={(typed) => {
        if (typed.trim() === "") return { value: null };
        const value = parseValue(typed);
        return value === undefined ? { error: t.numberOrList } : { value };
      }}
      onChange={(value) => set.input(pin.ref, value === null ? undefined : value)}
    />
  );
}

function Output({
  pin,
  specs,
}: {
  pin: OutputPin | undefined;
  specs: ReadonlyMap<string, Spec>;
}): ReactElement | null {
  if (pin === undefined) return <span />;
  const spec = specs.get(`>${pin.key}`);
  const classes = [
    "pin",
    "out",
    roleClass(pinRole(pin.info, "output")),
    dtypeFamily(spec?.dtype ?? pin.info.dtypes[0]),
    "wired",
  ];
  return (
    <span className="block-output">
      <span className="pin-name">{pin.key}</span>
      <span className={classes.join(" ")} title={spec && shortSpec(spec)} />
    </span>
  );
}

interface AttrProps {
  view: BlockView;
  row: AttrRow;
  axes: string | undefined;
  near: boolean;
  bad: boolean;
}

function Attr({ view, row, axes, near, bad }: AttrProps): ReactElement {
  const { set, openConstant } = useContext(BlockContext);
  const classes = ["block-row", "attr", (bad || row.missing) && "bad"].filter(Boolean).join(" ");
  const kind = row.info?.kind ?? "";
  return (
    <div className={classes}>
      <span className="attr-name">{row.name}</span>
      {kind === "tensor" ? (
        <button
          type="button"
          className="row-value mono"
          tabIndex={-1}
          onClick={() => openConstant(view.name, row.name)}
        >
          {previewAttr(row)}
        </button>
      ) : near && row.info !== undefined ? (
        <AttrField
          attr={row.info}
          value={row.value}
          axes={axes}
          onChange={(value) => set.attr(view.name, row.name, value)}
        />
      ) : (
        <span className="row-value mono">{previewAttr(row)}</span>
      )}
    </div>
  );
}

/** The CSS class of a role: "constant" is also the class of a pin state. */
function roleClass(role: ReturnType<typeof pinRole>): string {
  return role === "constant" ? "constant-wanted" : role;
}
