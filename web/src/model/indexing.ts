/** Index arithmetic of row-major tensors, as NumPy names it. */

/** The number of elements of a shape. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The row-major offset of a multi-index. */
export function ravelIndex(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((offset, at, axis) => offset * (shape[axis] as number) + at, 0);
}

/** The multi-index of a row-major offset. */
export function unravelIndex(offset: number, shape: readonly number[]): number[] {
  const index = new Array<number>(shape.length);
  let rest = offset;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = shape[axis] as number;
    index[axis] = rest % size;
    rest = Math.floor(rest / size);
  }
  return index;
}

/** The distance between neighbours along each axis, in elements. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  for (let axis = shape.length - 2; axis >= 0; axis--)
    strides[axis] = (strides[axis + 1] as number) * (shape[axis + 1] as number);
  return strides;
}
