/** The type of a dictionary in another language: the same keys, other words. */
export type Translation<T> = T extends string
  ? string
  : T extends (...args: infer Args) => string
    ? (...args: Args) => string
    : T extends readonly unknown[]
      ? T
      : { readonly [Key in keyof T]: Translation<T[Key]> };
