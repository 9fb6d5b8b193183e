import { MAX_BACKOFF, MIN_BACKOFF } from "./client.ts";

/** Retries a load with exponential backoff until it succeeds. */
export async function retryLoad<T>(load: () => Promise<T>): Promise<T> {
  for (let wait = MIN_BACKOFF; ; wait = Math.min(wait * 2, MAX_BACKOFF)) {
    try {
      return await load();
    } catch (error) {
      console.warn(error);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
