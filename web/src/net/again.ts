import { FIRST_WAIT, LONGEST_WAIT } from "./client.ts";

/** Loads what a tab cannot do without, also where the server goes away meanwhile: again and again until it is there. */
export async function again<T>(load: () => Promise<T>): Promise<T> {
  for (let wait = FIRST_WAIT; ; wait = Math.min(wait * 2, LONGEST_WAIT)) {
    try {
      return await load();
    } catch (error) {
      console.warn(error);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
