/** Large pages for benchmarks. */

/** A page of so many blocks on a grid, with about 1.5 wires a block; one of them has 20 wires. */
export function largePage(count: number): string {
  const columns = Math.ceil(Math.sqrt(count));
  const blocks: Record<string, unknown> = {};
  const places: Record<string, number[]> = {};
  for (let i = 0; i < count; i++) {
    const name = `b${i}`;
    const above = i >= columns ? `b${i - columns}:z` : null;
    if (i % columns === 0)
      blocks[name] = {
        op: "AddV2",
        in: {
          x: {
            dtype: "float32",
            value: [
              [1, 2],
              [3, 4],
            ],
          },
          y: above ?? {
            dtype: "float32",
            value: [
              [0.5, 1],
              [2, 0],
            ],
          },
        },
      };
    else
      blocks[name] = {
        op: "AddV2",
        in: {
          x: `b${i - 1}:z`,
          y:
            i % 2 === 1 && above !== null
              ? above
              : {
                  dtype: "float32",
                  value: [
                    [1, 0],
                    [0, 1],
                  ],
                },
        },
      };
    places[name] = [(i % columns) * 320, Math.floor(i / columns) * 200];
  }
  const hub = Math.floor(columns / 2) + columns * 2;
  for (let i = 1; i <= 18; i++) {
    const target = blocks[`b${hub + columns * 2 + i - 9}`] as { in: Record<string, unknown> } | undefined;
    if (target) target.in.y = `b${hub}:z`;
  }
  return JSON.stringify({
    format: 1,
    title: `${count} blocks`,
    blocks,
    run: { fetch: [`b${count - 1}:z`] },
    layout: { blocks: places },
  });
}

export const hubOf = (count: number): string => {
  const columns = Math.ceil(Math.sqrt(count));
  return `b${Math.floor(columns / 2) + columns * 2}`;
};

/** A page with a small tensor, one of a million cells and one of 100 million. */
export function tensorPage(): string {
  const filled = (value: number, shape: number[]) => ({
    op: "Fill",
    in: { dims: { dtype: "int32", value: shape }, value: { dtype: "float32", value } },
  });
  const blocks = {
    small: filled(2, [4, 4]),
    million: {
      op: "RandomStandardNormal",
      attrs: { dtype: "float32", seed: 1 },
      in: { shape: { dtype: "int32", value: [1000, 1000] } },
    },
    large: filled(3, [10_000, 10_000]),
  };
  return JSON.stringify({
    format: 1,
    title: "tensors",
    blocks,
    run: { fetch: ["small:output", "million:output", "large:output"] },
    layout: { blocks: { small: [0, 0], million: [320, 0], large: [640, 0] } },
  });
}
