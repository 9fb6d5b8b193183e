import { type ReactElement, useContext } from "react";
import type { Json } from "../../model/document.ts";
import { parseWholeNumbers } from "../../model/whole-numbers.ts";
import { useStrings } from "../strings.ts";
import { formatList, formatNumber, formatShape, parseList, parseNumber } from "./attr-text.ts";
import { type ParseResult, TabIndex, ValidatedField } from "./ValidatedField.tsx";

/** The attribute of a widget. */
export interface FieldOf {
  name: string;
  kind: string;
  options?: readonly string[] | undefined;
  required?: boolean;
}

interface Props {
  attr: FieldOf;
  /** The value of the document, or the default; undefined if there is neither. */
  value: Json | undefined;
  /** The data format, such as NDHWC, if the block has one. */
  axes?: string | undefined;
  labelledBy?: string;
  onChange(value: Json): void;
}

/** The widget of an attribute, by its kind. */
export function AttrField(props: Props): ReactElement {
  const { attr } = props;
  switch (attr.kind) {
    case "window":
    case "strides":
    case "dilations":
      return <Boxes {...props} least={1} />;
    case "pads":
      return <Pads {...props} />;
    case "flag":
      return <Check {...props} />;
    case "choice":
    case "dtype":
      return <Choice {...props} />;
    case "int":
    case "seed":
      return <NumberField {...props} whole />;
    case "float":
      return <NumberField {...props} whole={false} />;
    case "text":
      return <TextField {...props} />;
    default:
      return <ListField {...props} />;
  }
}

function Check({ attr, value, onChange }: Props): ReactElement {
  const tabIndex = useContext(TabIndex);
  return (
    <input
      type="checkbox"
      className="check"
      tabIndex={tabIndex}
      aria-label={attr.name}
      checked={value === true}
      onChange={(event) => onChange(event.target.checked)}
    />
  );
}

function Choice({ attr, value, onChange, labelledBy }: Props): ReactElement {
  const options = attr.options ?? [];
  const now = typeof value === "string" ? value : "";
  const tabIndex = useContext(TabIndex);
  return (
    <select
      className="field"
      tabIndex={tabIndex}
      {...(labelledBy === undefined ? { "aria-label": attr.name } : { "aria-labelledby": labelledBy })}
      value={now}
      onChange={(event) => onChange(event.target.value)}
    >
      {!options.includes(now) && <option value={now}>{now === "" ? "–" : now}</option>}
      {options.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}

interface AxisFieldProps {
  label: string;
  /** The numbers of all fields, and the place of this one. */
  all: readonly number[];
  place: number;
  least: number;
  onChange(all: number[]): void;
}

/** The field of one of several numbers, which also takes all of them at once, such as `1x2x2x1`. */
function AxisField({ label, all, place, least, onChange }: AxisFieldProps): ReactElement {
  const t = useStrings();
  const read = (text: string): ParseResult<readonly number[]> => {
    const numbers = parseWholeNumbers(text) as number[] | undefined;
    const fits = numbers !== undefined && (numbers.length === 1 || numbers.length === all.length);
    if (!fits || numbers.some((each) => each < least)) return { error: t.wholeAtLeast(least) };
    return { value: numbers.length === all.length ? numbers : all.with(place, numbers[0] as number) };
  };
  return (
    <ValidatedField<readonly number[]>
      label={label}
      value={all}
      format={(numbers) => String(numbers[place])}
      isSame={(one, other) => String(one) === String(other)}
      read={read}
      step={(numbers, by) => numbers.with(place, Math.max(least, (numbers[place] as number) + by))}
      onChange={(numbers) => onChange([...numbers])}
    />
  );
}

/** A number field for each axis, labelled by the data format. */
function Boxes({ attr, value, axes, onChange, least }: Props & { least: number }): ReactElement {
  const list = Array.isArray(value) ? (value as number[]) : [];
  const count = Math.max(list.length, axes?.length ?? 0, 1);
  const now = Array.from({ length: count }, (_, i) => list[i] ?? least);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out as a row in every browser.
    <span className="boxes" role="group" aria-label={attr.name}>
      {now.map((_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an axis is its place.
        <span className="box" key={i}>
          <AxisField
            label={`${attr.name} ${axes?.[i] ?? i}`}
            all={now}
            place={i}
            least={least}
            onChange={onChange}
          />
          <span className="box-name" aria-hidden="true">
            {axes?.[i] ?? i}
          </span>
        </span>
      ))}
    </span>
  );
}

/** Padding before and after, for each axis. */
function Pads({ attr, value, axes, onChange }: Props): ReactElement {
  const t = useStrings();
  const list = Array.isArray(value) ? (value as number[]) : [];
  const count = Math.max(list.length / 2, axes?.length ?? 0);
  const now = Array.from({ length: 2 * Math.ceil(count) }, (_, i) => list[i] ?? 0);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out as a row in every browser.
    <span className="boxes" role="group" aria-label={attr.name}>
      {now.map((_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an axis is its place.
        <span className="box" key={i}>
          <AxisField
            label={`${attr.name} ${axes?.[i >> 1] ?? i >> 1} ${i % 2 === 0 ? t.before : t.after}`}
            all={now}
            place={i}
            least={0}
            onChange={(next) => onChange(next.every((n) => n === 0) ? [] : next)}
          />
          <span className="box-name" aria-hidden="true">
            {`${axes?.[i >> 1] ?? i >> 1}${i % 2 === 0 ? "‹" : "›"}`}
          </span>
        </span>
      ))}
    </span>
  );
}

function NumberField({ attr, value, onChange, whole, labelledBy }: Props & { whole: boolean }): ReactElement {
  const t = useStrings();
  return (
    <ValidatedField<Json>
      label={attr.name}
      {...(labelledBy === undefined ? {} : { labelledBy })}
      value={value ?? null}
      format={formatNumber}
      read={(text) => parseNumber(text, whole, t)}
      onChange={onChange}
      {...(whole ? { step: (now: Json, by: number) => Number(formatNumber(now)) + by } : {})}
    />
  );
}

function TextField({ attr, value, onChange, labelledBy }: Props): ReactElement {
  return (
    <ValidatedField<string>
      label={attr.name}
      {...(labelledBy === undefined ? {} : { labelledBy })}
      value={typeof value === "string" ? value : ""}
      format={(text) => text}
      read={(text) => ({ value: text })}
      onChange={onChange}
    />
  );
}

/** Lists, shapes and other attributes: typed as `2, 3, ?`, or as JSON. */
function ListField({ attr, value, onChange, labelledBy }: Props): ReactElement {
  const t = useStrings();
  return (
    <ValidatedField<Json>
      label={attr.name}
      {...(labelledBy === undefined ? {} : { labelledBy })}
      value={value ?? null}
      format={attr.kind === "shape" && value !== undefined ? formatShape : formatList}
      hint={attr.kind === "shape" ? "2, 3, ?" : ""}
      read={(text) => {
        const result = parseList(text, attr.kind);
        if (result === undefined) return { error: t.aListOf(attr.kind) };
        const options = attr.options ?? [];
        const wrong =
          Array.isArray(result) &&
          options.length > 0 &&
          result.find((each) => !options.includes(String(each)));
        return wrong ? { error: t.oneOf(options.join(", ")) } : { value: result };
      }}
      onChange={onChange}
    />
  );
}
