import { lazy, type ReactElement, Suspense, useEffect, useMemo, useRef, useState } from "react";
import type { Arrangement } from "../../model/axis-roles.ts";
import type { Range } from "../../model/colour-index.ts";
import { ravelIndex, unravelIndex } from "../../model/indexing.ts";
import { offsetIn, type TensorSlice } from "../../model/slices.ts";
import { voxelAxes } from "../../model/voxels.ts";
import { asNumbers } from "../../net/frames.ts";
import { retryLoad } from "../../net/retry.ts";
import { useInspectorStrings } from "../strings.ts";
import type { TensorInfo } from "./HeatmapView.tsx";
import type { TensorSource } from "./tensor-source.ts";
import type { VolumeViewControl, VoxelSource } from "./VolumeView.tsx";

const Volume = lazy(() => retryLoad(() => import("./VolumeView.tsx")));

interface Props {
  tensor: TensorInfo;
  source: TensorSource;
  range: Range;
  cursor: readonly number[] | null;
  arrangement: Arrangement;
  onHover(cell: number[] | null): void;
  onMove(cell: number[]): void;
  onPick(cell: number[]): void;
  onFailed(message: string): void;
}

/** The 3-D view of a tensor, which fetches just the voxels that it shows. */
export function VolumePane(props: Props): ReactElement {
  const { tensor, cursor } = props;
  const t = useInspectorStrings();
  const volume = useRef<VolumeViewControl>(null);
  const shown = useVoxelValues(props);
  const highlights = useMemo(
    () => (cursor ? new Map([["here", [ravelIndex(cursor, tensor.shape)]] as const]) : undefined),
    [cursor, tensor],
  );
  useEffect(() => volume.current?.highlight(highlights), [highlights]);
  if (shown === null) return <p className="empty">{t.loading}</p>;
  return (
    <Suspense fallback={<p className="empty">{t.loading}</p>}>
      <Volume
        ref={volume}
        held={shown.solid}
        names={tensor.axes}
        arrangement={shown.arrangement}
        range={props.range}
        highlights={highlights}
        onHover={props.onHover}
        onMove={props.onMove}
        onPick={props.onPick}
      />
    </Suspense>
  );
}

/** The loaded voxels with their arrangement; old ones stay until new ones are loaded. */
function useVoxelValues({ tensor, source, arrangement, onFailed }: Props) {
  const [turn, setTurn] = useState(0);
  const [held, setHeld] = useState<{ solid: VoxelSource; arrangement: Arrangement } | null>(null);
  const failed = useRef(onFailed);
  failed.current = onFailed;
  useEffect(() => source.onChange(() => setTurn((n) => n + 1)), [source]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again whenever there are new numbers.
  useEffect(() => {
    const { shape } = tensor;
    const axes = voxelAxes(arrangement.roles, shape);
    if (!("map" in axes)) {
      setHeld({ solid: { tensor, whole: false, at: () => undefined }, arrangement });
      return;
    }
    let wanted = true;
    const box: TensorSlice = shape.map((end, axis) =>
      axes.includes(axis)
        ? { first: 0, end, step: 1 }
        : { first: arrangement.at[axis] as number, end: (arrangement.at[axis] as number) + 1, step: 1 },
    );
    source.numbers(box).then(
      (frame) => {
        const numbers = asNumbers(frame);
        const at = (place: number): number | undefined => numbers[offsetIn(box, unravelIndex(place, shape))];
        if (wanted) setHeld({ solid: { tensor, whole: true, at }, arrangement });
      },
      (error: Error) => wanted && failed.current(error.message),
    );
    return () => {
      wanted = false;
    };
  }, [tensor, source, arrangement, turn]);
  return held?.solid.tensor === tensor ? held : null;
}
